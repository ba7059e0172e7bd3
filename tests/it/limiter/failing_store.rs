//! A store that fails, and what it is asked at all.

use std::sync::Mutex;

use landing_api::adapters::limiter::{Change, WindowStore, WindowStoreError};
use landing_api::domain::client::LimitKey;
use landing_api::domain::window::Window;
use landing_api::ports::{RateLimiter as _, WindowSet};

use super::{QUOTA, sweep};
use crate::fixtures::{admit_each, admitted, peek};
use crate::prelude::*;

/// A store that can be told to fail, and tells what it was asked.
#[derive(Clone, Default)]
struct ScriptedStore(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    is_failing: bool,
    /// Whether what was found at the start can be written to.
    is_sound: bool,
    windows: BTreeMap<LimitKey, Window>,
    bytes_on_disk: u64,
    writes: usize,
    replacements: usize,
}

impl Script {
    fn fail(&self) -> Result<(), WindowStoreError> {
        match self.is_failing {
            true => Err(WindowStoreError("told to fail".to_owned())),
            false => Ok(()),
        }
    }

    fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for (key, window) in changes {
            match window {
                Some(window) => self.windows.insert(key, window),
                None => self.windows.remove(&key),
            };
        }
    }
}

impl WindowStore for ScriptedStore {
    fn load(&mut self, _keep: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError> {
        let script = self.0.lock().unwrap();
        let damaged = WindowStoreError("damaged".to_owned());
        if script.is_sound {
            Ok(())
        } else {
            Err(damaged)
        }
    }

    fn replace(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        let mut script = self.0.lock().unwrap();
        script.fail()?;
        script.replacements += 1;
        script.bytes_on_disk = 0;
        script.windows.clear();
        script.apply(windows.flatten());
        Ok(())
    }

    fn write(&mut self, changes: Vec<Change>) -> Result<(), WindowStoreError> {
        let mut script = self.0.lock().unwrap();
        script.writes += 1;
        script.fail()?;
        script.apply(changes);
        Ok(())
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().windows.len()
    }

    fn bytes_on_disk(&self) -> u64 {
        self.0.lock().unwrap().bytes_on_disk
    }
}

impl ScriptedStore {
    fn fail(&self, is_failing: bool) {
        self.0.lock().unwrap().is_failing = is_failing;
    }
}

fn scripted() -> (SledRateLimiter, ScriptedStore) {
    over(ScriptedStore::default())
}

fn over(store: ScriptedStore) -> (SledRateLimiter, ScriptedStore) {
    let boxed = Box::new(store.clone());
    let limiter = SledRateLimiter::without_thread(boxed, &policies(QUOTA), START, WINDOWS_MAX);
    (limiter, store)
}

#[tokio::test]
async fn decisions_stay_exact_while_the_store_fails_and_are_written_when_it_recovers() {
    let (limiter, store) = scripted();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    admit_each(&limiter, QUOTA, [0]).await;
    limiter.tick(START);
    assert_eq!(limiter.stored(), 1);
    store.fail(true);
    for host in 0..100 {
        let admitted = admitted(&limiter, &[by_ip(host)], START, 10).await;
        let places = if host == 0 { 2 } else { 3 };
        assert_eq!(admitted, places);
        limiter.tick(START);
    }
    assert!(limiter.is_store_failing());
    assert_eq!(limiter.windows(), 100);
    assert_eq!(limiter.stored(), 1);
    store.fail(false);
    sweep(&limiter, START);
    assert!(!limiter.is_store_failing());
    assert_eq!(limiter.stored(), 100);
    // What expires during an outage is gone after it.
    store.fail(true);
    let later = START.plus_ms(60_000);
    assert!(is_admitted(&limiter, &[by_ip(0)], later).await);
    sweep(&limiter, later);
    assert_eq!((limiter.windows(), limiter.stored()), (1, 100));
    store.fail(false);
    limiter.close();
    assert_eq!(store.count(), 1);
}

#[tokio::test]
async fn a_window_is_written_once_a_tick_and_only_when_it_changed() {
    let (limiter, store) = scripted();
    let by_ip = charge(PolicyName::Ip, QUOTA, 1);
    let writes = || store.0.lock().unwrap().writes;
    limiter.tick(START);
    assert_eq!(writes(), 0);
    for _ in 0..10 {
        is_admitted(&limiter, &[by_ip], START).await;
    }
    limiter.tick(START);
    assert_eq!(writes(), 1);
    for _ in 0..10 {
        assert!(!is_admitted(&limiter, &[by_ip], START).await);
        peek(&limiter, by_ip, START).await;
    }
    limiter.tick(START);
    assert_eq!(writes(), 1, "refusals and looks write nothing");
}

#[tokio::test]
async fn a_reset_is_written_once_before_it_is_answered_and_fails_if_it_cannot_be() {
    let (limiter, store) = scripted();
    let writes = || store.0.lock().unwrap().writes;
    limiter.tick(START);
    for round in 0..2 {
        for host in 0..3 {
            assert!(is_admitted(&limiter, &[charge(PolicyName::Ip, QUOTA, host)], START).await);
        }
        limiter.tick(START);
        assert_eq!((writes(), store.count()), (2 * round + 1, 3));
        let is_failing = round == 1;
        store.0.lock().unwrap().is_failing = is_failing;
        let reset = limiter.reset(WindowSet::All).await;
        assert_eq!(reset.is_err(), is_failing, "{reset:?}");
        let left = if is_failing { 3 } else { 0 };
        for _ in 0..2 {
            assert_eq!((writes(), store.count()), (2 * round + 2, left));
            limiter.tick(START);
        }
    }
    store.0.lock().unwrap().is_failing = false;
    sweep(&limiter, START);
    assert_eq!((limiter.windows(), store.count()), (0, 0));
}

#[tokio::test]
async fn a_store_that_is_mostly_garbage_is_replaced() {
    let (limiter, store) = scripted();
    let replacements = || store.0.lock().unwrap().replacements;
    admit_each(&limiter, QUOTA, [1]).await;
    let check = |bytes_on_disk: u64, now: Timestamp, expected: usize, why: &str| {
        store.0.lock().unwrap().bytes_on_disk = bytes_on_disk;
        sweep(&limiter, now);
        sweep(&limiter, now);
        assert_eq!(replacements(), expected, "{why}");
    };
    check(8 << 20, START, 1, "too small to matter");
    check(16 << 20, START, 2, "large for one window");
    check(8 << 20, START, 2, "no larger than allowed");
    check(40 << 20, START, 3, "grown");
    assert_eq!(store.count(), 1);
    admit_each(&limiter, QUOTA, 0..100).await;
    check(88 << 20, START, 4, "grown again, though it holds more");
    check(88 << 20, START.plus_ms(60_000), 5, "all expired");
}

#[tokio::test]
async fn a_start_writes_nothing_and_its_first_tick_replaces_what_is_not_sound() {
    for (is_sound, expected) in [(true, (1, 0)), (false, (0, 1))] {
        let store = ScriptedStore::default();
        store.0.lock().unwrap().is_sound = is_sound;
        let asked = || {
            let script = store.0.lock().unwrap();
            (script.writes, script.replacements)
        };
        let (limiter, _) = over(store.clone());
        admit_each(&limiter, QUOTA, [1]).await;
        assert_eq!(asked(), (0, 0), "{is_sound}");
        limiter.tick(START);
        assert_eq!(asked(), expected, "{is_sound}");
        assert_eq!(limiter.stored(), 1);
    }
}
