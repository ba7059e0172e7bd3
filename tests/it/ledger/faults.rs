//! A write that failed is never taken for success, and the store recovers without a restart.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, mpsc};

use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::domain::contact::Subscription;
use landing_api::ports::{Compaction, ContactStore, StoreMaintenance};

use super::durable::Unsynced;
use super::snapshots::Snapshots;
use crate::fixtures::{Waiting, eventually};
use crate::prelude::*;

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
    snapshots: OnceLock<Arc<Snapshots>>,
    unsynced: Mutex<Unsynced>,
}

impl Faults {
    /// Before each operation that changes a file.
    fn begin(&self) {
        if let Some(snapshots) = self.snapshots.get() {
            snapshots.take();
        }
    }

    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.lock().unwrap()
    }
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
    /// Lets the writer go on; hands out what becomes of the change that it was held in, and of those
    /// that wait.
    pub(crate) async fn answers(self) -> Vec<Result<Subscription, StoreError>> {
        self.released.send(()).unwrap();
        let mut answers = vec![self.held.await.unwrap()];
        for answer in self.waiting {
            answers.push(answer.await.unwrap());
        }
        answers
    }

    /// The same when each of them is to be new.
    pub(crate) async fn all_created(self) {
        let answers = self.answers().await;
        let is_created = |answer: &_| *answer == Ok(Subscription::Created);
        assert!(answers.iter().all(is_created), "{answers:?}");
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

    /// Begins a compaction, and holds it before the first line of the next generation. The test's
    /// runtime must have one thread. Hands out the compaction, and what lets it go on.
    pub(crate) async fn hold_compaction(
        &self,
        opened: &Opened,
    ) -> (JoinHandle<Result<Compaction, StoreError>>, mpsc::Sender<()>) {
        let held = self.0.create_gate.close();
        let store = Arc::clone(&opened.store);
        let compaction = tokio::spawn(async move { store.compact().await });
        tokio::task::yield_now().await;
        (compaction, held.wait())
    }

    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            files: Arc::new(self.clone()),
            look_interval: Duration::from_millis(1),
            ..Tuning::default()
        }
    }

    /// Has the house copied before each operation from now on.
    pub(crate) fn snapshots(&self, house: &House) -> &Snapshots {
        let snapshots = &self.0.snapshots;
        snapshots.get_or_init(|| Arc::new(Snapshots::of(house)))
    }

    /// What a power cut would undo now.
    pub(super) fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.0.unsynced()
    }

    fn faulty(&self, file: Box<dyn AppendFile>, path: &Path) -> Box<dyn AppendFile> {
        let (path, faults) = (path.to_owned(), Arc::clone(&self.0));
        Box::new(FaultyFile { file, path, faults })
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
        self.0.begin();
        let file = SystemFiles.create(path)?;
        self.unsynced().created(path);
        Ok(self.faulty(file, path))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.faulty(SystemFiles.open(path)?, path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.begin();
        SystemFiles.remove(path)?;
        self.unsynced().removed(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fail_if(&self.0.rename)?;
        self.0.begin();
        SystemFiles.rename(from, to)?;
        self.unsynced().renamed(from, to);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        fail_if(&self.0.sync_directory)?;
        self.0.begin();
        SystemFiles.sync_directory(path)?;
        self.unsynced().directory_synced(path);
        Ok(())
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    faults: Arc<Faults>,
}

impl AppendFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.append_gate.pass();
        if self.faults.disk_full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.faults.unsynced().written(&self.path);
        if self.faults.short_write.load(Ordering::SeqCst) {
            return self.file.append(&bytes[..bytes.len() / 2]);
        }
        // A process that is killed may have written any part.
        let middle = bytes.len() / 2;
        self.faults.begin();
        let taken = self.file.append(&bytes[..middle])?;
        self.faults.begin();
        Ok(taken + self.file.append(&bytes[middle..])?)
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        fail_if(&self.faults.overwrite)?;
        self.faults.unsynced().written(&self.path);
        self.file.overwrite(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.sync_gate.pass();
        fail_if(&self.faults.sync)?;
        self.faults.begin();
        self.faults.unsynced().synced(&self.path);
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        fail_if(&self.faults.truncate)?;
        assert!(!self.faults.truncate_panic.load(Ordering::SeqCst));
        self.faults.unsynced().synced(&self.path);
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

/// A house whose store has these contacts and is on files that can fail.
pub(crate) async fn faulty(
    names: impl IntoIterator<Item: AsRef<str>>,
) -> (House, FaultyFiles, Opened) {
    let (house, files) = (House::new(), FaultyFiles::default());
    let opened = house.try_open(files.tuning()).unwrap();
    opened.sign_up_all(names).await;
    (house, files, opened)
}

#[tokio::test]
async fn after_a_failed_write_nothing_is_left_and_the_store_comes_back_by_itself() {
    for (number, (name, fault)) in WRITE_FAULTS.repeat(2).into_iter().enumerate() {
        let (house, files, opened) = faulty(["ada"]).await;
        let before = house.ledger();

        set(fault(&files.0), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_unavailable(opened.sign_up("ada").await);
        assert_unavailable(opened.forget("ada").await);
        assert_unavailable(opened.store.check());
        opened.assert_has(&["ada"], &["bob"]).await;
        // While it looks for recovery, there may be a trial write.
        eventually(name, || house.ledger() == before).await;

        set(fault(&files.0), false);
        // Without a write, or by the next one.
        if number < WRITE_FAULTS.len() {
            opened.recovers().await;
            assert_eq!(house.ledger(), before, "{name}");
        }
        let created = opened.sign_up("bob").await;
        assert_eq!(created, Ok(Subscription::Created), "{name}");
        assert_eq!(opened.store.check(), Ok(()), "{name}");
        opened.crash();
        house.open().assert_has(&["ada", "bob"], &[]).await;
    }
}

#[tokio::test]
async fn while_the_file_cannot_be_cut_back_every_write_fails() {
    for (name, fault) in WRITE_FAULTS {
        let (house, files, opened) = faulty(["ada"]).await;
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
        let created = opened.sign_up("bob").await;
        assert_eq!(created, Ok(Subscription::Created), "{name}");
        opened.stop();
        house.open().assert_has(&["ada", "bob"], &["cy"]).await;
    }
}

#[tokio::test]
async fn a_failed_batch_fails_for_everyone_in_it() {
    let (_house, files, opened) = faulty(["ada"]).await;
    let gathered = files.gather(&opened, &["x", "y", "x"]).await;
    set(&files.0.sync, true);
    let answers = gathered.answers().await.into_iter();
    answers.for_each(assert_unavailable);
    set(&files.0.sync, false);
    for (name, expected) in [("held", true), ("x", true), ("x", false)] {
        let is_created = opened.sign_up(name).await == Ok(Subscription::Created);
        assert_eq!(is_created, expected, "{name}");
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
    gathered.all_created().await;
    opened.assert_has(&["held", "a", "b", "c"], &["d"]).await;
    assert_eq!(opened.sign_up("d").await, Ok(Subscription::Created));
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_oldest_change_waits_for_two_seconds_is_busy() {
    let (_house, files, opened) = faulty(["ada"]).await;
    let gathered = files.gather(&opened, &["x"]).await;
    advance(Duration::from_millis(1_999)).await;
    assert_eq!(opened.store.check(), Ok(()));
    advance(Duration::from_millis(1)).await;
    assert_eq!(opened.store.check(), Err(StoreError::Overloaded));
    gathered.all_created().await;
    opened.recovers().await;
}
