//! Where changes are handed in, and who commits them: the ledger's thread, which takes all that wait
//! as one batch, or a caller who is alone, on its own thread.
//!
//! Waking the thread and being woken by it takes a quarter as long as a sync, and a lone caller has
//! nobody to share that with. As soon as others come, it is the thread's turn: their changes share a
//! sync, and no more than one worker of the runtime is ever held up.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::ports::StoreError;

use super::change::Change;
use super::committer::{Committer, Shared};
use super::index::Index;

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// After so many changes in a row that nobody shared a batch with or waited behind, the next caller
/// passes for a lone one.
const LONE_CHANGES: u32 = 8;

/// A running committer, and the changes that wait for it.
pub(super) struct Desk {
    waiting: Mutex<Waiting>,
    /// Wakes the thread.
    called: Condvar,
    /// Locked before the changes that are to be committed are taken, so that they keep their order;
    /// unlocked before they are answered, so that whoever was answered can have it. Nothing once it
    /// was handed out, or has panicked where it did not expect to.
    committer: Mutex<Option<Committer>>,
    shared: Arc<Shared>,
    changes_max: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Waiting {
    changes: Vec<Box<dyn Change>>,
    /// A lone caller left work that is not for a request to wait for.
    is_more_due: bool,
    /// The thread sleeps, and nobody has called it yet.
    is_thread_asleep: bool,
    /// How many changes were committed alone, up to now.
    lone_changes: u32,
    /// Where those wait who hand in, if it has threads of its own.
    runtime: Option<Handle>,
    is_closed: bool,
}

impl Waiting {
    /// Whether a change that comes now has nobody before it and, as it seems, nobody behind it.
    fn is_quiet(&self) -> bool {
        self.lone_changes >= LONE_CHANGES && self.changes.is_empty() && !self.is_more_due
    }

    /// The next batch.
    fn take(&mut self) -> Vec<Box<dyn Change>> {
        self.is_more_due = false;
        let count = self.changes.len().min(BATCH_CHANGES_MAX);
        let rest = self.changes.split_off(count);
        std::mem::replace(&mut self.changes, rest)
    }

    /// Takes note that a batch of `count` changes is done.
    fn note(&mut self, count: usize) {
        self.lone_changes = match count {
            0 => self.lone_changes,
            1 if self.changes.is_empty() => self.lone_changes.saturating_add(1),
            _ => 0,
        };
    }
}

impl Desk {
    /// Starts `committer` with room for `changes_max` waiting changes.
    pub(super) fn open(
        committer: Committer,
        index: Index,
        changes_max: usize,
    ) -> std::io::Result<Arc<Self>> {
        let shared = Arc::clone(&committer.shared);
        shared.replace_index(Some(index));
        let desk = Arc::new(Self {
            waiting: Mutex::default(),
            called: Condvar::new(),
            committer: Mutex::new(Some(committer)),
            shared,
            changes_max,
            thread: Mutex::default(),
        });
        let thread = thread::Builder::new().name("ledger".to_owned()).spawn({
            let desk = Arc::clone(&desk);
            move || desk.run()
        })?;
        *lock(&desk.thread) = Some(thread);
        Ok(desk)
    }

    /// Takes a change, which is committed when this returns or will be by the thread.
    ///
    /// # Errors
    /// [`StoreError`] when it is not taken, and never will be committed.
    pub(super) fn hand_in(&self, change: Box<dyn Change>) -> Result<(), StoreError> {
        let mut waiting = lock(&self.waiting);
        if waiting.is_closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        if waiting.is_quiet()
            && runtime().is_some()
            && let Some(committer) = self.sound_committer()
        {
            // Without another thread for the runtime it panics: whoever comes next does not try.
            let lone_changes = std::mem::take(&mut waiting.lone_changes);
            drop(waiting);
            block_in_place(|| {
                lock(&self.waiting).lone_changes = lone_changes;
                self.commit(committer, vec![change]);
            });
            return Ok(());
        }
        if waiting.changes.len() >= self.changes_max {
            return Err(StoreError::Overloaded);
        }
        if waiting.runtime.is_none() {
            waiting.runtime = runtime();
        }
        waiting.changes.push(change);
        self.call(waiting);
        Ok(())
    }

    /// Lets no more changes in, waits for those that wait, and hands out the committer; nothing if
    /// that was done before, or a panic has left none.
    pub(super) fn close(&self) -> Option<Committer> {
        let mut waiting = lock(&self.waiting);
        waiting.is_closed = true;
        self.call(waiting);
        let thread = lock(&self.thread).take()?;
        thread.join().ok()?;
        // A lone caller may be at work still, and have found all well.
        let committer = lock(&self.committer).take();
        self.shared.set_unsound();
        committer
    }

