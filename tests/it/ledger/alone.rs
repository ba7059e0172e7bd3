//! A caller who is alone commits on its own thread; as soon as others come, the ledger's thread
//! does it for all. Nobody can tell by what the ledger says.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use landing_api::adapters::store::Tuning;
use landing_api::domain::contact::Subscription;
use landing_api::ports::{ContactStore, StoreError};
use tokio::task::{JoinSet, spawn_blocking, yield_now};

use super::faults::{FaultyFiles, WRITE_FAULTS, assert_unavailable, open_with_faults, set};
use crate::fixtures::{House, Opened, Waiting, sign_up};

type SigningUp = Pin<Box<dyn Future<Output = Result<Subscription, StoreError>> + Send>>;

/// Signs "ada" up until nobody else seems to be there.
async fn grow_quiet(opened: &Opened) {
    for _ in 0..20 {
        opened.sign_up("ada").await.unwrap();
    }
}

/// Opens a store whose next caller commits on its own thread.
async fn open_quiet(house: &House, files: &FaultyFiles) -> Opened {
    let opened = house.try_open(files.tuning()).unwrap();
    grow_quiet(&opened).await;
    assert_eq!(files.appended_by(), thread::current().id());
    opened
}

/// Hands a sign-up in. Nobody waits for it yet.
fn begin(
    opened: &Opened,
    name: &'static str,
) -> (SigningUp, Poll<Result<Subscription, StoreError>>) {
    let store = Arc::clone(&opened.store);
    let mut signing_up: SigningUp = Box::pin(async move { sign_up(&store, name).await });
    let polled = signing_up
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    (signing_up, polled)
}

/// Hands a sign-up in that has to wait.
fn begin_to_wait(opened: &Opened, name: &'static str) -> Waiting {
    let (signing_up, polled) = begin(opened, name);
    assert_eq!(polled, Poll::Pending, "{name}");
    tokio::spawn(signing_up)
}

/// Who signed up how, in the order of the ledger: the name of each line, and its batch.
fn lines(house: &House) -> Vec<(String, u64)> {
    let line = |line: &str| {
        let after = |mark: &str| line.split_once(mark).unwrap().1;
        let name = after("\"email\":\"").split_once('@').unwrap().0;
        let batch = after("\"batch\":").split_once(',').unwrap().0;
        (name.to_owned(), batch.parse().unwrap())
    };
    house.ledger_text().lines().skip(1).map(line).collect()
}

fn names(house: &House) -> Vec<String> {
    lines(house)
        .into_iter()
        .map(|(name, _batch)| name)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_caller_commits_on_its_own_thread_once_it_has_been_alone_for_a_while() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = house.try_open(files.tuning()).unwrap();
    opened.sign_up("first").await.unwrap();
    let ledgers = files.appended_by();
    assert_ne!(ledgers, thread::current().id());
    grow_quiet(&opened).await;
    assert_eq!(files.appended_by(), thread::current().id());
    // The same holds for a task on one of the runtime's own threads.
    let store = Arc::clone(&opened.store);
    let task = tokio::spawn(async move {
        let own = thread::current().id();
        assert_eq!(sign_up(&store, "second").await, Ok(Subscription::Created));
        own
    });
    let own = task.await.unwrap();
    assert_eq!(files.appended_by(), own);
    assert!(own != ledgers && own != thread::current().id());
    opened.assert_has(&["first", "ada", "second"], &[]).await;
}

