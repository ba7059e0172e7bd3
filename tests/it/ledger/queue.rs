//! Changes that come together share a batch, each is committed once and in order, and a closed or
//! broken store takes none.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use landing_api::domain::contact::Subscription;
use landing_api::ports::{ContactStore, StoreError};
use tokio::task::{JoinSet, spawn_blocking, yield_now};

use super::faults::{WRITE_FAULTS, assert_unavailable, faulty, set};
use crate::fixtures::{House, Opened, Waiting, sign_up};

type SigningUp = Pin<Box<dyn Future<Output = Result<Subscription, StoreError>> + Send>>;

/// Queues a sign-up. Nobody waits for it yet.
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

/// Queues a sign-up that has to wait.
fn begin_to_wait(opened: &Opened, name: &'static str) -> Waiting {
    let (signing_up, polled) = begin(opened, name);
    assert_eq!(polled, Poll::Pending, "{name}");
    tokio::spawn(signing_up)
}

/// Who signed up, in the order of the ledger: the name of each line, its batch, and how many lines of that
/// are behind it.
fn lines(house: &House) -> Vec<(String, u64, u64)> {
    let line = |line: &str| {
        let after = |mark: &str| line.split_once(mark).unwrap().1;
        let number = |mark: &str| after(mark).split_once(',').unwrap().0.parse().unwrap();
        let name = after("\"email\":\"").split_once('@').unwrap().0;
        (name.to_owned(), number("\"batch\":"), number("\"left\":"))
    };
    house.ledger_text().lines().skip(1).map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_meanwhile_shares_a_batch_even_if_gone_before_the_answer() {
    let (house, files, opened) = faulty([""; 0]).await;
    let held = files.hold();
    let first = opened.spawn_sign_up("first");
    let released = held.wait();
    let waiting = ["a", "b", "gone", "a", "first"].map(|name| begin_to_wait(&opened, name));
    waiting[2].abort();
    released.send(()).unwrap();

    assert_eq!(first.await.unwrap(), Ok(Subscription::Created));
    let mut created = Vec::new();
    for answer in waiting {
        created.push(answer.await.ok() == Some(Ok(Subscription::Created)));
    }
    assert_eq!(created, [true, true, false, false, false]);
    let waited = ["a", "b", "gone", "a", "first"]
        .into_iter()
        .zip((0..5).rev());
    let waited = waited.map(|(name, left)| (name, 2, left));
    let expected = [("first", 1, 0)].into_iter().chain(waited);
    let expected: Vec<_> = expected
        .map(|(name, batch, left)| (name.to_owned(), batch, left))
        .collect();
    assert_eq!(lines(&house), expected);
}

/// Many callers at once, then one alone, and so on: each change is there once, behind what its
/// caller had been told before.
async fn check_crowds() {
    const CALLERS: usize = 16;
    const ROUNDS: usize = 3;
    const CHANGES: usize = 10;
    const ALONE: usize = 40;
    let (house, opened) = House::opened();
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
        opened.sign_up_all(["ada"; ALONE]).await;
    }
    opened.stop();

    let names: Vec<_> = lines(&house).into_iter().map(|line| line.0).collect();
    assert_eq!(names.len(), ROUNDS * (CALLERS * CHANGES * 2 + ALONE));
    for round in 0..ROUNDS {
        for caller in 0..CALLERS {
            let prefix = format!("{round}-{caller}-");
            let own = names.iter().filter_map(|name| name.strip_prefix(&prefix));
            assert!(own.eq((0..CHANGES).map(|change| change.to_string())));
        }
    }
    house.open_quietly();
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
async fn a_close_waits_for_what_is_queued_and_takes_nothing_more() {
    let (house, files, opened) = faulty([""; 0]).await;
    let held = files.hold();
    let first = opened.spawn_sign_up("first");
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

    assert_eq!(first.await.unwrap(), Ok(Subscription::Created));
    assert_eq!(waiting.await.unwrap(), Ok(Subscription::Created));
    assert_eq!(closing.await.unwrap(), Ok(()));
    assert_eq!(opened.store.close(), Ok(()));
    assert_unavailable(opened.sign_up("late").await);
    assert_unavailable(opened.store.check());
    drop(opened);
    let opened = house.open_quietly();
    opened.assert_has(&["first", "waiting"], &["late"]).await;
}

#[tokio::test]
async fn nothing_is_committed_while_the_writer_panics() {
    let (house, files, opened) = faulty(["ada"]).await;
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
    assert_unavailable(opened.store.check());
    assert_unavailable(opened.sign_up("cy").await);
    assert_unavailable(opened.sign_up("ada").await);
    opened.assert_has(&["ada"], &["bob", "cy"]).await;
    // Unlike before, it goes on once that is over.
    set(files.fault(|faults| &faults.truncate_panic), false);
    opened.recovers().await;
    assert_eq!(opened.sign_up("dan").await, Ok(Subscription::Created));
    opened.stop();
    let opened = house.open();
    opened.assert_has(&["ada", "dan"], &["bob", "cy"]).await;
}
