//! Unsubscribing, with a contact's token.

use crate::domain::{Contact, ContactStatus, DeliveryKind, LeaveToken, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError, WebhookSender};

use super::notices::notice_of;

/// Unsubscribes the contact with this token. It stays stored as unsubscribed. An unconfirmed contact is erased,
/// and gets no further email for a while.
///
/// Anybody may ask without a limit, so only a token that changes something reaches the store's queue.
pub async fn leave(
    contacts: &dyn ContactStore,
    webhook: Option<&dyn WebhookSender>,
    metrics: &Metrics,
    (token, contact): (&LeaveToken, &Contact),
    now: Timestamp,
) -> Result<(), StoreError> {
    let status = contact.status();
    if status == ContactStatus::Pending && contacts.refuse(token, now).await? {
        metrics.confirmations.refused.increase();
    } else if status != ContactStatus::Unsubscribed {
        // Also a contact confirmed a moment ago.
        let notice = notice_of(webhook, DeliveryKind::Unsubscribed, contact, now);
        if contacts.leave(token, notice, now).await? {
            metrics.leavings.increase();
        }
    }
    Ok(())
}
