//! Secrets that the operator hands over in files: nobody but the owner may read them.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The largest file that could be a secret, in bytes.
const BYTES_MAX: u64 = 4096;

/// The file holds no secret that can be used. The texts name the file and never what is in it.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// It cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Others can read it too.
    #[error("{path} can be read by others (mode {mode:04o}): change it to 0600")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It holds something else.
    #[error("{path} {wrong}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        wrong: &'static str,
    },
}

/// The one line of text in the file at `path`.
///
/// # Errors
/// [`SecretFileError`] when it is missing, readable by group or others, larger than 4096 bytes,
/// empty, or more than one line of printable ASCII.
pub fn read(path: &Path) -> Result<String, SecretFileError> {
    let io = |error| SecretFileError::Io {
        path: path.to_path_buf(),
        error,
    };
    let malformed = |wrong| SecretFileError::Malformed {
        path: path.to_path_buf(),
        wrong,
    };
    let file = File::open(path).map_err(io)?;
    // Of the file that is open, whatever its name leads to by now.
    let mode = file.metadata().map_err(io)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretFileError::Exposed {
            path: path.to_path_buf(),
            mode,
        });
    }
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(io)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(malformed("is too large for a secret"));
    }
    let line = text.trim_ascii();
    if line.is_empty() || !line.iter().all(u8::is_ascii_graphic) {
        return Err(malformed("must hold one line of ASCII without blanks"));
    }
    String::from_utf8(line.to_vec()).map_err(|_error| malformed("is not text"))
}
