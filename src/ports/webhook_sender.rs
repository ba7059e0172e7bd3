//! The operator's webhook, notified of changes to contacts.

use async_trait::async_trait;

use crate::domain::{DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, Timestamp};

/// Notifies the operator's webhook.
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
    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), WebhookError>;
}

/// The webhook did not accept a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookError {
    /// This attempt failed.
    Failed(Failure),
    /// The webhook wants no more messages, neither this one nor others (410).
    Gone,
    /// Not sent, or its response was not awaited, because the service is stopping.
    Stopped,
}
