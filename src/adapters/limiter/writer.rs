//! The writer: writes behind what was decided, removes what has expired, and copes with a store
//! that fails.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::domain::client::LimitKey;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::domain::time::Timestamp;

use super::lot::Changes;
use super::persistence::{WindowStore, WindowStoreError};
use super::shard::Shard;
use super::table::{SHARDS, Table, shard_index};
use super::windows::{Cursor, FOUND_MAX};

/// A process that is killed forgets what was decided since the last tick, and during one.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// The whole table is swept every 3.2 seconds, a 4096th of it under each lock.
const SHARDS_PER_TICK: usize = 128;

/// Changes are handed to the store in batches of this size, give or take a shard, so that neither
/// memory nor the time until they are safe grows with the table.
const BATCH: usize = 4096;

/// So many are taken at once: a request that meets the writer there waits for about a microsecond,
/// and is not put to sleep. It waits longer, with the windows of the shard, for the sweep and when
/// the store starts over.
const TAKEN_UNDER_LOCK: usize = FOUND_MAX;

/// A store that failed is tried again every second, and named in the log once a minute.
const TICKS_PER_RETRY: u64 = 10;
const TICKS_PER_WARNING: u64 = 600;

/// The store starts over when it takes more than this many times what is live, and is worth it. A
/// fresh one takes about twice what is live, so half of what is written until then is new.
const GARBAGE_FACTOR: u64 = 4;
const GARBAGE_FLOOR_BYTES: u64 = 1024 * 1024;

pub(super) struct Writer {
    table: Arc<Table>,
    policies: Policies,
    /// Nothing once it is closed.
    store: Option<Box<dyn WindowStore>>,
    health: Health,
    ticks: u64,
    warned_at_tick: Option<u64>,
    /// The shard that is swept next.
    next_shard: u16,
    /// What the shards swept since shard 0 take when written.
    live_bytes: u64,
    /// How large the store was when it last started over, and what it then held.
    bytes_at_start: u64,
    live_bytes_at_start: u64,
    /// Stored windows that have left memory.
    removals: Vec<LimitKey>,
    /// What is handed to the store next.
    changes: Changes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// Something was not written, so everything must be.
    Failed {
        at_tick: u64,
    },
}

impl Writer {
    /// Fills the table with what the store kept, and writes it back into a fresh one.
    pub(super) fn open(
        table: Arc<Table>,
        policies: Policies,
        mut store: Box<dyn WindowStore>,
        now: Timestamp,
    ) -> Result<Self, WindowStoreError> {
        let loaded = store.load(&mut |key, mut window| {
            let is_live = quota_of(&policies, &key).is_some_and(|quota| {
                // Drops what has left and settles what lies in the future, as of now.
                window.peek(quota, now);
                !window.is_expired(quota, now)
            });
            table.with_shard(shard_index(&key), |shard| match is_live {
                true => shard.restore(key, window),
                false => shard.forget(&key),
            });
        });
        if let Err(error) = loaded {
            tracing::warn!(%error, "limiter windows set aside, starting empty");
            for index in 0..SHARDS {
                table.with_shard(index, |shard| *shard = Shard::default());
            }
        }
        let mut writer = Self {
            table,
            policies,
            store: Some(store),
            health: Health::Good,
            ticks: 0,
            warned_at_tick: None,
            next_shard: 0,
            live_bytes: 0,
            bytes_at_start: 0,
            live_bytes_at_start: 0,
            removals: Vec::new(),
            changes: Changes::default(),
        };
        writer.write_all()?;
        Ok(writer)
    }

    /// One turn: sweeps some shards, writes everything new.
    pub(super) fn tick(&mut self, now: Timestamp) {
        if self.store.is_none() {
            return;
        }
        self.ticks += 1;
        for _ in 0..SHARDS_PER_TICK {
            self.sweep_next(now);
        }
        match self.health {
            Health::Good => {
                let written = self.write_changes();
                self.note(written);
            }
            Health::Failed { at_tick } if self.ticks >= at_tick + TICKS_PER_RETRY => {
                self.recover();
            }
            Health::Failed { .. } => {}
        }
    }

    /// Writes everything new and lets go of the store.
    pub(super) fn close(&mut self) {
        if self.store.is_some() {
            match self.health {
                Health::Good => {
                    let written = self.write_changes();
                    self.note(written);
                }
                Health::Failed { .. } => self.recover(),
            }
        }
        self.store = None;
    }

    pub(super) fn stored_count(&self) -> usize {
        self.store.as_ref().map_or(0, |store| store.count())
    }

    fn store_bytes(&self) -> u64 {
        self.store.as_ref().map_or(0, |store| store.bytes_on_disk())
    }

    pub(super) fn is_store_failing(&self) -> bool {
        self.health != Health::Good
    }

    fn sweep_next(&mut self, now: Timestamp) {
        let index = self.next_shard;
        let (policies, removals) = (&self.policies, &mut self.removals);
        self.live_bytes += self.table.with_shard(index, |shard| {
            shard.sweep(|key| quota_of(policies, key), now, removals)
        });
        self.next_shard = (index + 1) % SHARDS;
        if self.next_shard == 0 {
            let live_bytes = std::mem::take(&mut self.live_bytes);
            self.shed_garbage(live_bytes);
        }
    }

    /// Starts the store over when most of it is garbage: sled does not give back what a crowd of
    /// windows took that have expired.
    fn shed_garbage(&mut self, live_bytes: u64) {
        let bytes = self.store_bytes();
        let allowed = GARBAGE_FLOOR_BYTES + GARBAGE_FACTOR * live_bytes;
        // Not if a fresh store would hardly be smaller.
        let at_start = self.live_bytes_at_start.max(1);
        let shrunk_to = live_bytes.clamp(1, at_start);
        let fresh_bytes = self.bytes_at_start.saturating_mul(shrunk_to) / at_start;
        if self.health == Health::Good && bytes > allowed && bytes > fresh_bytes.saturating_mul(2) {
            let written = self.write_all();
            self.note(written);
        }
    }

