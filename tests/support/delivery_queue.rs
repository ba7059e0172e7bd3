//! What is to be delivered, in the twin of contacts.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::delivery::{Channel, Delivery, DeliveryId, QueueStanding, Settled, Turn};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{DeliveryQueue, PageStream, StoreError};

use super::{MemoryContactStore, lock, pages};

/// Deliveries in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    kept: Mutex<Vec<Delivery>>,
    in_flight: Mutex<HashMap<DeliveryId, Channel>>,
    held: Mutex<HashSet<Channel>>,
}

impl Deliveries {
    pub(super) fn add(&self, delivery: impl IntoIterator<Item = Delivery>) {
        lock(&self.kept).extend(delivery);
    }

    /// Drops those that name the address, and returns how many of them were on their way.
    pub(super) fn forget(&self, email: &EmailAddress) -> u64 {
        let in_flight = lock(&self.in_flight);
        let is_naming = |it: &Delivery| it.email.as_ref() == Some(email);
        let mut kept = lock(&self.kept);
        let naming = kept.iter().filter(|it| is_naming(it));
        let count = naming.filter(|it| in_flight.contains_key(&it.id)).count();
        kept.retain(|it| !is_naming(it));
        count as u64
    }
}

#[async_trait]
impl DeliveryQueue for MemoryContactStore {
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError> {
        self.contacts.fault()?;
        self.deliveries.add(deliveries);
        Ok(())
    }

    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.contacts.fault()?;
        if lock(&self.deliveries.held).contains(&channel) {
            return Ok(Vec::new());
        }
        let mut in_flight = lock(&self.deliveries.in_flight);
        let kept = lock(&self.deliveries.kept);
        let due = kept.iter().filter(|it| {
            it.kind.channel() == channel && it.is_due(now) && !in_flight.contains_key(&it.id)
        });
        let due = due.filter(|it| turn.rank(it.network).is_some());
        let mut due: Vec<_> = due.cloned().collect();
        due.sort_by_key(|it| (turn.rank(it.network), it.due_at));
        due.truncate(count);
        in_flight.extend(due.iter().map(|it| (it.id, channel)));
        Ok(due)
    }

    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        let mut contacts = self.contacts.get()?;
        for (email, outcome) in settled.mails {
            if let Some((_, contact)) = contacts.kept.get_mut(email.as_str()) {
                contact.note_mail(outcome, now);
            }
        }
        drop(contacts);
        let mut in_flight = lock(&self.deliveries.in_flight);
        let mut kept = lock(&self.deliveries.kept);
        for id in &settled.made {
            in_flight.remove(id);
        }
        kept.retain(|it| !settled.made.contains(&it.id));
        for delivery in settled.failed {
            in_flight.remove(&delivery.id);
            if let Some(found) = kept.iter_mut().find(|it| it.id == delivery.id) {
                *found = delivery;
            }
        }
        Ok(())
    }

    fn release(&self, channel: Channel) {
        let mut in_flight = lock(&self.deliveries.in_flight);
        in_flight.retain(|_, taken| *taken != channel);
    }

    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.contacts.fault()?;
        let kept = lock(&self.deliveries.kept);
        Ok(kept.iter().find(|it| it.id == id).cloned())
    }

    async fn list(&self) -> Result<PageStream<Delivery>, StoreError> {
        self.contacts.fault()?;
        Ok(pages(lock(&self.deliveries.kept).clone()))
    }

    async fn retry(&self, id: Option<DeliveryId>, now: Timestamp) -> Result<u64, StoreError> {
        self.contacts.fault()?;
        let mut kept = lock(&self.deliveries.kept);
        let wanted = kept.iter_mut().filter(|it| match id {
            Some(id) => it.id == id,
            None => it.dead_at.is_some() || it.due_at > now,
        });
        Ok(wanted.map(|it| it.retry(now)).count() as u64)
    }

    async fn drop_one(&self, id: DeliveryId, _now: Timestamp) -> Result<bool, StoreError> {
        self.contacts.fault()?;
        let mut kept = lock(&self.deliveries.kept);
        let before = kept.len();
        kept.retain(|it| it.id != id);
        Ok(kept.len() < before)
    }

    async fn drop_dead(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.contacts.fault()?;
        let mut kept = lock(&self.deliveries.kept);
        let before = kept.len();
        let is_old = |at: Timestamp| at.plus_ms(Delivery::DEAD_KEPT_MS) <= now;
        kept.retain(|it| !it.dead_at.is_some_and(is_old));
        Ok((before - kept.len()) as u64)
    }

    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError> {
        self.contacts.fault()?;
        let mut held = lock(&self.deliveries.held);
        match is_held {
            true => held.insert(channel),
            false => held.remove(&channel),
        };
        Ok(())
    }

    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError> {
        self.contacts.fault()?;
        let kept = lock(&self.deliveries.kept);
        let of_channel = kept.iter().filter(|it| it.kind.channel() == channel);
        let (dead, waiting): (Vec<_>, Vec<_>) = of_channel.partition(|it| it.dead_at.is_some());
        Ok(QueueStanding {
            waiting: waiting.len() as u64,
            oldest: waiting.iter().map(|it| it.queued_at).min(),
            dead: dead.len() as u64,
            is_held: lock(&self.deliveries.held).contains(&channel),
        })
    }
}
