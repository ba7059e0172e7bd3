//! Reads files named by flags.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use crate::adapters::files::{open_regular, read_open, read_up_to};
use crate::adapters::system::user_id;

const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Reasons to refuse a file, besides the system's. No error quotes the content.
const EMPTY: &str = "is empty";
const EXPOSED: &str = "can be read by other users: run chmod 600 on it, or make root its owner and let a \
                       group read it";
const FOREIGN: &str =
    "can be changed by other users: make root its owner, and run chmod go-w on it";

/// The text of a regular file of up to 64 KiB, without white space at its ends.
///
/// # Errors
/// When it cannot be read, is larger or is empty.
pub fn read(path: &Path) -> io::Result<String> {
    text(read_bytes(path)?)
}

/// The bytes of a regular file of up to 64 KiB.
///
/// # Errors
/// When it cannot be read, or is larger.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, FILE_BYTES_MAX)
}

/// Like [`read_bytes`], for a file that only root or this user may change.
///
/// # Errors
/// As for [`read_bytes`], and when others may change it.
pub fn read_trusted(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    if ![0, user_id()].contains(&metadata.uid()) || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other(FOREIGN));
    }
    read_open(file, FILE_BYTES_MAX)
}

/// Like [`read`], for a file that others may not read.
///
/// # Errors
/// As for [`read`], and when others may read it.
pub fn read_secret(path: &Path) -> io::Result<String> {
    text(read_secret_bytes(path)?)
}

/// A password file, read for each login, because it may have been replaced since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordFile(PathBuf);

impl PasswordFile {
    /// Reads the file once, so that an error shows up at once.
    ///
    /// # Errors
    /// Those of [`read_secret`].
    pub fn open(path: &Path) -> io::Result<Self> {
        read_secret(path)?;
        Ok(Self(path.to_path_buf()))
    }

    /// The current password.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) async fn read(&self) -> Result<String, String> {
        let path = self.0.clone();
        let read = spawn_blocking(move || read_secret(&path)).await;
        let read = read.unwrap_or_else(|_panic| Err(io::Error::other("panic")));
        read.map_err(|error| format!("{}: {error}", self.0.display()))
    }
}

/// The bytes of a regular file of up to 64 KiB that others may not read.
///
/// # Errors
/// As for [`read_bytes`], and when others may read it.
pub fn read_secret_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    if !is_private(metadata.uid(), metadata.mode()) {
        return Err(io::Error::other(EXPOSED));
    }
    read_open(file, FILE_BYTES_MAX)
}

/// True if other users can neither read nor change a file with this owner and mode. The group may read root's
/// files, because orchestrators mount secrets this way.
fn is_private(owner: u32, mode: u32) -> bool {
    let others = if owner == 0 { 0o037 } else { 0o077 };
    mode & others == 0
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    match text.trim_start_matches('\u{feff}').trim() {
        "" => Err(io::Error::other(EMPTY)),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let missing = read_secret(&path).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        write(&path, " sk-1\n").unwrap();
        for (mode, is_taken) in [(0o600, true), (0o400, true), (0o604, false), (0o620, false)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_secret(&path).is_ok(), is_taken, "{mode:o}");
            assert_eq!(read(&path).unwrap(), "sk-1");
        }
        for (owner, mode, is_taken) in [
            (0, 0o440, true),
            (0, 0o640, true),
            (0, 0o660, false),
            (0, 0o444, false),
            (1000, 0o440, false),
            (1000, 0o640, false),
        ] {
            assert_eq!(is_private(owner, mode), is_taken, "{owner} {mode:o}");
        }
    }

    #[test]
    fn what_is_no_text_of_a_sensible_length_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prompt");
        for (bytes, is_taken) in [
            (b"prompt".to_vec(), true),
            (b" \n".to_vec(), false),
            (vec![b'x'; 64 * 1024], true),
            (vec![b'x'; 64 * 1024 + 1], false),
            (b"\xff".to_vec(), false),
        ] {
            write(&path, &bytes).unwrap();
            assert_eq!(read(&path).is_ok(), is_taken, "{}", bytes.len());
        }
    }
}
