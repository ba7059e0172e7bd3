//! The delivery queue. The ledger is the queue: a delivery is due until a line says that it was made or failed,
//! and a compaction drops it together with that line. A file in the data directory holds a channel.

use std::sync::Arc;

use async_trait::async_trait;

use crate::adapters::files::data_dir::{create_empty, held};
use crate::adapters::files::remove_for_good;
use crate::domain::{
    Channel, Delivery, DeliveryId, EmailAddress, QueueStanding, Settled, Timestamp, Turn,
};
use crate::ports::{DeliveryQueue, PageStream, StoreError};

use super::draft::Draft;
use super::generation::{Generation, log_unreadable};
use super::record::{Content as _, Flaw, Identity, State};
use super::store::LedgerStore;

#[async_trait]
impl DeliveryQueue for LedgerStore {
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError> {
        let at = deliveries.last().map(|delivery| delivery.queued_at);
        self.submit(at, move |draft| draft.queue(deliveries)).await
    }

    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        if self.held.lock().contains(&channel) {
            return Ok(Vec::new());
        }
        // A failing disk must not cause repeated deliveries.
        while let Some(settled) = self.next_unsettled() {
            self.settle(settled, now).await?;
        }
        let (generation, due) = {
            let mut taken = self.taken.lock();
            // Under the lock, so that everything released is settled in this generation.
            let generation = self.current.generation();
            let index = generation.table().deliveries();
            let due = index.take_due(&mut taken, channel, count, turn, now);
            (generation, due)
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let ids = due.clone();
        let read = self.blocking(move || read(&generation, &ids)).await;
        read.inspect_err(|_error| self.set_released(&due))
    }

    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        let kept = self.keep_settled(settled.clone(), now).await;
        if kept.is_err() {
            self.unsettled.lock().push(settled);
        }
        kept
    }

    fn release(&self, channel: Channel) {
        self.taken.lock().retain(|_, taken| *taken != channel);
    }

    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.look_up(Identity::delivery(id)).await
    }

    async fn list(&self) -> Result<PageStream<Delivery>, StoreError> {
        Ok(self.pages(Delivery::of))
    }

    async fn retry(&self, id: Option<DeliveryId>, now: Timestamp) -> Result<u64, StoreError> {
        let ids = match id {
            Some(id) => vec![id],
            None => {
                let generation = self.current.generation();
                generation.table().deliveries().retryable(now)
            }
        };
        self.for_each(ids, now, move |draft, id| retry(draft, id, now))
            .await
    }

    async fn drop_one(&self, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError> {
        self.submit(Some(now), move |draft| draft.remove(Identity::delivery(id)))
            .await
    }

    async fn drop_dead(&self, now: Timestamp) -> Result<u64, StoreError> {
        let dead = self.current.generation().table().deliveries().dead();
        let too_many = dead.len().saturating_sub(Delivery::DEAD_KEPT_MAX);
        let is_dropped = |number: usize, at: Timestamp| {
            number < too_many || at.plus_ms(Delivery::DEAD_KEPT_MS) <= now
        };
        let dropped = dead.into_iter().enumerate();
        let dropped = dropped.filter(|(number, (at, _))| is_dropped(*number, *at));
        let dropped: Vec<_> = dropped.map(|(_, (_, id))| id).collect();
        self.for_each(dropped, now, |draft, id| {
            draft.remove(Identity::delivery(id))
        })
        .await
    }

    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError> {
        let (files, path) = (Arc::clone(&self.files), held(&self.directory, channel));
        let change = move || match is_held {
            true => create_empty(files.as_ref(), &path),
            false => remove_for_good(files.as_ref(), &path),
        };
        self.blocking(move || change().map_err(Flaw::Io)).await?;
        let mut held = self.held.lock();
        match is_held {
            true => held.insert(channel),
            false => held.remove(&channel),
        };
        Ok(())
    }

    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError> {
        let generation = self.current.generation();
        Ok(QueueStanding {
            is_held: self.held.lock().contains(&channel),
            ..generation.table().deliveries().standing(channel)
        })
    }
}

impl LedgerStore {
    /// Stores the outcomes of deliveries, and releases them.
    async fn keep_settled(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        let ids = settled.failed.iter().map(|delivery| delivery.id);
        let ids: Vec<_> = settled.made.iter().copied().chain(ids).collect();
        let kept = self.submit(Some(now), move |draft| {
            for id in settled.made {
                draft.attempt_unless_damaged(|draft| draft.remove(Identity::delivery(id)))?;
            }
            for delivery in settled.failed {
                draft.attempt_unless_damaged(|draft| {
                    let is_there = draft.find(&Identity::delivery(delivery.id))?.is_some();
                    if is_there {
                        draft.put(State::Delivery(delivery))?;
                    }
                    Ok(is_there)
                })?;
            }
            for (email, outcome) in settled.mails {
                draft.attempt_unless_damaged(|draft| {
                    let known = draft.get(&Identity::contact(&email))?;
                    draft.change(known, None, |contact| contact.note_mail(outcome, now))
                })?;
            }
            Ok(())
        });
        kept.await?;
        self.set_released(&ids);
        Ok(())
    }

    /// An outcome that could not be stored yet.
    fn next_unsettled(&self) -> Option<Settled> {
        self.unsettled.lock().pop()
    }

    /// Releases deliveries that were taken.
    fn set_released(&self, ids: &[DeliveryId]) {
        let mut taken = self.taken.lock();
        for id in ids {
            taken.remove(id);
        }
    }

    /// Number of deliveries to or about these addresses that are being attempted right now.
    pub(super) fn count_in_flight(&self, emails: &[EmailAddress]) -> u64 {
        let generation = self.current.generation();
        let index = generation.table().deliveries();
        let naming = emails.iter().flat_map(|email| index.naming(email.as_str()));
        let taken = self.taken.lock();
        naming.filter(|id| taken.contains_key(id)).count() as u64
    }
}

fn read(generation: &Generation, ids: &[DeliveryId]) -> Result<Vec<Delivery>, Flaw> {
    let mut deliveries = Vec::with_capacity(ids.len());
    for id in ids {
        match generation.find(&Identity::delivery(*id)) {
            // It stays taken, so that it does not block others.
            Err(Flaw::Unreadable(place)) => log_unreadable(place),
            found => deliveries.extend(found?.and_then(|(_, state)| Delivery::of(state))),
        }
    }
    Ok(deliveries)
}

/// Makes a delivery due, if it exists.
fn retry(draft: &mut Draft<'_>, id: DeliveryId, now: Timestamp) -> Result<bool, Flaw> {
    let Some(mut delivery) = draft.get::<Delivery>(&Identity::delivery(id))? else {
        return Ok(false);
    };
    delivery.retry(now);
    draft.put(State::Delivery(delivery))?;
    Ok(true)
}