#[tokio::test]
async fn a_runtime_of_one_thread_is_never_held_up() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_with_faults(&house, &files).await;
    let ledgers = files.appended_by();
    assert_ne!(ledgers, thread::current().id());
    grow_quiet(&opened).await;
    assert_eq!(files.appended_by(), ledgers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_meanwhile_shares_a_batch_on_the_ledgers_thread() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_quiet(&house, &files).await;
    let held = files.hold();
    let lone = opened.spawn_sign_up("lone");
    let released = held.wait();
    let waiting = ["a", "b", "gone", "a", "c"].map(|name| begin_to_wait(&opened, name));
    waiting[2].abort();
    released.send(()).unwrap();

    assert_eq!(lone.await.unwrap(), Ok(Subscription::Created));
    let mut created = Vec::new();
    for answer in waiting {
        created.push(answer.await.ok() == Some(Ok(Subscription::Created)));
    }
    assert_eq!(created, [true, true, false, false, true]);
    let lines = lines(&house);
    let (alone, together) = lines[20..].split_at(1);
    assert_eq!(alone[0].0, "lone");
    let batch = alone[0].1 + 1;
    let expected = ["a", "b", "gone", "a", "c"].map(|name| (name.to_owned(), batch));
    assert_eq!(together, expected, "even if whoever asked has gone");

    // Whoever comes next is not taken for a lone caller.
    let by_thread = files.appended_by();
    opened.sign_up("d").await.unwrap();
    assert_eq!(files.appended_by(), by_thread);
    assert_ne!(by_thread, thread::current().id());
    grow_quiet(&opened).await;
    assert_eq!(files.appended_by(), thread::current().id(), "until later");
}

