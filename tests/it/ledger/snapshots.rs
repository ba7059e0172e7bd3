//! Real files, and a copy of the whole data directory before each operation on them: what a process that
//! is killed there leaves.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::adapters::ledger::Tuning;
use tempfile::TempDir;

use crate::fixtures::House;

/// Files in the data directory of a house, with a copy of it for each operation.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFiles(Arc<Snapshots>);

#[derive(Debug)]
struct Snapshots {
    source: PathBuf,
    copies: TempDir,
    /// How many there are.
    count: AtomicUsize,
}

impl SnapshotFiles {
    pub(crate) fn of(house: &House) -> Self {
        Self(Arc::new(Snapshots {
            source: house.path.clone(),
            copies: tempfile::tempdir().unwrap(),
            count: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            files: Arc::new(self.clone()),
            ..Tuning::default()
        }
    }

    /// How many copies there are.
    pub(crate) fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// A house as it was left before the operation with this number.
    pub(crate) fn house(&self, number: usize) -> House {
        let house = House::new();
        copy(&self.0.copy(number), &house.path);
        house
    }
}

impl Snapshots {
    fn take(&self) {
        let number = self.count.load(Ordering::SeqCst);
        copy(&self.source, &self.copy(number));
        self.count.store(number + 1, Ordering::SeqCst);
    }

    fn copy(&self, number: usize) -> PathBuf {
        self.copies.path().join(number.to_string())
    }
}

/// Copies a directory that sled may write to meanwhile.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            // The file may be gone.
            let _ = fs::copy(from, to);
        }
    }
}

impl Files for SnapshotFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.take();
        self.wrap(SystemFiles.create(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.wrap(SystemFiles.open(path)?)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.take();
        SystemFiles.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.take();
        SystemFiles.sync_directory(path)
    }
}

impl SnapshotFiles {
    fn wrap(&self, file: Box<dyn AppendFile>) -> io::Result<Box<dyn AppendFile>> {
        let snapshots = Arc::clone(&self.0);
        Ok(Box::new(SnapshotFile { file, snapshots }))
    }
}

#[derive(Debug)]
struct SnapshotFile {
    file: Box<dyn AppendFile>,
    snapshots: Arc<Snapshots>,
}

impl AppendFile for SnapshotFile {
    /// A process that is killed may have written any part.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.snapshots.take();
        let middle = bytes.len() / 2;
        let taken = self.file.append(&bytes[..middle])?;
        self.snapshots.take();
        Ok(taken + self.file.append(&bytes[middle..])?)
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.overwrite(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.snapshots.take();
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }

    fn as_file(&self) -> &File {
        self.file.as_file()
    }
}
