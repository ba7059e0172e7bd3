//! Changes to contacts, by the links of emails or by the operator, and the events about them for the operator's program.

use std::net::IpAddr;

use crate::domain::{
    Contact, ContactStatus, Delivery, DeliveryKind, EmailAddress, Erasure, Timestamp,
};
use crate::ports::{DeliveryQueue, ERASED_MAX, StoreError};

use super::subscribe::Newsletter;

impl Newsletter<'_> {
    /// [`Newsletter::notice`] for a stored contact. `None` for one stored before contacts had tokens.
    fn notice_of(&self, kind: DeliveryKind, contact: &Contact, now: Timestamp) -> Option<Delivery> {
        let token = contact.leave_token.as_ref()?;
        self.notice(kind, &contact.email, token, now)
    }
}

/// Confirms the sign-up of `contact`. Returns whether it was unconfirmed.
///
/// Anybody may ask without a limit, so only what changes something reaches the store's queue.
pub async fn confirm(
    newsletter: Newsletter<'_>,
    contact: &Contact,
    ip: Option<IpAddr>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let Some(token) = contact.leave_token.filter(|_| contact.is_pending()) else {
        return Ok(false);
    };
    let notice = newsletter.notice_of(DeliveryKind::Confirmed, contact, now);
    let is_new = newsletter.contacts.confirm(&token, ip, notice, now).await?;
    if is_new {
        newsletter.meter.metrics.confirmations.given.increase();
    }
    Ok(is_new)
}

/// Unsubscribes `contact`. It stays stored as unsubscribed. An unconfirmed contact is erased, and gets no further email
/// for a while.
///
/// Anybody may ask without a limit, so only what changes something reaches the store's queue.
pub async fn leave(
    newsletter: Newsletter<'_>,
    contact: &Contact,
    now: Timestamp,
) -> Result<(), StoreError> {
    let status = contact.status();
    let Some(token) = &contact.leave_token else {
        return Ok(());
    };
    if status == ContactStatus::Pending && newsletter.contacts.refuse(token, now).await? {
        newsletter.meter.metrics.confirmations.refused.increase();
    } else if status != ContactStatus::Unsubscribed {
        // Also a contact confirmed a moment ago.
        let notice = newsletter.notice_of(DeliveryKind::Unsubscribed, contact, now);
        if newsletter.contacts.leave(token, notice, now).await? {
            newsletter.meter.metrics.leavings.increase();
        }
    }
    Ok(())
}

/// Erases the contacts with these addresses, and all pending deliveries about them. The operator's program is
/// notified of each erasure by the contact's former token: the event contains no address, and is stored
/// first, so that no contact is erased here and stays stored there.
pub async fn forget(
    newsletter: Newsletter<'_>,
    deliveries: &dyn DeliveryQueue,
    emails: &[EmailAddress],
    now: Timestamp,
) -> Result<Erasure, StoreError> {
    let notified_of = newsletter.webhook.map_or(&[][..], |_webhook| emails);
    // In chunks, so that sign-ups don't wait for all of them.
    for emails in notified_of.chunks(ERASED_MAX) {
        let mut notices = Vec::new();
        for email in emails {
            let contact = newsletter.contacts.find(email).await?;
            let notice = |contact| newsletter.notice_of(DeliveryKind::Erased, &contact, now);
            notices.extend(contact.and_then(notice));
        }
        if !notices.is_empty() {
            deliveries.add(notices).await?;
        }
    }
    newsletter.contacts.forget(emails, now).await
}