/// Many callers at once, then one alone, and so on: each change is there once, behind what its
/// caller had been told before.
async fn check_crowds() {
    const CALLERS: usize = 16;
    const ROUNDS: usize = 3;
    const CHANGES: usize = 10;
    let house = House::new();
    let opened = house.open();
    for round in 0..ROUNDS {
        let mut crowd = JoinSet::new();
        for caller in 0..CALLERS {
            let store = Arc::clone(&opened.store);
            crowd.spawn(async move {
                let mut firsts = 0;
                for change in 0..CHANGES {
                    let own = format!("{round}-{caller}-{change}");
                    let created = sign_up(&store, &own).await;
                    assert_eq!(created, Ok(Subscription::Created), "{own}");
                    let shared = format!("{round}-{change}");
                    let is_first = sign_up(&store, &shared).await == Ok(Subscription::Created);
                    firsts += usize::from(is_first);
                }
                firsts
            });
        }
        let firsts: usize = crowd.join_all().await.into_iter().sum();
        assert_eq!(firsts, CHANGES, "each address is new to one caller");
        for _ in 0..2 {
            grow_quiet(&opened).await;
        }
    }
    opened.stop();

    let names = names(&house);
    assert_eq!(names.len(), ROUNDS * (CALLERS * CHANGES * 2 + 40));
    for round in 0..ROUNDS {
        for caller in 0..CALLERS {
            let prefix = format!("{round}-{caller}-");
            let own = names.iter().filter_map(|name| name.strip_prefix(&prefix));
            assert!(own.eq((0..CHANGES).map(|change| change.to_string())));
        }
    }
    let (_opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_many_callers_arrive_once_and_in_order_on_many_threads() {
    check_crowds().await;
}

#[tokio::test]
async fn changes_of_many_callers_arrive_once_and_in_order_on_one_thread() {
    check_crowds().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_waits_for_a_lone_caller_and_takes_nothing_more() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_quiet(&house, &files).await;
    let held = files.hold();
    let lone = opened.spawn_sign_up("lone");
    let released = held.wait();
    let waiting = begin_to_wait(&opened, "waiting");
    let store = Arc::clone(&opened.store);
    let closing = spawn_blocking(move || store.close());
    // Those that come before it wait, too, and nobody asks what becomes of them.
    while !matches!(
        begin(&opened, "waiting").1,
        Poll::Ready(Err(StoreError::Unavailable(_)))
    ) {
        yield_now().await;
    }
    assert!(!closing.is_finished());
    released.send(()).unwrap();

    assert_eq!(lone.await.unwrap(), Ok(Subscription::Created));
    assert_eq!(waiting.await.unwrap(), Ok(Subscription::Created));
    assert_eq!(closing.await.unwrap(), Ok(()));
    assert_eq!(opened.store.close(), Ok(()));
    assert_unavailable(opened.sign_up("late").await);
    assert_unavailable(opened.store.check().await);
    drop(opened);
    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    opened.assert_has(&["lone", "waiting"], &["late"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_a_lone_caller_is_left_to_the_ledgers_thread() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_quiet(&house, &files).await;
        let before = house.ledger();
        set(files.fault(fault), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_eq!(files.appended_by(), thread::current().id(), "{name}");
        assert_eq!(house.ledger(), before, "{name}");
        assert_unavailable(opened.sign_up("bob").await);
        assert_ne!(files.appended_by(), thread::current().id(), "{name}");
        assert_unavailable(opened.store.check().await);
        opened.assert_has(&["ada"], &["bob"]).await;

        set(files.fault(fault), false);
        assert_eq!(opened.sign_up("bob").await, Ok(Subscription::Created));
        assert_ne!(files.appended_by(), thread::current().id(), "{name}");
        assert_eq!(opened.store.check().await, Ok(()), "{name}");
        grow_quiet(&opened).await;
        assert_eq!(files.appended_by(), thread::current().id(), "{name}");
        opened.crash();
        house.open().assert_has(&["ada", "bob"], &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lone_caller_makes_due_is_left_to_the_ledgers_thread() {
    let house = House::new();
    let files = FaultyFiles::default();
    let tuning = Tuning {
        dead_lines_min: 40,
        ..files.tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    let own = thread::current().id();
    let mut by_own = 0;
    // Two of the lines count: the first, and the last.
    while lines(&house).len() < 41 {
        opened.sign_up("ada").await.unwrap();
        by_own += usize::from(files.appended_by() == own);
    }
    let first_generation = files.created_by();
    assert!(by_own > 20, "{by_own}");
    opened.sign_up("ada").await.unwrap();
    assert_eq!(files.appended_by(), own);
    // The last one that the ledger takes as it is.
    opened.sign_up("ada").await.unwrap();
    opened.stop();
    assert_eq!(lines(&house).len(), 2, "it was written anew");
    assert_ne!(files.created_by(), first_generation);
    assert_ne!(files.created_by(), own);
}

/// The store after a fault of its own that it could not expect, in the sign-up of "bob".
async fn check_gone(house: &House, opened: Opened) {
    assert_unavailable(opened.store.check().await);
    assert_unavailable(opened.sign_up("cy").await);
    assert_unavailable(opened.sign_up("ada").await);
    opened.assert_has(&["ada"], &["bob", "cy"]).await;
    assert_eq!(opened.store.close(), Ok(()));
    drop(opened);
    house.open().assert_has(&["ada"], &["bob", "cy"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_commits_after_a_lone_caller_that_panicked() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_quiet(&house, &files).await;
    set(files.fault(|faults| &faults.truncate_panic), true);
    set(files.fault(WRITE_FAULTS[0].1), true);
    let bob = opened.spawn_sign_up("bob").await;
    assert!(bob.unwrap_err().is_panic());
    set(files.fault(WRITE_FAULTS[0].1), false);
    check_gone(&house, opened).await;
}

#[tokio::test]
async fn nobody_commits_after_the_ledgers_thread_panicked() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_with_faults(&house, &files).await;
    set(files.fault(|faults| &faults.truncate_panic), true);
    set(files.fault(WRITE_FAULTS[0].1), true);
    let held = files.hold();
    let bob = begin_to_wait(&opened, "bob");
    let released = held.wait();
    let waiting = begin_to_wait(&opened, "cy");
    released.send(()).unwrap();
    assert_unavailable(bob.await.unwrap());
    assert_unavailable(waiting.await.unwrap());
    set(files.fault(WRITE_FAULTS[0].1), false);
    check_gone(&house, opened).await;
}
