//! What the operator's program is told of contacts.

use crate::domain::{
    Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, LeaveToken, Timestamp,
};
use crate::ports::WebhookSender;

/// Makes what is delivered to the operator's program.
#[derive(Clone, Copy)]
pub struct Notices<'a> {
    /// The program, if there is one.
    pub webhook: Option<&'a dyn WebhookSender>,
}

impl Notices<'_> {
    /// What is told of the contact with this address and token; nothing if nobody is told. An erased contact is
    /// told of by its token alone.
    pub fn of(
        &self,
        kind: DeliveryKind,
        email: &EmailAddress,
        token: &LeaveToken,
        now: Timestamp,
    ) -> Option<Delivery> {
        let email = (kind != DeliveryKind::Erased).then_some(email);
        let body = self.webhook?.write(kind, email, token, now);
        let id = DeliveryId::new(kind, token, now);
        Some(Delivery::new(id, kind, email.cloned(), body, now))
    }

    /// The same of a stored contact. Nothing of one that was kept before contacts had tokens.
    pub fn of_contact(
        &self,
        kind: DeliveryKind,
        contact: &Contact,
        now: Timestamp,
    ) -> Option<Delivery> {
        let token = contact.leave_token.as_ref()?;
        self.of(kind, &contact.email, token, now)
    }
}
