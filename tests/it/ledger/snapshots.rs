//! Copies of a whole data directory, one before each operation on its files: what a process that is killed
//! there leaves.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fixtures::copy_dir;
use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct Snapshots {
    source: PathBuf,
    copies: TempDir,
    count: AtomicUsize,
}

impl Snapshots {
    pub(crate) fn of(house: &House) -> Self {
        Self {
            source: house.path.clone(),
            copies: tempfile::tempdir().unwrap(),
            count: AtomicUsize::new(0),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub(crate) fn take(&self) {
        copy_dir(&self.source, &self.copy(self.count()));
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// A house as it was left before the operation with this number.
    pub(crate) fn house(&self, number: usize) -> House {
        let house = House::new();
        copy_dir(&self.copy(number), &house.path);
        house
    }

    fn copy(&self, number: usize) -> PathBuf {
        self.copies.path().join(number.to_string())
    }
}
