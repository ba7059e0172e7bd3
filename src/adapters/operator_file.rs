//! Reads files that the operator names in flags.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Why a file is refused. The text never quotes the content.
#[derive(Debug, thiserror::Error)]
pub enum OperatorFileError {
    /// Missing, unreadable or not UTF-8.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A directory, a pipe or a device.
    #[error("is no regular file")]
    NotRegular,
    /// Above 64 KiB.
    #[error("is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    /// White space only.
    #[error("is empty")]
    Empty,
    /// A secret with permissions for group or others.
    #[error("may be read by others than its owner: run chmod 600 on it")]
    Exposed,
}

/// The text of a regular file of up to 64 KiB, without white space at its ends.
///
/// # Errors
/// [`OperatorFileError`] when there is none.
pub fn read(path: &Path) -> Result<String, OperatorFileError> {
    text(read_open(open(path)?)?)
}

/// Like [`read`], for a file that only its owner may read.
///
/// # Errors
/// [`OperatorFileError`], also when others may read it.
pub fn read_secret(path: &Path) -> Result<String, OperatorFileError> {
    text(read_secret_bytes(path)?)
}

/// The bytes of a regular file of up to 64 KiB that only its owner may read.
///
/// # Errors
/// [`OperatorFileError`], also when others may read it.
pub fn read_secret_bytes(path: &Path) -> Result<Vec<u8>, OperatorFileError> {
    let file = open(path)?;
    if file.metadata()?.permissions().mode() & OTHERS != 0 {
        return Err(OperatorFileError::Exposed);
    }
    read_open(file)
}

fn open(path: &Path) -> Result<File, OperatorFileError> {
    check_regular(path)?;
    Ok(File::open(path)?)
}

/// Checks the type before opening: opening a pipe blocks until it has a writer.
///
/// # Errors
/// [`OperatorFileError`] when the file is missing or not a regular one.
pub(super) fn check_regular(path: &Path) -> Result<(), OperatorFileError> {
    if fs::metadata(path)?.is_file() {
        Ok(())
    } else {
        Err(OperatorFileError::NotRegular)
    }
}

fn read_open(file: File) -> Result<Vec<u8>, OperatorFileError> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        ..=FILE_BYTES_MAX => Ok(bytes),
        _ => Err(OperatorFileError::TooLarge),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, OperatorFileError> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    match text.trim() {
        "" => Err(OperatorFileError::Empty),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_secret_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert!(matches!(read_secret(&path), Err(OperatorFileError::Io(_))));
        write(&path, " sk-1\n").unwrap();
        for (mode, is_taken) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o604, false),
            (0o620, false),
        ] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_secret(&path).is_ok(), is_taken, "{mode:o}");
            assert_eq!(read(&path).unwrap(), "sk-1");
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

    #[test]
    fn only_a_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let link = dir.path().join("link");
        symlink(&pipe, &link).unwrap();
        let device = Path::new("/dev/zero");
        for path in [dir.path(), &pipe, &link, device] {
            for read in [read, read_secret] {
                let error = read(path).unwrap_err();
                assert!(matches!(error, OperatorFileError::NotRegular), "{path:?}");
            }
        }
        let file = dir.path().join("file");
        write(&file, "text").unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read(&link).unwrap(), "text");
    }
}
