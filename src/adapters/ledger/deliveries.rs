//! The delivery queue. The ledger is the queue: a delivery is due until a line says that it was made or failed,
//! and a compaction drops it together with that line. A file in the data directory holds a channel.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::adapters::files::data_dir::mark_held;
use crate::adapters::files::remove_for_good;
use crate::domain::{
    Channel, Contact, Delivery, DeliveryId, EmailAddress, MailOutcome, QueueStanding, Settled,
    Timestamp, Turn,
};
use crate::ports::{DeliveryQueue, ERASED_MAX, PageStream, StoreError};

use super::draft::Draft;
use super::generation::{Generation, ledger_failed, log_unreadable};
use super::record::{DeliveryEntry, Event, EventLines, Flaw, Hex, Identity, Place};
use super::store::LedgerStore;

#[async_trait]
impl DeliveryQueue for LedgerStore {
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError> {
        self.commit(move |draft| deliveries.iter().try_for_each(|new| queue(draft, new)))
            .await
    }

    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        if self.deliveries.is_held(channel) {
            return Ok(Vec::new());
        }
        if let Some(settled) = self.deliveries.take_unsettled() {
            self.settle(settled, now).await?;
        }
        let generation = self.shared.generation();
        let due = self.deliveries.take(&generation, channel, count, turn, now);
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let taken = due.clone();
        let read = self.read(move || read(&generation, &taken)).await;
        read.inspect_err(|_error| self.deliveries.end(&due))
    }

    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        let kept = self.keep_settled(settled.clone(), now).await;
        if kept.is_err() {
            self.deliveries.add_unsettled(settled);
        }
        kept
    }

    fn release(&self, channel: Channel) {
        self.deliveries.release(channel);
    }

    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        let found = self.look_up(identity(id)).await?;
        Ok(found.and_then(Event::into_delivery))
    }

    async fn list(&self) -> Result<PageStream<Delivery>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::DeliveryQueued(_));
        Ok(self.pages(is_wanted, Event::into_delivery))
    }

    async fn retry(&self, id: Option<DeliveryId>, now: Timestamp) -> Result<u64, StoreError> {
        let ids = match id {
            Some(id) => vec![id],
            None => {
                let generation = self.shared.generation();
                generation.table().deliveries().retryable(now)
            }
        };
        self.for_each(ids, move |draft, id| retry(draft, id, now))
            .await
    }

    async fn drop_one(&self, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError> {
        self.commit(move |draft| remove(draft, id, now)).await
    }

    async fn drop_dead(&self, now: Timestamp) -> Result<u64, StoreError> {
        let dead = self.shared.generation().table().deliveries().dead();
        let too_many = dead.len().saturating_sub(Delivery::DEAD_KEPT_MAX);
        let is_dropped = |number: usize, at: Timestamp| {
            number < too_many || at.plus_ms(Delivery::DEAD_KEPT_MS) <= now
        };
        let dropped = dead.into_iter().enumerate();
        let dropped = dropped.filter(|(number, (at, _))| is_dropped(*number, *at));
        let dropped: Vec<_> = dropped.map(|(_, (_, id))| id).collect();
        self.for_each(dropped, move |draft, id| remove(draft, id, now))
            .await
    }

    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError> {
        let (files, path) = (Arc::clone(&self.files), self.deliveries.held_file(channel));
        let changed = spawn_blocking(move || match is_held {
            true => mark_held(files.as_ref(), &path),
            false => remove_for_good(files.as_ref(), &path),
        });
        let changed = changed.await.map_err(|_panic| self.shared.unavailable())?;
        changed.map_err(ledger_failed)?;
        self.deliveries.set_held(channel, is_held);
        Ok(())
    }

    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError> {
        let generation = self.shared.generation();
        Ok(QueueStanding {
            is_held: self.deliveries.is_held(channel),
            ..generation.table().deliveries().standing(channel)
        })
    }
}

