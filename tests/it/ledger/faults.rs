//! A write that failed is never taken for success, and the store recovers without a restart.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::adapters::ledger::Tuning;
use landing_api::domain::contact::Subscription;
use landing_api::ports::{ContactStore, StoreError};
use tokio::time::advance;

use crate::fixtures::{House, Opened, Waiting};

/// Real files, each operation of which can be made to fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyFiles(Arc<Faults>);

#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) disk_full: AtomicBool,
    short_write: AtomicBool,
    pub(crate) sync: AtomicBool,
    pub(crate) truncate: AtomicBool,
    /// Cutting a file back panics, which no disk can cause.
    pub(crate) truncate_panic: AtomicBool,
    pub(crate) overwrite: AtomicBool,
    sync_directory: AtomicBool,
    rename: AtomicBool,
    append_gate: Gate,
    sync_gate: Gate,
    create_gate: Gate,
}

/// Holds whoever comes next.
#[derive(Debug, Default)]
struct Gate(Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>>);

impl Gate {
    fn close(&self) -> Hold {
        let (hold, is_held) = mpsc::channel();
        let (released, release) = mpsc::channel();
        *self.0.lock().unwrap() = Some((hold, release));
        Hold { is_held, released }
    }

    fn pass(&self) {
        let closed = self.0.lock().unwrap().take();
        if let Some((hold, release)) = closed {
            hold.send(()).unwrap();
            release.recv().unwrap();
        }
    }
}

/// The next operation of a kind, which will be held in its midst.
pub(crate) struct Hold {
    is_held: mpsc::Receiver<()>,
    released: mpsc::Sender<()>,
}

impl Hold {
    /// Waits until it is held; hands out what lets it go on.
    pub(crate) fn wait(self) -> mpsc::Sender<()> {
        self.is_held.recv().unwrap();
        self.released
    }
}

/// Changes that gather while the writer is held in the middle of an append.
pub(crate) struct Gathered {
    released: mpsc::Sender<()>,
    held: Waiting,
    waiting: Vec<Waiting>,
}

impl Gathered {
    /// Lets the writer go on; hands out the change that it was held in, and those that wait.
    pub(crate) fn release(self) -> (Waiting, Vec<Waiting>) {
        self.released.send(()).unwrap();
        (self.held, self.waiting)
    }
}

impl FaultyFiles {
    /// Holds the writer while it appends the sign-up of "held", and has `names` sign up
    /// meanwhile. The test's runtime must have one thread.
    pub(crate) async fn gather(&self, opened: &Opened, names: &[&'static str]) -> Gathered {
        let hold = self.hold();
        let held = opened.spawn_sign_up("held");
        tokio::task::yield_now().await;
        let released = hold.wait();
        let waiting = names
            .iter()
            .map(|name| opened.spawn_sign_up(name))
            .collect();
        tokio::task::yield_now().await;
        Gathered {
            released,
            held,
            waiting,
        }
    }

    /// Holds the next append.
    pub(crate) fn hold(&self) -> Hold {
        self.0.append_gate.close()
    }

    /// Holds the next sync of a file.
    pub(crate) fn hold_next_sync(&self) -> Hold {
        self.0.sync_gate.close()
    }

    /// Holds the next generation before its first line.
    pub(crate) fn hold_next_copy(&self) -> Hold {
        self.0.create_gate.close()
    }

    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            files: Arc::new(self.clone()),
            look_interval: Duration::from_millis(1),
            ..Tuning::default()
        }
    }

    pub(crate) fn fault(&self, fault: Fault) -> &AtomicBool {
        fault(&self.0)
    }

    pub(crate) fn fail_renames(&self, is_on: bool) {
        set(&self.0.rename, is_on);
    }

    pub(crate) fn fail_directory_syncs(&self, is_on: bool) {
        set(&self.0.sync_directory, is_on);
    }
}

pub(crate) fn set(fault: &AtomicBool, is_on: bool) {
    fault.store(is_on, Ordering::SeqCst);
}

fn fail_if(fault: &AtomicBool) -> io::Result<()> {
    if fault.load(Ordering::SeqCst) {
        return Err(io::Error::other("injected"));
    }
    Ok(())
}

