//! Faults that cannot be caused from outside.

use std::fs;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::adapters::files::data_dir::DataDir;
use crate::adapters::system::SystemEntropy;
use crate::domain::{
    Channel, Consent, Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, LeaveToken,
    Origin, OriginHash, SignUp, SignUpWay, Subscription, TextDigest, Timestamp, Turn,
};
use crate::ports::{ContactStore, DeliveryQueue, StoreError, StoreMaintenance};

use super::compaction::Copy;
use super::generation::Generation;
use super::open::Tuning;
use super::record::{Flaw, LEDGER, State, unfinished};
use super::store::LedgerStore;
use super::writer::LedgerWriter;

const NOW: Timestamp = Timestamp::from_ms(1_000);

fn sign_up(email: &str) -> SignUp {
    SignUp {
        notice: None,
        is_to_be_confirmed: false,
        email: EmailAddress::parse(email).unwrap(),
        origin: Origin {
            network: OriginHash::from_bytes([1; 8]),
            credential: None,
        },
        consent: Consent {
            at: NOW,
            way: SignUpWay::Form,
            language: None,
            text: None,
            source: None,
            ip: None,
        },
        consent_text: None,
        leave_token: LeaveToken::from_bytes(*TextDigest::of(email).as_bytes()),
    }
}

async fn find(store: &LedgerStore, email: &str) -> Result<bool, StoreError> {
    let contact = ContactStore::find(store, &EmailAddress::parse(email).unwrap()).await?;
    Ok(contact.is_some())
}

async fn open(root: &tempfile::TempDir) -> LedgerStore {
    let data_dir = DataDir::open(root.path(), &SystemEntropy).unwrap();
    let store = LedgerStore::open(&data_dir).unwrap();
    store.sign_up(sign_up("ada@example.com")).await.unwrap();
    store
}

/// A directory with one contact, and its store.
async fn fresh() -> (tempfile::TempDir, LedgerStore) {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    (root, store)
}

/// Has look-ups miss what was written, as after a panic right after a sync.
fn lose_generation(root: &tempfile::TempDir, store: &LedgerStore) {
    let file = fs::File::open(root.path().join(LEDGER)).unwrap();
    let empty = Generation::empty(file);
    store.current.replace(empty);
}

#[tokio::test]
async fn a_batch_that_cannot_be_decided_is_taken_back() {
    let (root, store) = fresh().await;
    let before = fs::read(root.path().join(LEDGER)).unwrap();
    let failed = store.submit(None, |draft| {
        let email = EmailAddress::parse("bob@example.com").unwrap();
        draft.put(State::Contact(Contact::imported(email, NOW, None, None)))?;
        Err::<(), _>(Flaw::Foreign(0))
    });
    assert!(matches!(failed.await, Err(StoreError::Unavailable(_))));
    assert_eq!(fs::read(root.path().join(LEDGER)).unwrap(), before);
    let created = store.sign_up(sign_up("bob@example.com")).await;
    assert_eq!(created, Ok(Subscription::Created));
    assert_eq!(ContactStore::check(&store), Ok(()));
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

#[tokio::test]
async fn what_cannot_be_decided_has_its_own_answer_before_the_batch_is_written_and_is_not_counted()
{
    let root = tempfile::tempdir().unwrap();
    let data_dir = DataDir::open(root.path(), &SystemEntropy).unwrap();
    let tuning = Tuning::default();
    let store = LedgerStore::open_with(&data_dir, &tuning).unwrap();
    let (first, gather) = hold_writer(&store).await;
    let (end, ends) = mpsc::channel::<()>();
    // These become one batch.
    let mut undecided: SubmitFuture<'_> =
        Box::pin(store.submit(None, |_draft| Err(Flaw::Foreign(7))));
    hand_in(&mut undecided).await;
    let mut stored: SubmitFuture<'_> = Box::pin(store.submit(None, move |draft| {
        let _ = ends.recv();
        let email = EmailAddress::parse("bob@example.com").unwrap();
        draft.put(State::Contact(Contact::imported(email, NOW, None, None)))
    }));
    hand_in(&mut stored).await;
    drop(gather);
    first.await.unwrap();
    let answer = timeout(Duration::from_secs(30), undecided).await;
    let own = StoreError::Unavailable("ledger: format 7 is not supported".to_owned());
    assert_eq!(answer, Ok(Err(own)));
    drop(end);
    assert_eq!(stored.await, Ok(()));
    assert_eq!(tuning.metrics.ledger.changes.get(), 1);
}

