//! The writer: stores what was decided, removes what has expired, and handles a store that fails.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::domain::client::LimitKey;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::domain::time::Timestamp;

use super::persistence::{Change, WindowStore, WindowStoreError};
use super::shard::Shard;
use super::table::{SHARDS, Table, shard_index};

/// A process that is killed loses the decisions since the last tick, and during one.
const TICK: Duration = Duration::from_millis(100);

/// The whole table is swept every 2 seconds.
const SHARDS_PER_TICK: usize = 4;

/// Bounds the memory of a batch, and the time until its changes are stored.
const BATCH: usize = 4096;

/// Bounds how long a request waits for a shard while its changes are copied.
const KEYS_PER_LOCK: usize = 64;

/// A store that failed is tried again every second, and logged once a minute.
const TICKS_PER_RETRY: u64 = 10;
const TICKS_PER_WARNING: u64 = 600;

/// The store starts over when it exceeds the floor and this many times what is live: sled does not
/// give back the space of windows that have expired.
const GARBAGE_FACTOR: u64 = 4;
const GARBAGE_FLOOR_BYTES: u64 = 8 * 1024 * 1024;

pub(super) struct Writer {
    table: Arc<Table>,
    policies: Policies,
    /// None once it is closed.
    store: Option<Box<dyn WindowStore>>,
    ticks: u64,
    /// The tick at which the store failed. Everything must be written again.
    failed_at: Option<u64>,
    warned_at: Option<u64>,
    /// The shard that is swept next, and the live bytes of those before it.
    next_shard: usize,
    live_bytes: u64,
    /// The size of the store, and of what was live, when it last started over.
    bytes_at_start: u64,
    live_bytes_at_start: u64,
}

impl Writer {
    /// Fills the table from the store, and writes it into an empty one.
    pub(super) fn open(
        table: Arc<Table>,
        policies: Policies,
        mut store: Box<dyn WindowStore>,
        now: Timestamp,
    ) -> Result<Self, WindowStoreError> {
        let loaded = store.load(&mut |key, mut window| {
            let is_live = quota_of(&policies, &key).is_some_and(|quota| {
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
            ticks: 0,
            failed_at: None,
            warned_at: None,
            next_shard: 0,
            live_bytes: 0,
            bytes_at_start: 0,
            live_bytes_at_start: 0,
        };
        writer.write_all()?;
        Ok(writer)
    }

    /// Sweeps some shards and writes all changes.
    pub(super) fn tick(&mut self, now: Timestamp) {
        if self.store.is_none() {
            return;
        }
        self.ticks += 1;
        for _ in 0..SHARDS_PER_TICK {
            self.sweep_next(now);
        }
        match self.failed_at {
            None => self.write_changes_or_fail(),
            Some(tick) if self.ticks >= tick + TICKS_PER_RETRY => self.recover(),
            Some(_) => self.forget_changes(),
        }
    }

    /// Writes all changes and closes the store.
    pub(super) fn close(&mut self) {
        match self.failed_at {
            None => self.write_changes_or_fail(),
            Some(_) => self.recover(),
        }
        self.store = None;
    }

    pub(super) fn stored_count(&self) -> usize {
        self.store.as_ref().map_or(0, |store| store.count())
    }

    pub(super) fn is_store_failing(&self) -> bool {
        self.failed_at.is_some()
    }

    fn sweep_next(&mut self, now: Timestamp) {
        let policies = &self.policies;
        let live_bytes = self.table.with_shard(self.next_shard, |shard| {
            shard.sweep(|key| quota_of(policies, key), now)
        });
        self.live_bytes += live_bytes as u64;
        self.next_shard = (self.next_shard + 1) % SHARDS;
        if self.next_shard == 0 {
            let live_bytes = std::mem::take(&mut self.live_bytes);
            self.shed_garbage(live_bytes);
        }
    }

    fn shed_garbage(&mut self, live_bytes: u64) {
        let bytes = self.store.as_ref().map_or(0, |store| store.bytes_on_disk());
        let allowed = GARBAGE_FLOOR_BYTES + GARBAGE_FACTOR * live_bytes;
        // Not if a store without garbage would be nearly as large.
        let at_start = self.live_bytes_at_start.max(1);
        let shrunk_to = live_bytes.clamp(1, at_start);
        let fresh_bytes = self.bytes_at_start.saturating_mul(shrunk_to) / at_start;
        if self.failed_at.is_none() && bytes > allowed && bytes > fresh_bytes.saturating_mul(2) {
            let written = self.write_all();
            self.note(written);
        }
    }

    fn write_changes_or_fail(&mut self) {
        let written = self.write_changes();
        self.note(written);
    }

    fn recover(&mut self) {
        let written = self.write_all();
        if written.is_ok() {
            tracing::info!("limiter store works again");
            self.failed_at = None;
        }
        self.note(written);
    }

    fn note(&mut self, written: Result<(), WindowStoreError>) {
        let Err(error) = written else { return };
        self.failed_at = Some(self.ticks);
        let is_due = self
            .warned_at
            .is_none_or(|tick| self.ticks >= tick + TICKS_PER_WARNING);
        if is_due {
            self.warned_at = Some(self.ticks);
            tracing::warn!(
                %error,
                "limiter windows are not being stored; limits hold, but a restart forgets them"
            );
        }
    }

    /// Keeps the lists of changes from growing while the store fails: all windows will be written.
    fn forget_changes(&self) {
        for index in 0..SHARDS {
            self.table.with_shard(index, Shard::take_dirty);
        }
    }

    fn write_changes(&mut self) -> Result<(), WindowStoreError> {
        let mut changes = Vec::new();
        for index in 0..SHARDS {
            let dirty = self.table.with_shard(index, Shard::take_dirty);
            for keys in dirty.chunks(KEYS_PER_LOCK) {
                self.table
                    .with_shard(index, |shard| shard.changes(keys, &mut changes));
                self.write(&mut changes, BATCH)?;
            }
        }
        self.write(&mut changes, 1)
    }

    /// Writes all windows into an empty store.
    fn write_all(&mut self) -> Result<(), WindowStoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        store.start_over()?;
        let mut changes = Vec::new();
        self.live_bytes_at_start = 0;
        for index in 0..SHARDS {
            let live_bytes = self
                .table
                .with_shard(index, |shard| shard.all(&mut changes));
            self.live_bytes_at_start += live_bytes as u64;
            self.write(&mut changes, BATCH)?;
        }
        self.write(&mut changes, 1)?;
        if let Some(store) = &mut self.store {
            store.settle()?;
            self.bytes_at_start = store.bytes_on_disk();
        }
        Ok(())
    }

    /// Writes the changes if there are at least `at_least`.
    fn write(
        &mut self,
        changes: &mut Vec<Change>,
        at_least: usize,
    ) -> Result<(), WindowStoreError> {
        match &mut self.store {
            Some(store) if changes.len() >= at_least => store.write(std::mem::take(changes)),
            Some(_) | None => Ok(()),
        }
    }
}

/// The thread that ticks; it stops when this is dropped.
pub(super) struct WriterThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    /// # Errors
    /// When the system cannot start a thread.
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

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the limiter's writer panicked");
        }
    }
}

