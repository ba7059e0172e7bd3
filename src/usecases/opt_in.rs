//! Double opt-in: the email that asks to confirm a sign-up, and the expiry of unconfirmed contacts.

use crate::domain::{
    Channel, Client, Delivery, DeliveryId, DeliveryKind, EmailAddress, Language, LeaveToken,
    Letter, LetterContent, LimitKey, PolicyName, Subject, Timestamp,
};
use crate::ports::{
    Admission, ContactStore, DeliveryQueue, ERASED_MAX, LimiterError, MailSender, StoreError,
};

use super::meter::{ChargeError, Meter};

/// The ports and texts of double opt-in.
#[derive(Clone, Copy)]
pub struct OptIn<'a> {
    /// The letter in each language, in the order of the languages.
    pub letters: &'a [LetterContent; Language::ALL.len()],
    /// Encodes the letter as an email.
    pub mail: &'a dyn MailSender,
    /// Base of the links.
    pub base_url: &'a str,
}

impl OptIn<'_> {
    /// The email that asks the contact with this address and token to confirm, and its charge. `None` if the
    /// address has used up its share, or if no email can be sent to it.
    ///
    /// # Errors
    /// [`LimiterError`] when the limiter can't decide.
    pub async fn ask(
        &self,
        meter: Meter<'_>,
        client: &Client,
        email: &EmailAddress,
        token: &LeaveToken,
        language: Option<Language>,
        now: Timestamp,
    ) -> Result<Option<(Delivery, Admission)>, LimiterError> {
        let own = [(PolicyName::Mail, Subject::Mailbox(email))];
        let admission = match meter.charge(client.network, &own, now).await {
            Ok(admission) => admission,
            Err(ChargeError::Refused(_)) => return Ok(None),
            Err(ChargeError::Limiter(error)) => return Err(error),
        };
        let id = DeliveryId::new(DeliveryKind::ConfirmationMail, token, now);
        let link = format!("{}/newsletter/confirm/{token}", self.base_url);
        let letter = Letter {
            to: email.clone(),
            content: self.letter(language).with_link(&link),
            at: now,
            id: *id.as_bytes(),
            leave_url: Some(format!("{}/newsletter/leave/{token}", self.base_url)),
        };
        let body = match self.mail.write(&letter) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "cannot ask a contact to confirm");
                return Ok(None);
            }
        };
        let kind = DeliveryKind::ConfirmationMail;
        // Charged when sent, not now: past its share a network's emails wait, and none is lost.
        let network = Subject::Prefix(client.network);
        let delivery = Delivery {
            network: Some(LimitKey::new(meter.key, PolicyName::MailPrefix, network)),
            ..Delivery::new(id, kind, Some(email.clone()), body, now)
        };
        Ok(Some((delivery, admission)))
    }

    fn letter(&self, language: Option<Language>) -> &LetterContent {
        let [english, ..] = self.letters;
        let chosen = self.letters.get(language.unwrap_or_default() as usize);
        chosen.unwrap_or(english)
    }
}

/// Expires contacts that were asked `kept_ms` ago and have not confirmed. Returns their number.
///
/// Emails that wait longer than all attempts take mean that the channel is paused or the account unusable:
/// contacts still waiting for theirs get more time.
pub async fn expire_unconfirmed(
    contacts: &dyn ContactStore,
    queue: &dyn DeliveryQueue,
    kept_ms: u64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let is_old = |at: Timestamp| at.plus_ms(Delivery::ATTEMPTS_MS_MAX) <= now;
    let is_stuck = queue
        .standing(Channel::Mail)
        .await?
        .oldest
        .is_some_and(is_old);
    let before = Timestamp::from_ms(now.as_ms().saturating_sub(kept_ms));
    let mut count = 0;
    loop {
        let overdue = contacts.overdue(before, is_stuck, ERASED_MAX).await?;
        let tokens: Vec<_> = overdue
            .iter()
            .filter_map(|contact| contact.leave_token)
            .collect();
        let expired = contacts.expire(tokens, now).await?;
        count += expired;
        if expired == 0 {
            return Ok(count);
        }
    }
}
