//! Leaving the newsletter, by the token of a contact.

use crate::domain::{Contact, ContactStatus, DeliveryKind, LeaveToken, Leaving, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

use super::notices::Notices;

/// Lets the contact with this token leave, and returns it as it was. It stays, as one that left. One that is to be
/// confirmed is forgotten, and asked no more for a while.
///
/// Anybody may ask without a limit, so only a token that lets somebody leave reaches the store's queue.
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
        // Also one that was confirmed a moment ago.
        let notice = notices.of_contact(DeliveryKind::Unsubscribed, found, now);
        if contacts.leave(token, notice, now).await? == Leaving::Left {
            metrics.leavings.increase();
        }
    }
    Ok(contact)
}
