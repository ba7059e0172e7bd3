//! Changes to contacts, by the links of emails or by the operator, and the events about them for the operator's program.

use std::net::IpAddr;

use crate::domain::{
    Contact, ContactStatus, Delivery, DeliveryId, DeliveryKind, EmailAddress, Erasure, LeaveToken,
    Timestamp,
};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, DeliveryQueue, ERASED_MAX, StoreError, WebhookSender};

/// Confirms the sign-up of `contact`. Returns whether it was unconfirmed.
///
/// Anybody may ask without a limit, so only what changes something reaches the store's queue.
pub async fn confirm(
    contacts: &dyn ContactStore,
    webhook: Option<&dyn WebhookSender>,
    metrics: &Metrics,
    contact: &Contact,
    ip: Option<IpAddr>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let Some(token) = contact.leave_token.filter(|_| contact.is_pending()) else {
        return Ok(false);
    };
    let notice = notice_of(webhook, DeliveryKind::Confirmed, contact, now);
    let is_new = contacts.confirm(&token, ip, notice, now).await?;
    if is_new {
        metrics.confirmations.given.increase();
    }
    Ok(is_new)
}

/// Unsubscribes `contact`. It stays stored as unsubscribed. An unconfirmed contact is erased, and gets no further email
/// for a while.
///
/// Anybody may ask without a limit, so only what changes something reaches the store's queue.
pub async fn leave(
    contacts: &dyn ContactStore,
    webhook: Option<&dyn WebhookSender>,
    metrics: &Metrics,
    contact: &Contact,
    now: Timestamp,
) -> Result<(), StoreError> {
    let status = contact.status();
    let Some(token) = &contact.leave_token else {
        return Ok(());
    };
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
    let notified_of = webhook.map_or(&[][..], |_webhook| emails);
    // In chunks, so that sign-ups don't wait for all of them.
    for emails in notified_of.chunks(ERASED_MAX) {
        let mut notices = Vec::new();
        for email in emails {
            let contact = contacts.find(email).await?;
            let notice = |contact| notice_of(webhook, DeliveryKind::Erased, &contact, now);
            notices.extend(contact.and_then(notice));
        }
        if !notices.is_empty() {
            deliveries.add(notices).await?;
        }
    }
    contacts.forget(emails, now).await
}

/// The event for the contact with this address and token; `None` without a program. The event of an erasure
/// has the token alone.
pub(super) fn notice(
    webhook: Option<&dyn WebhookSender>,
    kind: DeliveryKind,
    email: &EmailAddress,
    token: &LeaveToken,
    now: Timestamp,
) -> Option<Delivery> {
    let email = (kind != DeliveryKind::Erased).then_some(email);
    let body = webhook?.write(kind, email, token, now);
    let id = DeliveryId::new(kind, token, now);
    Some(Delivery::new(id, kind, email.cloned(), body, now))
}

/// The same for a stored contact. `None` for one stored before contacts had tokens.
fn notice_of(
    webhook: Option<&dyn WebhookSender>,
    kind: DeliveryKind,
    contact: &Contact,
    now: Timestamp,
) -> Option<Delivery> {
    let token = contact.leave_token.as_ref()?;
    notice(webhook, kind, &contact.email, token, now)
}