    /// The committer, if nobody is at work and nothing has to be repaired.
    fn sound_committer(&self) -> Option<MutexGuard<'_, Option<Committer>>> {
        let committer = match self.committer.try_lock() {
            Ok(committer) => committer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.shared.is_sound().then_some(committer)
    }

    /// What the thread does.
    fn run(&self) {
        let _end = End(self);
        while self.sleep() {
            let mut place = lock(&self.committer);
            self.with(&mut place, |committer| {
                if committer.is_compaction_due() {
                    committer.compact();
                }
            });
            let changes = lock(&self.waiting).take();
            self.commit(place, changes);
        }
    }

    fn commit(&self, mut place: MutexGuard<'_, Option<Committer>>, changes: Vec<Box<dyn Change>>) {
        let count = changes.len();
        let committed = self.with(&mut place, |committer| {
            (committer.commit(changes), committer.is_compaction_due())
        });
        // Whoever waits for a change that is dropped is told that the store takes none.
        let Some((answers, is_more_due)) = committed else {
            return;
        };
        let mut waiting = lock(&self.waiting);
        waiting.note(count);
        let runtime = waiting.runtime.clone();
        if is_more_due {
            waiting.is_more_due = true;
            self.call(waiting);
        } else {
            drop(waiting);
        }
        drop(place);
        answers.give(runtime.as_ref());
    }

    /// Takes the committer out of its place while it does `work`; nothing if it is not there.
    fn with<T>(
        &self,
        place: &mut Option<Committer>,
        work: impl FnOnce(&mut Committer) -> T,
    ) -> Option<T> {
        let mut committer = place.take()?;
        let end_of_panic = End(self);
        let done = work(&mut committer);
        *place = Some(committer);
        std::mem::forget(end_of_panic);
        Some(done)
    }

    /// Lets the thread sleep until there is something to do. Says whether there is.
    fn sleep(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        while waiting.changes.is_empty() && !waiting.is_more_due {
            if waiting.is_closed {
                return false;
            }
            waiting.is_thread_asleep = true;
            waiting = self
                .called
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Wakes the thread, if it sleeps.
    fn call(&self, mut waiting: MutexGuard<'_, Waiting>) {
        let is_asleep = std::mem::take(&mut waiting.is_thread_asleep);
        drop(waiting);
        if is_asleep {
            self.called.notify_one();
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

/// Nobody is left to write when this is dropped: the thread has ended, or a commit by a panic.
struct End<'a>(&'a Desk);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let Self(desk) = self;
        if thread::panicking() {
            tracing::error!("the writer panicked: no more is written until the next start");
        }
        desk.shared.set_unsound();
        let mut waiting = lock(&desk.waiting);
        waiting.is_closed = true;
        let given_up = std::mem::take(&mut waiting.changes);
        desk.call(waiting);
        drop(given_up);
    }
}

/// What these locks guard is whole after a panic elsewhere: the committer is not in its place while
/// it works.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime that this thread belongs to, if that has threads of its own: it can do without this
/// one for a while, and its tasks go on whoever waits for what.
fn runtime() -> Option<Handle> {
    let runtime = Handle::try_current().ok();
    runtime.filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::store::change::asked;
    use crate::adapters::store::draft::Draft;
    use crate::adapters::store::index::IndexError;

    fn waiting(count: usize) -> Waiting {
        let decide =
            |_: &mut Draft<'_>| -> Result<(), IndexError> { unreachable!("nobody commits it") };
        Waiting {
            changes: (0..count).map(|_| asked(decide).0).collect(),
            lone_changes: LONE_CHANGES,
            ..Waiting::default()
        }
    }

    #[test]
    fn a_batch_is_bounded_and_leaves_the_rest_waiting() {
        let mut waiting = waiting(BATCH_CHANGES_MAX + 1);
        assert_eq!(waiting.take().len(), BATCH_CHANGES_MAX);
        assert_eq!(waiting.take().len(), 1);
        assert!(waiting.take().is_empty());
    }

    #[test]
    fn nobody_overtakes_what_waits() {
        assert!(waiting(0).is_quiet());
        assert!(!waiting(1).is_quiet());
        let mut more = waiting(0);
        more.is_more_due = true;
        assert!(!more.is_quiet());
    }

    #[test]
    fn a_crowd_ends_the_quiet_and_a_round_without_changes_does_not_count() {
        let alike = LONE_CHANGES;
        for (batch, waits, expected) in [(0, 0, alike), (1, 0, alike + 1), (2, 0, 0), (1, 1, 0)] {
            let mut waiting = waiting(waits);
            waiting.note(batch);
            assert_eq!(waiting.lone_changes, expected, "{batch} {waits}");
        }
    }
}