impl Files for FaultyFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.create_gate.pass();
        Ok(Box::new(FaultyFile {
            file: SystemFiles.create(path)?,
            faults: Arc::clone(&self.0),
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(FaultyFile {
            file: SystemFiles.open(path)?,
            faults: Arc::clone(&self.0),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fail_if(&self.0.rename)?;
        SystemFiles.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        fail_if(&self.0.sync_directory)?;
        SystemFiles.sync_directory(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn AppendFile>,
    faults: Arc<Faults>,
}

impl AppendFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.append_gate.pass();
        if self.faults.disk_full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if self.faults.short_write.load(Ordering::SeqCst) {
            return self.file.append(&bytes[..bytes.len() / 2]);
        }
        self.file.append(bytes)
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        fail_if(&self.faults.overwrite)?;
        self.file.overwrite(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.sync_gate.pass();
        fail_if(&self.faults.sync)?;
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        fail_if(&self.faults.truncate)?;
        assert!(!self.faults.truncate_panic.load(Ordering::SeqCst));
        self.file.truncate(length)
    }

    fn as_file(&self) -> &File {
        self.file.as_file()
    }
}

pub(crate) fn assert_unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    match answer {
        Err(StoreError::Unavailable(reason) | StoreError::Full(reason)) => {
            assert!(!reason.contains("example.com"));
        }
        other => panic!("expected a failure of the store, got {other:?}"),
    }
}

pub(crate) type Fault = fn(&Faults) -> &AtomicBool;

pub(crate) const WRITE_FAULTS: [(&str, Fault); 3] = [
    ("disk full", |faults| &faults.disk_full),
    ("short write", |faults| &faults.short_write),
    ("failed sync", |faults| &faults.sync),
];

/// A store with one contact, on files that can fail.
pub(super) async fn open_with_faults(house: &House, files: &FaultyFiles) -> Opened {
    let opened = house.try_open(files.tuning()).unwrap();
    opened.sign_up("ada").await.unwrap();
    opened
}

#[tokio::test]
async fn after_a_failed_write_nothing_is_left_and_the_next_write_works() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_with_faults(&house, &files).await;
        let before = house.ledger();

        set(fault(&files.0), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_unavailable(opened.sign_up("ada").await);
        assert_unavailable(opened.forget("ada").await);
        assert_unavailable(opened.store.check());
        opened.assert_has(&["ada"], &["bob"]).await;
        assert_eq!(house.ledger(), before, "{name}");

        set(fault(&files.0), false);
        assert_eq!(
            opened.sign_up("bob").await,
            Ok(Subscription::Created),
            "{name}"
        );
        assert_eq!(opened.store.check(), Ok(()), "{name}");
        opened.crash();
        house.open().assert_has(&["ada", "bob"], &[]).await;
    }
}

#[tokio::test]
async fn the_store_comes_back_by_itself() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_with_faults(&house, &files).await;
        let before = house.ledger();
        set(fault(&files.0), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_unavailable(opened.store.check());
        set(fault(&files.0), false);
        opened.recovers().await;
        assert_eq!(house.ledger(), before, "{name}");
    }
}

#[tokio::test]
async fn while_the_file_cannot_be_cut_back_every_write_fails() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_with_faults(&house, &files).await;
        let before = house.ledger();
        set(&files.0.truncate, true);
        set(fault(&files.0), true);
        assert_unavailable(opened.sign_up("bob").await);
        // The disk takes writes again, but what stands behind the end is not known.
        set(fault(&files.0), false);
        assert_unavailable(opened.sign_up("cy").await);
        assert_unavailable(opened.store.check());
        opened.assert_has(&["ada"], &["bob", "cy"]).await;

        set(&files.0.truncate, false);
        opened.recovers().await;
        assert_eq!(house.ledger(), before, "{name}");
        assert_eq!(
            opened.sign_up("bob").await,
            Ok(Subscription::Created),
            "{name}"
        );
        opened.stop();
        house.open().assert_has(&["ada", "bob"], &["cy"]).await;
    }
}

#[tokio::test]
async fn a_failed_batch_fails_for_everyone_in_it() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_with_faults(&house, &files).await;
    let gathered = files.gather(&opened, &["x", "y", "x"]).await;
    set(&files.0.sync, true);
    let (held, waiting) = gathered.release();
    assert_unavailable(held.await.unwrap());
    for answer in waiting {
        assert_unavailable(answer.await.unwrap());
    }
    set(&files.0.sync, false);
    for (name, expected) in [("held", true), ("x", true), ("x", false)] {
        let is_created = opened.sign_up(name).await == Ok(Subscription::Created);
        assert_eq!(is_created, expected, "{name}");
    }
}

#[tokio::test]
async fn changes_that_wait_share_one_batch_and_see_each_other() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_with_faults(&house, &files).await;
    let gathered = files.gather(&opened, &["x", "y", "x", "held"]).await;
    let (held, waiting) = gathered.release();
    assert_eq!(held.await.unwrap(), Ok(Subscription::Created));
    let mut created = Vec::new();
    for answer in waiting {
        created.push(answer.await.unwrap() == Ok(Subscription::Created));
    }
    assert_eq!(created, [true, true, false, false]);
    let text = house.ledger_text();
    let together: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"batch\":3"))
        .collect();
    assert_eq!(together.len(), 4, "{text}");
    for (line, left) in together.iter().zip([3, 2, 1, 0]) {
        assert!(line.contains(&format!("\"left\":{left}")), "{line}");
    }
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_keeps_what_waits() {
    let house = House::new();
    let files = FaultyFiles::default();
    let tuning = Tuning {
        waiting_changes_max: 3,
        ..files.tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    let gathered = files.gather(&opened, &["a", "b", "c"]).await;
    assert_eq!(opened.sign_up("d").await, Err(StoreError::Overloaded));
    // It works, if slowly.
    assert_eq!(opened.store.check(), Ok(()));
    let (held, waiting) = gathered.release();
    assert_eq!(held.await.unwrap(), Ok(Subscription::Created));
    for answer in waiting {
        assert_eq!(answer.await.unwrap(), Ok(Subscription::Created));
    }
    opened.assert_has(&["held", "a", "b", "c"], &["d"]).await;
    assert_eq!(opened.sign_up("d").await, Ok(Subscription::Created));
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_oldest_change_waits_for_two_seconds_is_busy() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_with_faults(&house, &files).await;
    let gathered = files.gather(&opened, &["x"]).await;
    advance(Duration::from_millis(1_999)).await;
    assert_eq!(opened.store.check(), Ok(()));
    advance(Duration::from_millis(1)).await;
    assert_eq!(opened.store.check(), Err(StoreError::Overloaded));
    let (held, waiting) = gathered.release();
    held.await.unwrap().unwrap();
    for answer in waiting {
        answer.await.unwrap().unwrap();
    }
    opened.recovers().await;
}
