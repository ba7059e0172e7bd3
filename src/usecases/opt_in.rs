//! Double opt-in: the mail that asks whoever reads it to confirm a sign-up, and what becomes of those who do not.

use futures_util::StreamExt as _;

use crate::domain::{
    Client, ContactStatus, Delivery, DeliveryId, DeliveryKind, EmailAddress, Language, LeaveToken,
    LetterTemplate, PolicyName, Standing, Subject, Timestamp,
};
use crate::ports::{ContactStore, MailSender, StoreError};

use super::meter::{ChargeError, Meter};

/// What double opt-in works with.
#[derive(Clone, Copy)]
pub struct OptIn<'a> {
    /// The letter in each language, in the order of the languages.
    pub letters: &'a [LetterTemplate; Language::ALL.len()],
    /// Gives it the form of a mail.
    pub mail: &'a dyn MailSender,
    /// Where the links lead.
    pub base_url: &'a str,
    /// How long a contact can be confirmed, once its mail was taken.
    pub kept_ms: u64,
}

impl OptIn<'_> {
    /// The mail that asks to confirm the contact with this address and token. None if the address had its share
    /// of them; if all had, it waits. None, too, if nobody can send the address mail.
    ///
    /// # Errors
    /// [`ChargeError::Limiter`] when the limiter cannot decide.
    pub async fn ask(
        &self,
        meter: Meter<'_>,
        client: &Client,
        email: &EmailAddress,
        token: &LeaveToken,
        language: Option<Language>,
        now: Timestamp,
    ) -> Result<Option<Delivery>, ChargeError> {
        let Some(wait_ms) = charge(meter, client, email, now).await? else {
            return Ok(None);
        };
        let id = DeliveryId::new(DeliveryKind::ConfirmationMail, token, now);
        let letter = self.letter(language).fill(
            email.clone(),
            &format!("{}/newsletter/confirm/{token}", self.base_url),
            Some(format!("{}/newsletter/leave/{token}", self.base_url)),
            *id.as_bytes(),
            now,
        );
        let mail = match self.mail.write(&letter) {
            Ok(mail) => mail,
            Err(error) => {
                tracing::warn!(%error, "a contact cannot be asked to confirm");
                return Ok(None);
            }
        };
        // It is ASCII, as mail is.
        let body = String::from_utf8_lossy(&mail.message).into_owned();
        let kind = DeliveryKind::ConfirmationMail;
        let mut delivery = Delivery::new(id, kind, Some(email.clone()), body, now);
        delivery.due_at = now.plus_ms(wait_ms);
        Ok(Some(delivery))
    }

    fn letter(&self, language: Option<Language>) -> &LetterTemplate {
        let [english, german, french, spanish] = self.letters;
        match language.unwrap_or_default() {
            Language::English => english,
            Language::German => german,
            Language::French => french,
            Language::Spanish => spanish,
        }
    }
}

/// How long the mail waits; none if there is none.
async fn charge(
    meter: Meter<'_>,
    client: &Client,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<u64>, ChargeError> {
    let network = client.network;
    let own = [(PolicyName::Mail, Subject::Mailbox(email))];
    match meter.charge(network, &own, now).await {
        Ok(_admission) => {}
        Err(ChargeError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error),
    }
    let all = [(PolicyName::MailAll, Subject::Everyone)];
    match meter.charge(network, &all, now).await {
        Ok(_admission) => Ok(Some(0)),
        Err(ChargeError::Refused(decision)) => {
            let wait_s = decision.binding().map_or(0, Standing::reset_s);
            Ok(Some(wait_s * 1000))
        }
        Err(error) => Err(error),
    }
}

/// Erases those who were asked `kept_ms` ago and have not confirmed. Returns how many.
pub async fn erase_unconfirmed(
    contacts: &dyn ContactStore,
    kept_ms: u64,
    now: Timestamp,
) -> Result<usize, StoreError> {
    if contacts.status_counts().await?.pending == 0 {
        return Ok(0);
    }
    let mut expired = Vec::new();
    let mut pages = contacts.list(None, None).await?;
    while let Some(page) = pages.next().await {
        let page = page?.into_iter();
        let is_over = |until: Timestamp| until <= now;
        let over = page.filter(|it| it.pending_until(kept_ms).is_some_and(is_over));
        expired.extend(over.map(|it| it.email));
    }
    if !expired.is_empty() {
        contacts.forget(&expired, now).await?;
    }
    Ok(expired.len())
}

/// The token of the contact with this address, if it is to be confirmed: its links stay good.
pub async fn pending_token(
    contacts: &dyn ContactStore,
    email: &EmailAddress,
) -> Result<Option<LeaveToken>, StoreError> {
    let found = contacts.find(email).await?;
    let pending = found.filter(|it| it.status() == ContactStatus::Pending);
    Ok(pending.and_then(|it| it.leave_token))
}
