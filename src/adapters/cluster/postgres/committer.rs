//! Sign-ups in batches.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::adapters::consent_entry::ConsentEntry;
use crate::domain::{EmailAddress, MacKey, SignUp, Subscription};
use crate::metrics::Metrics;
use crate::ports::StoreError;

use super::connection::Parameters;
use super::link::Link;
use super::rows::{bytea, column, delivery_rows, settings, signer, signers, timestamptz};

/// Most sign-ups in one batch.
const BATCH_LEN_MAX: usize = 64;
/// Longest wait of a batch for a locked row, and then of each of its rows alone. Other sign-ups wait
/// meanwhile.
const BATCH_LOCK: &str = "500ms";
const ROW_LOCK: &str = "20ms";

/// A waiting sign-up.
#[derive(Debug)]
pub(super) struct PendingSignUp {
    pub(super) sign_up: SignUp,
    /// An id of its own.
    pub(super) id: Uuid,
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<Subscription, StoreError>>,
    /// Its permit to wait.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// Sorted by address, so that all nodes lock rows in the same order.
type Batch = BTreeMap<EmailAddress, PendingSignUp>;

/// Sends the batches.
pub(super) struct Committer {
    link: Link,
    /// The only statement. A row that has already seen this very sign-up is left unchanged.
    upsert: String,
    tombstone_keys: Vec<MacKey>,
    metrics: Arc<Metrics>,
}

impl Committer {
    pub(super) fn new(link: Link, tombstone_keys: Vec<MacKey>, metrics: Arc<Metrics>) -> Self {
        Self {
            link,
            upsert: settings("$2") + include_str!("upsert.sql"),
            tombstone_keys,
            metrics,
        }
    }

    /// Stores the sign-ups of the queue, until it is closed.
    pub(super) async fn run(self, mut queue: mpsc::UnboundedReceiver<PendingSignUp>) {
        let mut waiting = Vec::new();
        loop {
            if waiting.is_empty() && queue.recv_many(&mut waiting, BATCH_LEN_MAX).await == 0 {
                return;
            }
            // Callers that were answered together often have the next sign-up ready.
            yield_now().await;
            while let Ok(next) = queue.try_recv() {
                waiting.push(next);
            }
            let batch = next_batch(&mut waiting);
            // A panic fails the batch, not the committer: the waiting callers get an error.
            let _ = AssertUnwindSafe(self.settle(batch)).catch_unwind().await;
        }
    }

    /// Stores the sign-ups together. If one of their rows is locked, stores them one by one, so that the others do not
    /// fail with it.
    async fn settle(&self, batch: Batch) {
        let stored = self.store(&batch, BATCH_LOCK).await;
        if !matches!(stored, Err(StoreError::Overloaded)) {
            return answer(batch, stored);
        }
        let awaited = |(_, waiting): &(_, PendingSignUp)| !waiting.answer.is_closed();
        for row in batch.into_iter().filter(awaited) {
            let row = Batch::from([row]);
            let stored = self.store(&row, ROW_LOCK).await;
            answer(row, stored);
        }
    }

    async fn store(&self, batch: &Batch, lock_timeout: &str) -> Result<Vec<Row>, StoreError> {
        let rows = batch.values().map(|waiting| self.row(waiting)).collect();
        let notices = batch.values().filter_map(|one| one.sign_up.notice.as_ref());
        let parameters: Parameters<'_> = &[
            (&Value::Array(rows).to_string(), Type::TEXT),
            (&lock_timeout, Type::TEXT),
            (&delivery_rows(notices), Type::TEXT),
        ];
        let begun = Instant::now();
        let deadlines = batch.values().map(|waiting| waiting.deadline);
        let Some(deadline) = deadlines.max() else {
            return Ok(Vec::new());
        };
        let stored = self.link.ask(&self.upsert, parameters, deadline).await;
        match &stored {
            Ok(_) => self.metrics.record_commit(batch.len(), begun.elapsed()),
            Err(StoreError::Overloaded) => {}
            Err(_) => self.metrics.ledger.failed.increase(),
        }
        stored
    }

    fn row(&self, waiting: &PendingSignUp) -> Value {
        let sign_up = &waiting.sign_up;
        let tombstones = tombstones(&self.tombstone_keys, [&sign_up.email]);
        let tombstones: Vec<_> = tombstones.iter().map(|hash| bytea(hash)).collect();
        json!({
            "email": sign_up.email.as_str(),
            "id": waiting.id.to_string(),
            "signer": bytea(&signer(&sign_up.origin)),
            "at": timestamptz(sign_up.at),
            "consent": ConsentEntry::from(&sign_up.consent),
            "token": bytea(sign_up.leave_token.as_bytes()),
            "asked": sign_up.is_to_be_confirmed,
            "digest": sign_up.consent.text.map(|digest| bytea(digest.as_bytes())),
            "text": sign_up.consent.text.and(sign_up.consent_text.as_deref()),
            "tombstones": tombstones,
        })
    }
}

/// The hashes under which these addresses may be remembered as forgotten: all under the first key, then under the next.
pub(super) fn tombstones<'a>(
    keys: &[MacKey],
    emails: impl IntoIterator<Item = &'a EmailAddress> + Clone,
) -> Vec<Vec<u8>> {
    let hashes = keys.iter().flat_map(|key| {
        let emails = emails.clone().into_iter();
        emails.map(|email| email.tombstone(key).to_vec())
    });
    hashes.collect()
}

/// Takes the next sign-ups in order, one per address, without those that nobody waits for any more.
fn next_batch(waiting: &mut Vec<PendingSignUp>) -> Batch {
    let mut batch = Batch::new();
    let mut rest = Vec::new();
    for next in waiting.drain(..).filter(|next| !next.answer.is_closed()) {
        let is_taken = batch.contains_key(&next.sign_up.email);
        if batch.len() < BATCH_LEN_MAX && !is_taken {
            batch.insert(next.sign_up.email.clone(), next);
        } else {
            rest.push(next);
        }
    }
    *waiting = rest;
    batch
}

/// Tells the waiting callers. Sending fails if a caller is gone.
fn answer(mut batch: Batch, stored: Result<Vec<Row>, StoreError>) {
    let omitted = StoreError::Unavailable("the database omitted a sign-up".to_owned());
    let (rows, rest) = match stored {
        Ok(rows) => (rows, omitted),
        Err(error) => (Vec::new(), error),
    };
    for row in &rows {
        let email = column(row, 0).map(EmailAddress::from_stored);
        if let Some(waiting) = email.ok().and_then(|email| batch.remove(&email)) {
            let subscription = subscription(&waiting, row);
            let _ = waiting.answer.send(subscription);
        }
    }
    for waiting in batch.into_values() {
        let _ = waiting.answer.send(Err(rest.clone()));
    }
}

fn subscription(waiting: &PendingSignUp, row: &Row) -> Result<Subscription, StoreError> {
    let id: Uuid = column(row, 1)?;
    if id == waiting.id {
        return Ok(Subscription::Created);
    }
    let earlier: Vec<Vec<u8>> = column(row, 2)?;
    let by_same_client = signers(&earlier).renew(waiting.sign_up.origin);
    Ok(Subscription::Renewed { by_same_client })
}
