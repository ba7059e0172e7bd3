//! Files on a disk that forgets: after a power cut each block that was not synced holds either what
//! it held before or what was written since.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::adapters::ledger::Tuning;

/// What survives or not as one. Disks have larger ones; smaller ones are the harder case.
const BLOCK_BYTES: usize = 512;

/// Real files, and what of each is certain to survive.
#[derive(Clone, Debug)]
pub(crate) struct PowerFiles(Arc<Mutex<Disk>>);

#[derive(Debug)]
struct Disk {
    kept: Vec<Kept>,
    /// How many operations are done before one that the power fails in: what that writes may
    /// survive, but nobody is told. All later ones fail.
    operations_left: Option<u64>,
    /// Of which file a sync loses what was written, how many are done before, and what then.
    bad_sync: Option<(&'static str, u64, Then)>,
    /// What the file that is opened next turns out to hold, when it cannot be opened once.
    turned_out: Option<Vec<u8>>,
    random: u64,
}

/// What follows a sync that loses what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    /// The process is killed, as if there was no power any more.
    Kill,
}

/// What is certain of a file, for as long as there is power: processes come and go.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// Whether another file has its name now.
    is_gone: bool,
    synced: Vec<u8>,
    /// What the next sync makes certain. One that fails forgets it, and the next says nothing of
    /// that, as on Linux.
    dirty: Vec<Range<usize>>,
}

impl Kept {
    fn sync(&mut self, now: &[u8]) {
        for range in self.dirty.drain(..) {
            let end = range.end.min(now.len());
            let begin = range.start.min(end);
            if self.synced.len() < end {
                self.synced.resize(end, 0);
            }
            self.synced[begin..end].copy_from_slice(&now[begin..end]);
        }
    }
}

impl PowerFiles {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Disk {
            kept: Vec::new(),
            operations_left: None,
            bad_sync: None,
            turned_out: None,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        })))
    }

    /// The power fails in the operation behind so many.
    pub(crate) fn fail_after(&self, operations: u64) {
        self.disk().operations_left = Some(operations);
    }

    /// Whether the power has not failed yet.
    pub(crate) fn is_on(&self) -> bool {
        self.disk().operations_left.is_none_or(|left| left > 0)
    }

    /// The sync of the file `name` behind so many fails once, and loses what was written.
    pub(crate) fn fail_sync_after(&self, name: &'static str, syncs: u64, then: Then) {
        self.disk().bad_sync = Some((name, syncs, then));
    }

    /// The next file that is opened fails once, and holds `bytes` from then on.
    pub(crate) fn fail_open_and_hold(&self, bytes: &[u8]) {
        self.disk().turned_out = Some(bytes.to_vec());
    }

    /// All works for the next process. What the last one wrote is as certain as it was.
    pub(crate) fn restart(&self) {
        let disk = &mut *self.disk();
        disk.operations_left = None;
        disk.bad_sync = None;
    }

    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            files: Arc::new(self.clone()),
            ..Tuning::default()
        }
    }

    /// Leaves the files as a power cut does. Nobody may use them any more.
    pub(crate) fn cut(&self) {
        let disk = &mut *self.disk();
        for kept in std::mem::take(&mut disk.kept) {
            // What was removed stays so.
            if !kept.is_gone && kept.path.exists() {
                let new = fs::read(&kept.path).unwrap();
                fs::write(&kept.path, disk.mix(&kept.synced, &new)).unwrap();
            }
        }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }
}