impl LedgerStore {
    /// Changes each of many deliveries, in batches short enough for waiting sign-ups. Returns the number of
    /// changed deliveries.
    async fn for_each(
        &self,
        ids: Vec<DeliveryId>,
        change: impl Fn(&mut Draft<'_>, DeliveryId) -> Result<bool, StoreError> + Copy + Send + 'static,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        for ids in ids.chunks(ERASED_MAX) {
            let ids = ids.to_vec();
            let changed = self.commit(move |draft| {
                ids.into_iter().try_fold(0, |count, id| {
                    let changed =
                        draft.attempt_unless_damaged(&identity(id), |draft| change(draft, id));
                    Ok(count + u64::from(changed?))
                })
            });
            count += changed.await?;
        }
        Ok(count)
    }

    /// Stores the outcomes of deliveries, and releases them.
    async fn keep_settled(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        let ids = settled.failed.iter().map(|delivery| delivery.id);
        let ids: Vec<_> = settled.made.iter().copied().chain(ids).collect();
        let kept = self.commit(move |draft| {
            for id in settled.made {
                draft.attempt_unless_damaged(&identity(id), |draft| remove(draft, id, now))?;
            }
            for delivery in settled.failed {
                let identity = identity(delivery.id);
                draft.attempt_unless_damaged(&identity, |draft| {
                    let is_there = draft.find(&identity)?.is_some();
                    if is_there {
                        draft.record(Event::DeliveryTried(DeliveryEntry::new(&delivery, now)))?;
                    }
                    Ok(is_there)
                })?;
            }
            for (email, outcome) in settled.mails {
                let identity = Identity::contact(email.as_str());
                draft.attempt_unless_damaged(&identity, |draft| {
                    note_mail(draft, &identity, outcome, now)
                })?;
            }
            Ok(())
        });
        kept.await?;
        self.deliveries.end(&ids);
        Ok(())
    }

    /// Number of deliveries to or about these addresses that are being attempted right now.
    pub(super) fn count_in_flight(&self, emails: &[EmailAddress]) -> u64 {
        let generation = self.shared.generation();
        let index = generation.table().deliveries();
        let naming = emails.iter().flat_map(|email| index.naming(email.as_str()));
        self.deliveries.count_in_flight(naming)
    }
}

/// Number of pending deliveries in the ledger at `path`.
pub(in crate::adapters) fn waiting_deliveries(path: &Path) -> Result<u64, Flaw> {
    let mut waiting = HashSet::new();
    for line in EventLines::new(&File::open(path)?, 0, Place::MAX) {
        let (_, Some(event)) = line? else { continue };
        if let Some(state) = event.delivery() {
            match state.dead_at {
                None => waiting.insert(state.id()),
                Some(_) => waiting.remove(&state.id()),
            };
        } else if let Event::DeliveryDone { id, .. } = event {
            waiting.remove(&DeliveryId::from_bytes(id.0));
        }
    }
    Ok(waiting.len() as u64)
}

fn read(generation: &Generation, ids: &[DeliveryId]) -> Result<Vec<Delivery>, Flaw> {
    let mut deliveries = Vec::with_capacity(ids.len());
    for id in ids {
        match generation.find(&identity(*id)) {
            // It stays taken, so that it does not block others.
            Err(Flaw::Unreadable(place)) => log_unreadable(place),
            found => deliveries.extend(found?.and_then(|(_, event)| event.into_delivery())),
        }
    }
    Ok(deliveries)
}

fn identity(id: DeliveryId) -> Identity {
    Identity::delivery(id.as_bytes())
}

pub(super) fn queue(draft: &mut Draft<'_>, delivery: &Delivery) -> Result<(), StoreError> {
    let queued_at = delivery.queued_at;
    draft.record(Event::DeliveryQueued(DeliveryEntry::new(
        delivery, queued_at,
    )))
}

/// Makes a delivery due, if it exists.
fn retry(draft: &mut Draft<'_>, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError> {
    let found = draft.find(&identity(id))?.cloned();
    let Some(mut delivery) = found.and_then(Event::into_delivery) else {
        return Ok(false);
    };
    delivery.retry(now);
    draft.record(Event::DeliveryTried(DeliveryEntry::new(&delivery, now)))?;
    Ok(true)
}

/// Records the outcome of the email that asks the contact to confirm, if the contact is still unconfirmed.
fn note_mail(
    draft: &mut Draft<'_>,
    identity: &Identity,
    outcome: MailOutcome,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let found = draft.find(identity)?.cloned();
    let contact = found.and_then(Event::into_contact);
    let Some(mut contact) = contact.filter(Contact::is_pending) else {
        return Ok(false);
    };
    if let Some(confirmation) = contact.confirmation.as_mut() {
        confirmation.note_mail(outcome, now);
        draft.record(Event::ContactConfirmed((&contact).into()))?;
    }
    Ok(true)
}

/// Removes a delivery, if it exists.
fn remove(draft: &mut Draft<'_>, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError> {
    if draft.find(&identity(id))?.is_none() {
        return Ok(false);
    }
    draft.record(Event::DeliveryDone {
        id: Hex(*id.as_bytes()),
        at: now.as_ms(),
    })?;
    Ok(true)
}

/// Removes the deliveries that contain an address.
pub(super) fn remove_naming(
    draft: &mut Draft<'_>,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<(), StoreError> {
    let is_naming = |event: &Event| {
        let state = event.delivery();
        state.is_some_and(|entry| entry.email.as_deref() == Some(email.as_str()))
    };
    for id in draft.naming(email.as_str()) {
        if draft.find(&identity(id))?.is_some_and(is_naming) {
            remove(draft, id, now)?;
        }
    }
    Ok(())
}
