//! Events for the operator's program.

use crate::domain::{
    Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, LeaveToken, Timestamp,
};
use crate::ports::WebhookSender;

/// The event for the contact with this address and token; `None` without a program. The event of an erasure
/// has the token alone.
pub fn notice(
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
pub fn notice_of(
    webhook: Option<&dyn WebhookSender>,
    kind: DeliveryKind,
    contact: &Contact,
    now: Timestamp,
) -> Option<Delivery> {
    let token = contact.leave_token.as_ref()?;
    notice(webhook, kind, &contact.email, token, now)
}
