//! Faults that cannot be caused from outside.

use std::fs;
use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::adapters::data_dir::DataDir;
use crate::adapters::system::SystemEntropy;
use crate::domain::agent::Registration;
use crate::domain::contact::{Origin, OriginHash, SignUp, Signers, Subscription};
use crate::domain::credential::{Fingerprint, KeyId, KeyRecord};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, KeyIssuer, RevocationList, StoreError, StoreMaintenance};

use super::index::{CredentialMap, IndexError};
use super::record::{Event, LEDGER};
use super::store::LedgerStore;

const NOW: Timestamp = Timestamp::from_ms(1_000);

fn sign_up(email: &str) -> SignUp {
    SignUp {
        email: EmailAddress::parse(email).unwrap(),
        origin: Origin {
            network: OriginHash::from_bytes([1; 8]),
            credential: None,
        },
        at: NOW,
    }
}

async fn find(store: &LedgerStore, email: &str) -> Result<bool, StoreError> {
    let email = EmailAddress::parse(email).unwrap();
    let contact = ContactStore::find(store, &email).await?;
    Ok(contact.is_some())
}

async fn open(root: &tempfile::TempDir) -> LedgerStore {
    let data_dir = DataDir::open(root.path(), &SystemEntropy).unwrap();
    let store = LedgerStore::open(&data_dir).unwrap();
    store.keep(sign_up("ada@example.com")).await.unwrap();
    store
}

#[tokio::test]
async fn an_index_that_fails_is_made_again_without_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    for _ in 0..2 {
        store.shared.abandon_index();
        assert!(!store.shared.is_sound());
        assert_eq!(find(&store, "ada@example.com").await, Ok(true));
        assert_eq!(ContactStore::check(&store).await, Ok(()));
        let indexes = fs::read_dir(root.path().join("index")).unwrap();
        assert_eq!(indexes.count(), 1, "the old one is removed");
    }
    store.shared.abandon_index();
    let renewed = store.keep(sign_up("ada@example.com")).await.unwrap();
    let by_same_client = true;
    assert_eq!(renewed, Subscription::Renewed { by_same_client });
}

#[tokio::test]
async fn an_index_made_before_an_erasure_ends_is_made_anew_behind_the_compaction() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    let indexes = || -> Vec<_> {
        let found = fs::read_dir(root.path().join("index")).unwrap();
        found.map(|entry| entry.unwrap().file_name()).collect()
    };
    // The disk was full: the addresses stayed in the ledger, and the index failed.
    let repaired = store.run(|writer| {
        writer.is_index_stale = true;
        writer.shared.abandon_index();
        writer.repair()
    });
    repaired.await.unwrap();
    let before = indexes();
    StoreMaintenance::compact(&store).await.unwrap();
    assert_ne!(indexes(), before);
    store.close().unwrap();
}

/// Writes `text` over the ledger's last line, with a checksum that is right.
fn seal_last_line(path: &Path, text: &str) {
    let ledger = fs::read_to_string(path).unwrap();
    let (before, last) = ledger.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(last.len(), text.len());
    let members = &text["{\"crc\":\"".len() + 9..];
    let crc = crc32fast::hash(members.as_bytes());
    fs::write(
        path,
        format!("{before}\n{{\"crc\":\"{crc:08x}\"{members}\n"),
    )
    .unwrap();
}

