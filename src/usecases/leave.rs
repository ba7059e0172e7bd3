//! Leaving the newsletter, by the token of a contact.

use crate::domain::{Contact, ContactStatus, DeliveryKind, LeaveToken, Leaving, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

use super::notices::Notices;

/// Lets the contact with this token leave, and returns it as it was. It stays, as one that left.
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
    let can_leave = |it: &Contact| it.status() == ContactStatus::Subscribed;
    if let Some(contact) = contact.as_ref().filter(|it| can_leave(it)) {
        let notice = notices.of_contact(DeliveryKind::Unsubscribed, contact, now);
        if contacts.leave(token, notice, now).await? == Leaving::Left {
            metrics.leavings.increase();
        }
    }
    Ok(contact)
}
