//! What is to be delivered.

use async_trait::async_trait;

use crate::domain::{Channel, Delivery, DeliveryId, QueueStanding, Settled, Timestamp, Turn};

use super::{PageStream, StoreError};

/// Keeps deliveries until they are made or given up, and those that were given up for a while
/// ([`Delivery::DEAD_KEPT_MS`]). A [`super::ContactStore`] adds those that a contact causes in one change with it,
/// and drops those that name an address that is erased.
#[async_trait]
pub trait DeliveryQueue: Send + Sync {
    /// Adds deliveries durably, all or none.
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError>;

    /// Takes up to `count` deliveries of a channel that are due, in the order of turns, and the oldest of a network
    /// first. Nobody else gets them until they are settled or released, or until whoever took them is gone for
    /// [`lease_ms`]. None if the channel is held.
    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// Ends what [`Self::take_due`] began, durably and in one change with what contacts are noted of their mail.
    /// What was dropped meanwhile stays so.
    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError>;

    /// Lets go of what this process has taken of a channel: its worker has ended. A store that several nodes share
    /// waits for [`lease_ms`].
    fn release(&self, channel: Channel);

    /// The delivery with this id.
    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError>;

    /// All deliveries, in the order in which they were made.
    async fn list(&self) -> Result<PageStream<Delivery>, StoreError>;

    /// Makes deliveries due at once, durably ([`Delivery::retry`]): that with this id, or all that were given
    /// up or are not due yet. Returns how many.
    async fn retry(&self, id: Option<DeliveryId>, now: Timestamp) -> Result<u64, StoreError>;

    /// Drops a delivery durably. Returns whether there was one.
    async fn drop_one(&self, id: DeliveryId, now: Timestamp) -> Result<bool, StoreError>;

    /// Drops those that were given up too long ago, and the oldest of too many, durably. Returns how many.
    async fn drop_dead(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// Holds a channel durably, so that nothing is taken, or releases it.
    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError>;

    /// How a channel stands.
    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError>;
}

/// The lease on deliveries that were taken, in milliseconds: longer than their attempts take. A relay may take ten
/// minutes for a mail, and as long to let itself be asked.
pub const fn lease_ms(channel: Channel) -> u64 {
    match channel {
        Channel::Webhook => 120_000,
        Channel::Mail => 1_800_000,
    }
}
