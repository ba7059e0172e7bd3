//! Files that commands read and write as a stream.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use crate::adapters::files::{PRIVATE_FILE, SystemFiles, if_there, sync_parent};

/// A file written next to its destination, as `FILE.part`, and renamed once it is complete. Only its owner
/// can access it. Dropping an unfinished one removes it.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
    is_done: bool,
}

impl PartFile {
    /// Starts a file that will replace `path`. An existing one is an error unless `replaces`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub async fn create(path: &Path, replaces: bool) -> io::Result<Self> {
        check_free(path, replaces)?;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let at = |error| failed(&part, &error);
        // A leftover file may have another mode.
        if_there(fs::remove_file(&part)).map_err(at)?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(PRIVATE_FILE);
        let file = options.open(&part).await.map_err(at)?;
        Ok(Self {
            file,
            part,
            path: path.into(),
            is_done: false,
        })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// When the file system refuses.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes).await;
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Syncs the file and renames it.
    ///
    /// # Errors
    /// When the file system refuses.
    pub async fn finish(mut self) -> io::Result<()> {
        let finished = match self.file.flush().await {
            Ok(()) => self.file.sync_all().await,
            Err(error) => Err(error),
        };
        finished
            .and_then(|()| fs::rename(&self.part, &self.path))
            .and_then(|()| sync_parent(&SystemFiles, &self.path))
            .map_err(|error| failed(&self.path, &error))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing can be done about a failure.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Checks that a file can be written at `path`. An existing one is an error unless `replaces`.
///
/// # Errors
/// When there is a file, or something that is not a file.
pub fn check_free(path: &Path, replaces: bool) -> io::Result<()> {
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
pub async fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path).await?;
    if file.metadata().await?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}
