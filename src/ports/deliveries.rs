//! Outgoing events and email: their queue, and the ways out of the service.

use async_trait::async_trait;

use crate::domain::{
    Channel, Delivery, DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, Letter,
    QueueStanding, Settled, Timestamp, Turn,
};

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

    /// Completes what [`Self::take_due`] began, durably: first, or in the same change, the mail state of contacts.
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

/// Posts to the operator's webhook: messages from the queue, or sign-ups that are not stored while visitors wait.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// The body of a message about the contact with this token. An erased contact has no address any more: the
    /// body identifies it as earlier messages did.
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String;

    /// `Ok` means that the webhook has accepted it. After an error it may still have received it, and
    /// recognises it by the `id`.
    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), Failure>;
}

/// Sends email through the operator's account at a relay.
#[async_trait]
pub trait MailSender: Send + Sync {
    /// Renders a letter as the message that is sent (RFC 5322), which is ASCII with CRLF line endings.
    ///
    /// # Errors
    /// [`MailError::Refused`] if it cannot be rendered.
    fn write(&self, letter: &Letter) -> Result<String, MailError>;

    /// Sends a message, the same bytes in each attempt. `Ok` means that the relay has accepted it, which may take
    /// twenty minutes. After an error the relay may still have accepted it: its reply can be lost.
    async fn send(&self, to: &EmailAddress, message: &str) -> Result<(), MailError>;
}

/// The relay did not accept an email. The text is for the operator and contains no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// A later attempt may succeed: the relay did not reply in time, or it closed the connection.
    #[error("not accepted yet: {0}")]
    Later(String),
    /// The relay will never accept this email.
    #[error("refused: {0}")]
    Refused(String),
    /// A refusal from RCPT on that leaves open whether the recipient or the account is at fault.
    #[error("refused: {error}")]
    Unclear {
        /// The reply code: for now (4xx), or for good (5xx) without an enhanced code (RFC 3463) that says so. `None` if
        /// it blames the account, such as 5.7.1: every other email fails as well, unless the relay accepts some.
        code: Option<u16>,
        /// The relay's words, with the code.
        error: String,
    },
    /// The account, the relay or TLS is at fault, so every other email would fail as well.
    #[error("the account cannot be used: {0}")]
    Account(String),
}