/// None for a policy that is off: its windows are not kept.
fn quota_of(policies: &Policies, key: &LimitKey) -> Option<Quota> {
    let [tag, ..] = *key.as_bytes();
    policies.quota(*PolicyName::ALL.get(usize::from(tag))?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::domain::window::Window;

    use super::super::table::TableLimits;
    use super::*;

    /// A store that fails while the flag is set.
    struct SwitchedStore(Arc<AtomicBool>);

    impl SwitchedStore {
        fn answer(&self) -> Result<(), WindowStoreError> {
            match self.0.load(Ordering::Relaxed) {
                true => Err(WindowStoreError("told to fail".to_owned())),
                false => Ok(()),
            }
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

        fn write(&mut self, _: Vec<Change>) -> Result<(), WindowStoreError> {
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
    fn what_expires_during_an_outage_leaves_no_memory_behind() {
        let start = Timestamp::from_ms(1_000_000);
        let table = Arc::new(Table::new(TableLimits::default()));
        let is_failing = Arc::new(AtomicBool::new(false));
        let store = Box::new(SwitchedStore(Arc::clone(&is_failing)));
        let mut writer =
            Writer::open(Arc::clone(&table), Policies::default(), store, start).unwrap();
        is_failing.store(true, Ordering::Relaxed);
        let quota = PolicyName::Ip.default_quota();
        let mut now = start;
        for number in 0..200 {
            let key = LimitKey::tagged(PolicyName::Ip, [number; 16]);
            table
                .with_shard(shard_index(&key), |shard| shard.admit(key, quota, now))
                .unwrap();
            writer.tick(now);
            now = now.plus_ms(quota.window_ms());
        }
        for _ in 0..SHARDS {
            writer.tick(now);
        }
        assert!(writer.is_store_failing());
        assert_eq!(table.count(), 0);
        for index in 0..SHARDS {
            let dirty = table.with_shard(index, Shard::take_dirty);
            assert_eq!(dirty.capacity(), 0, "{index}");
        }
        is_failing.store(false, Ordering::Relaxed);
        for _ in 0..TICKS_PER_RETRY {
            writer.tick(now);
        }
        assert!(!writer.is_store_failing());
    }
}
