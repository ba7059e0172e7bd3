//! Erasing contacts at the request of whoever is behind them.

use crate::domain::{DeliveryKind, EmailAddress, Erasure, Timestamp};
use crate::ports::{ContactStore, DeliveryQueue, ERASED_MAX, StoreError};

use super::notices::Notices;

/// Erases the contacts with these addresses, and everything that is to be delivered about them. The operator's
/// program is told of each, by what it was called before: what tells it has no address, and is kept first, so that
/// nobody is erased here and stays there.
pub async fn forget(
    contacts: &dyn ContactStore,
    deliveries: &dyn DeliveryQueue,
    notices: Notices<'_>,
    emails: &[EmailAddress],
    now: Timestamp,
) -> Result<Erasure, StoreError> {
    let told_of = match notices.webhook {
        Some(_) => emails,
        None => &[],
    };
    // Sign-ups do not wait for all of them.
    for emails in told_of.chunks(ERASED_MAX) {
        let mut told = Vec::new();
        for email in emails {
            let contact = contacts.find(email).await?;
            told.extend(contact.and_then(|it| notices.of_contact(DeliveryKind::Erased, &it, now)));
        }
        if !told.is_empty() {
            deliveries.add(told).await?;
        }
    }
    contacts.forget(emails, now).await
}
