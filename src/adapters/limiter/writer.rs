//! The writer: stores changes, removes expired windows, and handles a store that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::domain::{LimitKey, Policies, Quota, Timestamp, Window};

use super::persistence::{WindowStore, WindowStoreError};
use super::shard::Shard;
use super::table::{SHARDS, Table, shard_index};

/// With a tick every 100 ms, the whole table is swept every 2 seconds.
const SHARDS_PER_TICK: usize = 4;

/// Bounds the memory of a batch, and the time until its changes are stored.
const BATCH: usize = 4096;

/// Bounds how long a request waits for a shard while its changes are copied.
const KEYS_PER_LOCK: usize = 64;

/// A store that failed is tried again every ten seconds. Not more often, because each try may fill the
/// disk. A failing store and a full table are each logged once a minute.
const TICKS_PER_RETRY: u64 = 100;
const TICKS_PER_WARNING: u64 = 600;

/// The store is replaced when it exceeds this: sled does not give back the space of windows that
/// have expired. A store without garbage takes about four times what is live.
const GARBAGE_FACTOR: u64 = 8;
const GARBAGE_FLOOR_BYTES: u64 = 8 * 1024 * 1024;

/// What the writer last knew of its store, to be read while it works.
#[derive(Default)]
pub(super) struct StoreHealth {
    pub(super) is_failing: AtomicBool,
    pub(super) disk_bytes: AtomicU64,
}

pub(super) struct Writer {
    pub(super) table: Arc<Table>,
    policies: Policies,
    /// None once it is closed, or if windows are in memory only.
    pub(super) store: Option<Box<dyn WindowStore>>,
    ticks: u64,
    pub(super) health: Arc<StoreHealth>,
    /// The store has grown, or something was not stored: everything must be written again.
    must_replace: bool,
    /// The shard that is swept next, and the live bytes of those before it.
    next_shard: usize,
    live_bytes: u64,
}

impl Writer {
    /// Fills the table from the store. Writes nothing yet: a service with many windows shall not wait
    /// for that at its start.
    pub(super) fn open(
        table: Arc<Table>,
        policies: Policies,
        mut store: Option<Box<dyn WindowStore>>,
        now: Timestamp,
    ) -> Self {
        let mut keep = |key, mut window: Window| {
            let is_live = quota_of(&policies, &key).is_some_and(|quota| {
                window.peek(quota, now);
                !window.is_expired(quota, now)
            });
            let window = is_live.then_some(window);
            table.with_shard(shard_index(&key), |shard| shard.restore(key, window));
        };
        let loaded = store.as_mut().map(|store| store.load(&mut keep));
        if let Some(Err(error)) = &loaded {
            tracing::warn!(%error, "limiter windows: starting empty");
            for index in 0..SHARDS {
                table.with_shard(index, |shard| *shard = Shard::default());
            }
        }
        Self {
            table,
            policies,
            store,
            ticks: 0,
            health: Arc::default(),
            must_replace: matches!(loaded, Some(Err(_))),
            next_shard: 0,
            live_bytes: 0,
        }
    }

    /// Sweeps some shards and writes all changes.
    pub(super) fn tick(&mut self, now: Timestamp) {
        if self.ticks.is_multiple_of(TICKS_PER_WARNING) && self.table.is_full() {
            tracing::warn!(
                windows = self.table.count(),
                "the table of limiter windows is full: until some expire, new clients share the window \
                 of their IPv4 /24 or IPv6 /48"
            );
        }
        self.ticks += 1;
        for _ in 0..SHARDS_PER_TICK {
            self.sweep_next(now);
        }
        let is_due = !self.is_failing() || self.ticks.is_multiple_of(TICKS_PER_RETRY);
        if self.store.is_some() && is_due {
            self.write();
        } else {
            // Either nothing is ever written, or all windows will be: the lists of changes must not grow until then.
            for index in 0..SHARDS {
                self.table.with_shard(index, Shard::take_dirty);
            }
        }
    }

    /// A tick has panicked: what it had taken is not stored.
    pub(super) fn fail(&mut self) {
        self.must_replace = true;
        self.health.is_failing.store(true, Relaxed);
    }

    /// Writes all changes, if there is a store, and returns whether none is left.
    pub(super) fn write_out(&mut self) -> bool {
        if self.store.is_some() {
            self.write();
        }
        !self.is_failing()
    }

