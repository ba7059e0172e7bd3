//! Files that commands read and write as a stream.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::adapters::files::{AppendFile, Files, UNSYNCED_BYTES_MAX, publish};

/// A file written next to its destination, as `FILE.part`, and renamed once it is complete. Only its owner
/// can access it. Dropping an unfinished one removes it.
#[derive(Debug)]
pub struct PartFile<'a> {
    files: &'a dyn Files,
    file: Box<dyn AppendFile>,
    part: PathBuf,
    path: PathBuf,
    /// In bytes.
    unsynced: u64,
}

impl<'a> PartFile<'a> {
    /// Starts a file that will replace `path`. An existing one is an error unless `replaces`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(files: &'a dyn Files, path: &Path, replaces: bool) -> io::Result<Self> {
        check_free(path, replaces)?;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = files.create(&part).map_err(|error| failed(&part, &error))?;
        Ok(Self {
            files,
            file,
            part,
            path: path.into(),
            unsynced: 0,
        })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.write_all(bytes);
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Syncs the file and renames it.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        let published = publish(self.files, self.file.as_mut(), &self.part, &self.path);
        published.map_err(|error| failed(&self.path, &error))
    }
}

/// Syncs the file as it grows.
impl Write for PartFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsynced > UNSYNCED_BYTES_MAX {
            self.file.sync()?;
            self.unsynced = 0;
        }
        let taken = self.file.append(bytes)?;
        self.unsynced += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        // There is none if it is finished, and nothing can be done about a failure.
        let _ = self.files.remove(&self.part);
    }
}

/// Checks that a file can be written at `path`. An existing one is an error unless `replaces`.
fn check_free(path: &Path, replaces: bool) -> io::Result<()> {
    let name = path.display();
    let refusal = match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            format!("{name} is not a regular file: choose another name, or - for standard output")
        }
        Ok(_) if !replaces => {
            format!("{name} exists: choose another name, or give --force to replace it")
        }
        Ok(_) | Err(_) => return Ok(()),
    };
    Err(io::Error::other(refusal))
}

fn failed(path: &Path, error: &io::Error) -> io::Error {
    let path = path.display();
    io::Error::new(error.kind(), format!("cannot write {path}: {error}"))
}

/// Opens a file for reading.
///
/// # Errors
/// When the file system refuses, or it is a directory.
pub async fn open(path: &Path) -> io::Result<tokio::fs::File> {
    let file = tokio::fs::File::open(path).await?;
    if file.metadata().await?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}
