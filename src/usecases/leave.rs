//! Leaving the newsletter, by the token of a contact.

use crate::domain::{Contact, LeaveToken, Leaving, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

/// The contact that may leave by `token`, if there is one.
pub async fn find_leaver(
    contacts: &dyn ContactStore,
    token: &LeaveToken,
) -> Result<Option<Contact>, StoreError> {
    contacts.find_by_token(token).await
}

/// Lets the contact with this token leave. It stays, as one that left.
pub async fn leave(
    contacts: &dyn ContactStore,
    metrics: &Metrics,
    token: &LeaveToken,
    now: Timestamp,
) -> Result<Leaving, StoreError> {
    let leaving = contacts.leave(token, now).await?;
    if leaving == Leaving::Left {
        metrics.leavings.increase();
    }
    Ok(leaving)
}
