//! Erasing contacts on request.

use crate::domain::{DeliveryKind, EmailAddress, Erasure, Timestamp};
use crate::ports::{ContactStore, DeliveryQueue, ERASED_MAX, StoreError, WebhookSender};

use super::notices::notice_of;

/// Erases the contacts with these addresses, and all pending deliveries about them. The operator's program is
/// notified of each erasure by the contact's former token: the event contains no address, and is stored
/// first, so that no contact is erased here and stays stored there.
pub async fn forget(
    contacts: &dyn ContactStore,
    deliveries: &dyn DeliveryQueue,
    webhook: Option<&dyn WebhookSender>,
    emails: &[EmailAddress],
    now: Timestamp,
) -> Result<Erasure, StoreError> {
    let told_of = match webhook {
        Some(_) => emails,
        None => &[],
    };
    // In chunks, so that sign-ups don't wait for all of them.
    for emails in told_of.chunks(ERASED_MAX) {
        let mut told = Vec::new();
        for email in emails {
            let contact = contacts.find(email).await?;
            told.extend(
                contact.and_then(|contact| notice_of(webhook, DeliveryKind::Erased, &contact, now)),
            );
        }
        if !told.is_empty() {
            deliveries.add(told).await?;
        }
    }
    contacts.forget(emails, now).await
}