impl Disk {
    fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 16).unwrap() % below
    }

    fn toss(&mut self) -> bool {
        self.random(2) == 0
    }

    /// A file of any length between the two, each block of it as it was or as it is. Where only
    /// the length is new, there are zeros.
    fn mix(&mut self, old: &[u8], new: &[u8]) -> Vec<u8> {
        let (short, long) = (old.len().min(new.len()), old.len().max(new.len()));
        let length = short + self.random(long - short + 1);
        let mut mixed = vec![0; length];
        for begin in (0..length).step_by(BLOCK_BYTES) {
            let end = length.min(begin + BLOCK_BYTES);
            let from = if self.toss() { old } else { new };
            // What was synced of a block stays, however much of it is new.
            for source in [old, from] {
                let end = end.min(source.len());
                if begin < end {
                    mixed[begin..end].copy_from_slice(&source[begin..end]);
                }
            }
        }
        mixed
    }

    /// Does one operation with what power there is.
    fn work<T>(&mut self, operation: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let no_power = || io::Error::other("no power");
        match &mut self.operations_left {
            Some(0) => return Err(no_power()),
            Some(left) => *left -= 1,
            None => return operation(self),
        }
        if self.operations_left == Some(0) {
            return Err(no_power());
        }
        operation(self)
    }

    /// The file that is there. If nothing was done to it yet, all of it is certain.
    fn find(&mut self, path: &Path) -> io::Result<usize> {
        let is_it = |kept: &Kept| kept.path == path && !kept.is_gone;
        match self.kept.iter().position(is_it) {
            Some(number) => Ok(number),
            None => Ok(self.add(path, fs::read(path)?)),
        }
    }

    fn add(&mut self, path: &Path, synced: Vec<u8>) -> usize {
        for kept in &mut self.kept {
            if kept.path == path {
                kept.is_gone = true;
            }
        }
        self.kept.push(Kept {
            path: path.to_path_buf(),
            is_gone: false,
            synced,
            dirty: Vec::new(),
        });
        self.kept.len() - 1
    }

    fn sync(&mut self, number: usize) -> io::Result<()> {
        if self.operations_left == Some(0) {
            // Too late.
            return Ok(());
        }
        let kept = &mut self.kept[number];
        if let Some((name, left, then)) = &mut self.bad_sync
            && kept.path.ends_with(name)
        {
            if *left == 0 {
                if *then == Then::Kill {
                    self.operations_left = Some(0);
                }
                self.bad_sync = None;
                kept.dirty.clear();
                return Err(io::Error::other("injected"));
            }
            *left -= 1;
        }
        kept.sync(&fs::read(&kept.path)?);
        Ok(())
    }
}

impl PowerFiles {
    fn file(&self, number: usize, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(PowerFile {
            file,
            number,
            files: self.clone(),
        })
    }
}

impl Files for PowerFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let (number, file) = self
            .disk()
            .work(|disk| Ok((disk.add(path, Vec::new()), SystemFiles.create(path)?)))?;
        Ok(self.file(number, file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        if let Some(bytes) = self.disk().turned_out.take() {
            fs::write(path, bytes)?;
            return Err(io::Error::other("injected"));
        }
        let (number, file) = self
            .disk()
            .work(|disk| Ok((disk.find(path)?, SystemFiles.open(path)?)))?;
        Ok(self.file(number, file))
    }

    /// For certain at once, as renames are.
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk().work(|disk| {
            SystemFiles.remove(path)?;
            for kept in disk.kept.iter_mut().filter(|kept| kept.path == path) {
                kept.is_gone = true;
            }
            Ok(())
        })
    }

    /// Renames are for certain at once: the tests of compaction undo them.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().work(|disk| {
            SystemFiles.rename(from, to)?;
            for kept in &mut disk.kept {
                if kept.path == to {
                    kept.is_gone = true;
                }
                if kept.path == from && !kept.is_gone {
                    kept.path = to.to_path_buf();
                }
            }
            Ok(())
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.disk().work(|_disk| SystemFiles.sync_directory(path))
    }
}

#[derive(Debug)]
struct PowerFile {
    file: Box<dyn AppendFile>,
    /// Its place among what is kept.
    number: usize,
    files: PowerFiles,
}

impl AppendFile for PowerFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.files.disk().work(|disk| {
            let kept = &mut disk.kept[self.number];
            let begin = usize::try_from(fs::metadata(&kept.path)?.len()).unwrap();
            let taken = self.file.append(bytes)?;
            kept.dirty.push(begin..begin + taken);
            Ok(taken)
        })
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.files.disk().work(|disk| {
            let begin = usize::try_from(at).unwrap();
            self.file.overwrite(at, bytes)?;
            let dirty = &mut disk.kept[self.number].dirty;
            dirty.push(begin..begin + bytes.len());
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.files.disk().work(|disk| disk.sync(self.number))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.files.disk().work(|disk| {
            self.file.truncate(length)?;
            disk.sync(self.number)?;
            if disk.operations_left != Some(0) {
                let length = usize::try_from(length).unwrap();
                disk.kept[self.number].synced.resize(length, 0);
            }
            Ok(())
        })
    }

    fn as_file(&self) -> &File {
        self.file.as_file()
    }
}