#[tokio::test]
async fn credentials_are_looked_up_without_an_index_until_there_is_one() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    let key = |seed: u8, expires_at| KeyRecord {
        fingerprint: Fingerprint::from_bytes([seed; 32]),
        id: KeyId::parse("Key00001").unwrap(),
        label: None,
        issued_at: NOW,
        expires_at,
        revoked_at: None,
    };
    let keys = [
        key(1, NOW.plus_ms(1000)),
        key(2, NOW.plus_ms(1000)),
        // It has expired.
        key(3, NOW),
    ];
    for key in &keys {
        store.issue(key.clone()).await.unwrap();
    }
    let [_, revoked, _] = &keys;
    KeyIssuer::revoke(&store, &revoked.fingerprint, NOW)
        .await
        .unwrap();
    let registrations = [1, 2].map(|seed| Registration::new([seed; 16], NOW));
    RevocationList::revoke(&store, &registrations[1], NOW)
        .await
        .unwrap();
    // The clock is years ahead for a moment: what is revoked stays so.
    let late = SignUp {
        at: NOW.plus_ms(10 * 366 * 86_400_000),
        ..sign_up("bob@example.com")
    };
    store.keep(late).await.unwrap();
    for is_indexed in [true, false] {
        if !is_indexed {
            store.shared.abandon_index();
            let credentials = CredentialMap::read(&root.path().join(LEDGER)).unwrap();
            store.shared.set_credentials(credentials);
        }
        for key in &keys {
            let found = KeyIssuer::find(&store, &key.fingerprint).await.unwrap();
            let found = found.filter(|found| found.is_active(NOW));
            assert_eq!(
                found,
                (key.fingerprint == keys[0].fingerprint).then(|| key.clone())
            );
        }
        for (registration, is_revoked) in registrations.iter().zip([false, true]) {
            assert_eq!(store.is_revoked(registration).await, Ok(is_revoked));
        }
        assert_eq!(store.shared.is_sound(), is_indexed);
    }
    // A contact needs the index, which is made again.
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
    assert!(store.shared.is_sound());
}

#[tokio::test]
async fn an_index_that_cannot_be_made_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    let (path, indexes) = (root.path().join(LEDGER), root.path().join("index"));
    let ledger = fs::read_to_string(&path).unwrap();
    let last = ledger.lines().last().unwrap();
    seal_last_line(
        &path,
        &last.replace("contact_subscribed", "contact_subscribeD"),
    );
    store.shared.abandon_index();
    for _ in 0..3 {
        let refused = ContactStore::check(&store).await;
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
        assert!(!indexes.exists());
    }
    seal_last_line(&path, last);
    // It is tried again after a pause.
    let is_made = async { while ContactStore::check(&store).await.is_err() {} };
    timeout(Duration::from_secs(30), is_made).await.unwrap();
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

#[tokio::test]
async fn a_batch_that_cannot_be_decided_is_taken_back() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    let before = fs::read(root.path().join(LEDGER)).unwrap();
    let failed = store.commit(|draft| {
        let email = EmailAddress::parse("bob@example.com").unwrap();
        draft.record(&Event::seen(&email, &Signers::default(), NOW))?;
        Err::<(), _>(IndexError::new("injected"))
    });
    assert!(matches!(failed.await, Err(StoreError::Unavailable(_))));
    assert_eq!(fs::read(root.path().join(LEDGER)).unwrap(), before);
    assert_eq!(ContactStore::check(&store).await, Ok(()));
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

#[tokio::test]
async fn a_change_that_panics_does_not_end_the_writer() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root).await;
    let failed = store.commit(|_draft| -> Result<(), IndexError> { panic!("on purpose") });
    assert!(matches!(failed.await, Err(StoreError::Unavailable(_))));
    let created = store.keep(sign_up("bob@example.com")).await;
    assert_eq!(created, Ok(Subscription::Created));
    assert_eq!(find(&store, "ada@example.com").await, Ok(true));
}

type CommitFuture<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + 'a>>;

/// Hands in changes that become one batch, all of which are decided before this returns.
async fn commit_together(store: &LedgerStore, count: usize) -> Vec<CommitFuture<'_>> {
    let (began, has_begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let (last, is_last) = mpsc::channel();
    let mut first: CommitFuture<'_> = Box::pin(store.commit(move |_draft| {
        began.send(()).unwrap();
        // An error tells the end, too.
        let _ = ends.recv();
        Ok(())
    }));
    hand_in(&mut first).await;
    has_begun.recv().unwrap();
    let mut changes: Vec<CommitFuture<'_>> = Vec::new();
    for number in 1..=count {
        let last = last.clone();
        changes.push(Box::pin(store.commit(move |_draft| {
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

async fn hand_in(change: &mut CommitFuture<'_>) {
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
            let answer = timeout(Duration::from_secs(30), change).await;
            assert_eq!(answer, Ok(Ok(())));
        }
    });
}
