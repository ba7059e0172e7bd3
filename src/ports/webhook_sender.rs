//! The operator's own program, which is told what becomes of contacts.

use async_trait::async_trait;

use crate::domain::{DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, Timestamp};

/// Tells the operator's program.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// The body of a message about the contact with this token. One that is erased has no address any more: the
    /// body names it as the messages before did.
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String;

    /// `Ok` means that the program has taken it. After an error it may have it nonetheless, and recognises it
    /// by the `id`.
    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), WebhookError>;
}

/// The program did not take a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookError {
    /// This attempt failed.
    Failed(Failure),
    /// It wants no more messages, neither this one nor others (410).
    Gone,
    /// It was not asked, or its answer was not waited for: the service stops.
    Stopped,
}