    fn recover(&mut self) {
        let written = self.write_all();
        if written.is_ok() {
            tracing::info!("limiter store works again");
            self.health = Health::Good;
        }
        self.note(written);
    }

    fn note(&mut self, written: Result<(), WindowStoreError>) {
        let Err(error) = written else { return };
        self.health = Health::Failed {
            at_tick: self.ticks,
        };
        let is_due = self
            .warned_at_tick
            .is_none_or(|tick| self.ticks >= tick + TICKS_PER_WARNING);
        if is_due {
            self.warned_at_tick = Some(self.ticks);
            tracing::warn!(
                %error,
                "limiter windows are not being stored; limits hold, but a restart forgets them"
            );
        }
    }

    /// Writes what is new.
    fn write_changes(&mut self) -> Result<(), WindowStoreError> {
        // First, as a removed window may have come back. The memory is let go of: a crowd that
        // expired does not come again soon.
        for keys in std::mem::take(&mut self.removals).chunks(BATCH) {
            for key in keys {
                self.changes.push(key, None);
            }
            self.write_batch(BATCH)?;
        }
        for index in 0..SHARDS {
            // Once through the shard, or again if it has grown: busy windows do not keep the writer
            // here.
            let mut cursor = Some(Cursor::default());
            while let Some(at) = cursor {
                let changes = &mut self.changes;
                cursor = self.table.with_shard(index, |shard| {
                    shard.take_changes(at, TAKEN_UNDER_LOCK, changes)
                });
            }
            self.write_batch(BATCH)?;
        }
        self.write_batch(1)
    }

    /// Writes everything into an empty store.
    fn write_all(&mut self) -> Result<(), WindowStoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        store.start_over()?;
        // There may be very many after an outage.
        self.removals = Vec::new();
        self.changes.clear();
        self.live_bytes_at_start = 0;
        for index in 0..SHARDS {
            let changes = &mut self.changes;
            self.live_bytes_at_start += self
                .table
                .with_shard(index, |shard| shard.take_all(changes));
            self.write_batch(BATCH)?;
        }
        self.write_batch(1)?;
        if let Some(store) = &mut self.store {
            store.settle()?;
            self.bytes_at_start = store.bytes_on_disk();
        }
        Ok(())
    }

    /// Hands the changes over once there are so many.
    fn write_batch(&mut self, at_least: usize) -> Result<(), WindowStoreError> {
        match &mut self.store {
            Some(store) if self.changes.len() >= at_least => {
                let written = store.write(&self.changes);
                self.changes.clear();
                written
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The thread that ticks; it stops when this is dropped.
pub(super) struct Attendant {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Attendant {
    /// # Errors
    /// When the system has no thread to give.
    pub(super) fn start(mut tick: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("limiter-writer".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    tick();
                }
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the limiter's writer had panicked");
        }
    }
}

/// Nothing for a policy that is off: nobody charges it, so its windows are not kept.
fn quota_of(policies: &Policies, key: &LimitKey) -> Option<Quota> {
    let [tag, ..] = *key.as_bytes();
    policies.quota(*PolicyName::ALL.get(usize::from(tag))?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::domain::secret::Secret;
    use crate::domain::window::Window;

    use super::super::table::TableLimits;
    use super::*;

    /// A store that fails while it is told to.
    struct SwitchedStore(Arc<AtomicBool>);

    impl SwitchedStore {
        fn answer(&self) -> Result<(), WindowStoreError> {
            let works = !self.0.load(Ordering::Relaxed);
            works
                .then_some(())
                .ok_or_else(|| WindowStoreError("told to fail".to_owned()))
        }
    }

    impl WindowStore for SwitchedStore {
        fn load(&mut self, _: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError> {
            self.answer()
        }

        fn start_over(&mut self) -> Result<(), WindowStoreError> {
            self.answer()
        }

        fn settle(&mut self) -> Result<(), WindowStoreError> {
            self.answer()
        }

        fn write(&mut self, _: &Changes) -> Result<(), WindowStoreError> {
            self.answer()
        }

        fn count(&self) -> usize {
            0
        }

        fn bytes_on_disk(&self) -> u64 {
            0
        }
    }

    #[test]
    fn what_expired_during_an_outage_leaves_no_memory_behind() {
        let now = Timestamp::from_ms(1_000_000);
        let mac_key = Secret::new([7; 32]).keys().limiter;
        let table = Arc::new(Table::new(TableLimits::default(), mac_key));
        let is_failing = Arc::new(AtomicBool::new(false));
        let store = Box::new(SwitchedStore(Arc::clone(&is_failing)));
        let mut writer = Writer::open(Arc::clone(&table), Policies::default(), store, now).unwrap();
        for number in 0..200 {
            let key = LimitKey::tagged(PolicyName::Ip, [number; 16]);
            table.with_shard(shard_index(&key), |shard| {
                // Stored, and empty: as good as expired.
                shard.restore(key, Window::default());
            });
        }
        is_failing.store(true, Ordering::Relaxed);
        for _ in 0..usize::from(SHARDS) / SHARDS_PER_TICK {
            writer.tick(now);
        }
        // The first were taken before it was known that the store fails.
        assert!(writer.removals.len() > 100, "{}", writer.removals.len());
        is_failing.store(false, Ordering::Relaxed);
        for _ in 0..TICKS_PER_RETRY {
            writer.tick(now);
        }
        assert!(!writer.is_store_failing());
        assert_eq!((table.count(), writer.removals.capacity()), (0, 0));
    }
}
