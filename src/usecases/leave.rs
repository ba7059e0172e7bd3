//! Leaving the newsletter, by the token of a contact.

use crate::domain::{Contact, ContactStatus, LeaveToken, Leaving, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

/// Lets the contact with this token leave, and returns it as it was. It stays, as one that left.
///
/// Anybody may ask without a limit, so only a token that lets somebody leave reaches the store's queue.
pub async fn leave(
    contacts: &dyn ContactStore,
    metrics: &Metrics,
    token: &LeaveToken,
    now: Timestamp,
) -> Result<Option<Contact>, StoreError> {
    let contact = contacts.find_by_token(token).await?;
    let can_leave = |it: &Contact| it.status() == ContactStatus::Subscribed;
    if contact.as_ref().is_some_and(can_leave) && contacts.leave(token, now).await? == Leaving::Left
    {
        metrics.leavings.increase();
    }
    Ok(contact)
}