    /// Writes all changes and closes the store.
    pub(super) fn close(&mut self) {
        self.write_out();
        self.store = None;
    }

    fn is_failing(&self) -> bool {
        self.health.is_failing.load(Relaxed)
    }

    fn sweep_next(&mut self, now: Timestamp) {
        let policies = &self.policies;
        self.live_bytes += self.table.with_shard(self.next_shard, |shard| {
            shard.sweep(|key| quota_of(policies, key), now)
        });
        self.next_shard = (self.next_shard + 1) % SHARDS;
        if self.next_shard == 0 {
            let allowed = GARBAGE_FLOOR_BYTES + GARBAGE_FACTOR * self.live_bytes;
            self.live_bytes = 0;
            let bytes = self.store.as_ref().map_or(0, |store| store.bytes_on_disk());
            self.must_replace |= bytes > allowed;
            self.health.disk_bytes.store(bytes, Relaxed);
        }
    }

    fn write(&mut self) {
        let written = match self.must_replace {
            true => self.write_all(),
            false => self.write_changes(),
        };
        self.must_replace = written.is_err();
        let was_failing = self.health.is_failing.swap(written.is_err(), Relaxed);
        match &written {
            Ok(()) if was_failing => tracing::info!("limiter windows are stored again"),
            Err(error) if !was_failing || self.ticks.is_multiple_of(TICKS_PER_WARNING) => {
                tracing::warn!(
                    %error,
                    "limiter windows cannot be stored; limits still apply, but a restart loses the windows"
                );
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn write_changes(&mut self) -> Result<(), WindowStoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let mut changes = Vec::new();
        for index in 0..SHARDS {
            let dirty = self.table.with_shard(index, Shard::take_dirty);
            for keys in dirty.chunks(KEYS_PER_LOCK) {
                self.table
                    .with_shard(index, |shard| shard.changes(keys, &mut changes));
                if changes.len() >= BATCH {
                    store.write(std::mem::take(&mut changes))?;
                }
            }
        }
        match changes.is_empty() {
            true => Ok(()),
            false => store.write(changes),
        }
    }

    fn write_all(&mut self) -> Result<(), WindowStoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let shards = (0..SHARDS).map(|index| self.table.with_shard(index, Shard::all));
        store.replace(&mut shards.filter(|windows| !windows.is_empty()))
    }
}

/// None for a policy that is off: its windows are not kept.
fn quota_of(policies: &Policies, key: &LimitKey) -> Option<Quota> {
    policies.quota(key.policy()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::persistence::SledWindowStore;
    use super::*;
    use crate::domain::PolicyName;

    const START: Timestamp = Timestamp::from_ms(1_000_000);

    #[test]
    fn what_expires_during_an_outage_leaves_no_memory_behind() {
        let dir = tempfile::tempdir().unwrap();
        let in_the_way = dir.path().join("file");
        fs::write(&in_the_way, "").unwrap();
        let table = Arc::new(Table::new(1000));
        let store = SledWindowStore::new(&in_the_way.join("windows"));
        let mut writer = open(&table, Some(Box::new(store)));
        let now = fill_and_expire(&table, &mut writer);
        assert!(writer.is_failing());
        fs::remove_file(&in_the_way).unwrap();
        fs::create_dir(&in_the_way).unwrap();
        for _ in 0..TICKS_PER_RETRY {
            writer.tick(now);
        }
        assert!(!writer.is_failing());
    }

    #[test]
    fn without_a_store_what_expires_leaves_no_memory_behind() {
        let table = Arc::new(Table::new(1000));
        let mut writer = open(&table, None);
        fill_and_expire(&table, &mut writer);
        assert!(!writer.is_failing());
    }

    fn open(table: &Arc<Table>, store: Option<Box<dyn WindowStore>>) -> Writer {
        Writer::open(Arc::clone(table), Policies::default(), store, START)
    }

    /// Returns the time at which every window has expired.
    fn fill_and_expire(table: &Table, writer: &mut Writer) -> Timestamp {
        let quota = PolicyName::Ip.default_quota();
        let mut now = START;
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
        assert_eq!(table.count(), 0);
        for index in 0..SHARDS {
            let dirty = table.with_shard(index, Shard::take_dirty);
            assert_eq!(dirty.len(), 0, "{index}");
        }
        now
    }
}