#[tokio::test]
async fn a_change_that_panics_does_not_end_the_writer() {
    let (_root, store) = fresh().await;
    let failed = store.submit(None, |_draft| -> Result<(), Flaw> { panic!("on purpose") });
    assert!(matches!(failed.await, Err(StoreError::Unavailable(_))));
    let created = store.sign_up(sign_up("bob@example.com")).await;
    assert_eq!(created, Ok(Subscription::Created));
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

#[tokio::test]
async fn a_batch_that_look_ups_missed_is_shown_before_the_next() {
    let (root, store) = fresh().await;
    lose_generation(&root, &store);
    assert_eq!(find(&store, "ada@example.com").await, Ok(false));
    let renewed = store.sign_up(sign_up("ada@example.com")).await;
    let by_same_client = true;
    assert_eq!(renewed, Ok(Subscription::Renewed { by_same_client }));
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
    StoreMaintenance::compact(&store).await.unwrap();
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

#[tokio::test]
async fn a_taken_delivery_stays_taken_in_any_generation() {
    let (root, store) = fresh().await;
    let (kind, token) = (DeliveryKind::Subscribed, LeaveToken::from_bytes([7; 16]));
    let id = DeliveryId::new(kind, &token, NOW);
    let delivery = Delivery::new(id, kind, None, "body".to_owned(), NOW);
    store.add(vec![delivery]).await.unwrap();
    let take = async || {
        let turn = Turn::default();
        let due = store.take_due(Channel::Webhook, 10, &turn, NOW).await;
        due.unwrap().len()
    };
    assert_eq!(take().await, 1);
    lose_generation(&root, &store);
    store.sign_up(sign_up("bob@example.com")).await.unwrap();
    assert_eq!(take().await, 0);
    store.release(Channel::Webhook);
    assert_eq!(take().await, 1);
    StoreMaintenance::compact(&store).await.unwrap();
    assert_eq!(take().await, 0);
    store.release(Channel::Webhook);
    assert_eq!(take().await, 1);
}

/// A writer on a ledger with one contact, not run by a thread.
fn writer(root: &tempfile::TempDir) -> LedgerWriter {
    runtime().block_on(async { drop(open(root).await) });
    let data_dir = DataDir::open(root.path(), &SystemEntropy).unwrap();
    super::open::open(&data_dir, &Tuning::default()).unwrap()
}

#[test]
fn a_copy_is_gone_on_with_only_while_what_it_is_of_is_the_generation() {
    for is_replaced in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let mut writer = writer(&root);
        let copy = Copy::begin(&writer, &writer.ledger.head.secret).unwrap();
        let copy = copy.run(NOW, &AtomicBool::new(false)).unwrap();
        if is_replaced {
            let same = Generation::of(&writer.ledger).unwrap();
            writer.current.replace(same);
        }
        let switched = writer.switch_to(copy);
        assert_eq!(switched.is_err(), is_replaced, "{switched:?}");
        let number = if is_replaced { 1 } else { 2 };
        assert_eq!(writer.ledger.head.generation, number);
    }
}

#[test]
fn a_copy_that_is_stopped_ends_and_leaves_no_file() {
    let root = tempfile::tempdir().unwrap();
    let writer = writer(&root);
    let copy = Copy::begin(&writer, &writer.ledger.head.secret).unwrap();
    let stopped = copy.run(NOW, &AtomicBool::new(true)).err().unwrap();
    assert!(matches!(stopped, Flaw::Io(error) if error.kind() == ErrorKind::Interrupted));
    assert!(!unfinished(&root.path().join(LEDGER)).exists());
}

type SubmitFuture<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + 'a>>;

/// Holds the writer in a change until the second value is dropped.
async fn hold_writer(store: &LedgerStore) -> (SubmitFuture<'_>, mpsc::Sender<()>) {
    let (began, has_begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let mut held: SubmitFuture<'_> = Box::pin(store.submit(None, move |_draft| {
        began.send(()).unwrap();
        // An error means the end, too.
        let _ = ends.recv();
        Ok(())
    }));
    hand_in(&mut held).await;
    has_begun.recv().unwrap();
    (held, end)
}

/// Submits changes that become one batch, all decided before this returns.
async fn commit_together(store: &LedgerStore, count: usize) -> Vec<SubmitFuture<'_>> {
    let (first, end) = hold_writer(store).await;
    let (last, is_last) = mpsc::channel();
    let mut changes: Vec<SubmitFuture<'_>> = Vec::new();
    for number in 1..=count {
        let last = last.clone();
        changes.push(Box::pin(store.submit(None, move |_draft| {
            if number == count {
                last.send(()).unwrap();
            }
            Ok(())
        })));
    }
    for change in &mut changes {
        hand_in(change).await;
    }
    drop(end);
    first.await.unwrap();
    is_last.recv().unwrap();
    changes
}

async fn hand_in(change: &mut SubmitFuture<'_>) {
    let polled = poll_fn(|context| Poll::Ready(change.as_mut().poll(context))).await;
    assert!(polled.is_pending());
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_caller_that_never_reads_its_answer_delays_no_other_of_the_batch() {
    let root = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = open(&root).await;
        for awaited in 0..3 {
            let mut changes = commit_together(&store, 3).await;
            let answer = timeout(Duration::from_secs(30), &mut changes[awaited]).await;
            assert_eq!(answer, Ok(Ok(())), "{awaited}");
        }
    });
}

#[test]
fn a_batch_is_answered_after_the_runtime_of_the_first_change_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let store = runtime().block_on(open(&root));
    runtime().block_on(async {
        for change in commit_together(&store, 3).await {
            assert_eq!(timeout(Duration::from_secs(30), change).await, Ok(Ok(())));
        }
    });
}
