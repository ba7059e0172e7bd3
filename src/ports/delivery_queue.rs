//! The delivery queue.

use async_trait::async_trait;

use crate::domain::{Channel, Delivery, DeliveryId, QueueStanding, Settled, Timestamp, Turn};

use super::{PageStream, StoreError};

/// Stores deliveries until they succeed or fail, and failed ones for a while ([`Delivery::DEAD_KEPT_MS`]).
/// A [`super::ContactStore`] adds a contact's deliveries in one change with the contact, and drops those that
/// contain an erased address.
#[async_trait]
pub trait DeliveryQueue: Send + Sync {
    /// Adds deliveries durably, all or none.
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError>;

    /// Takes up to `count` due deliveries of a channel, in the order of turns, and the oldest of a network
    /// first. Nobody else gets them until they are settled or released, or until their worker has been gone for
    /// [`lease_ms`]. Empty if the channel is held.
    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// Completes what [`Self::take_due`] began, durably and in one change with the mail state of contacts.
    /// Deliveries dropped in the meantime stay dropped.
    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError>;

    /// Releases the deliveries that this process has taken from a channel, because its worker has ended. A store
    /// that several nodes share waits for [`lease_ms`].
    fn release(&self, channel: Channel);

    /// The delivery with this id.
    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError>;

    /// All deliveries, in the order of creation.
    async fn list(&self) -> Result<PageStream<Delivery>, StoreError>;

    /// Makes deliveries due at once, durably ([`Delivery::retry`]): the one with this id, or all that failed or
    /// are not due yet. Returns their number.
    async fn retry(&self, id: Option<DeliveryId>, now: Timestamp) -> Result<u64, StoreError>;

    /// Drops a delivery durably. Returns whether it existed.
    async fn drop_one(&self, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError>;

    /// Drops failed deliveries that are too old, and the oldest of too many, durably. Returns their number.
    async fn drop_dead(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// Holds a channel durably, so that nothing is taken, or releases it.
    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError>;

    /// The state of a channel.
    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError>;
}

/// Lease on deliveries that were taken, in milliseconds: longer than their attempts take. A relay may take
/// ten minutes for an email, and as long to accept the connection and its commands.
pub const fn lease_ms(channel: Channel) -> u64 {
    match channel {
        Channel::Webhook => 120_000,
        Channel::Mail => 1_800_000,
    }
}
