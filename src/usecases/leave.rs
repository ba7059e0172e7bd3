//! Unsubscribing, with a contact's token.

use crate::domain::{Contact, ContactStatus, DeliveryKind, LeaveToken, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

use super::notices::Notices;

/// Unsubscribes the contact with this token, and returns it as it was before. It stays stored as
/// unsubscribed. An unconfirmed contact is erased, and gets no further email for a while.
///
/// Anybody may ask without a limit, so only a token that changes something reaches the store's queue.
pub async fn leave(
    contacts: &dyn ContactStore,
    notices: Notices<'_>,
    metrics: &Metrics,
    token: &LeaveToken,
    now: Timestamp,
) -> Result<Option<Contact>, StoreError> {
    let contact = contacts.find_by_token(token).await?;
    let Some(found) = &contact else {
        return Ok(None);
    };
    let status = found.status();
    if status == ContactStatus::Pending && contacts.refuse(token, now).await? {
        metrics.confirmations.refused.increase();
    } else if status != ContactStatus::Unsubscribed {
        // Also a contact confirmed a moment ago.
        let notice = notices.of_contact(DeliveryKind::Unsubscribed, found, now);
        if contacts.leave(token, notice, now).await? {
            metrics.leavings.increase();
        }
    }
    Ok(contact)
}
