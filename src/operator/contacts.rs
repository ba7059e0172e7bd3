//! Contacts.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::domain::{Contact, EmailAddress, Remainder, SoughtSigner, Timestamp};
use crate::ports::ContactStream;

use super::operation::{Answer, Operation, OperatorError, OperatorRequest, Params};

pub static SHOW: Operation = Operation::new("contacts show", |request| Box::pin(show(request)));
pub static LIST: Operation = Operation::new("contacts list", |request| Box::pin(list(request)));
pub static COUNT: Operation = Operation::new("contacts count", |request| Box::pin(count(request)));
pub static FORGET: Operation =
    Operation::new("contacts forget", |request| Box::pin(forget(request)));

/// A contact. Times are in RFC 3339.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactRow {
    pub email: String,
    pub subscribed_at: String,
    /// When it was last signed up again.
    pub last_seen_at: String,
}

impl From<&Contact> for ContactRow {
    fn from(contact: &Contact) -> Self {
        Self {
            email: contact.email.as_str().to_owned(),
            subscribed_at: contact.subscribed_at.to_rfc3339(),
            last_seen_at: contact.last_seen_at.to_rfc3339(),
        }
    }
}

/// Shows the contact with the address `email`.
async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let [email] = emails(&request.params)?.try_into().map_err(|_emails| {
        OperatorError::Input("one address is shown, not none and not several".to_owned())
    })?;
    match request.app.contacts.find(&email).await? {
        Some(contact) => Answer::one(&ContactRow::from(&contact)),
        None => Err(OperatorError::NotFound(
            "no contact has this address".to_owned(),
        )),
    }
}

/// Lists the contacts signed up from `since` on and before `until`; with `signed_by` only those of which it is one of the last four signers.
async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = Wanted::of(&request)?.list(&request.app).await?;
    tracing::info!(command = LIST.name, "operator");
    Answer::rows(pages, |contact| ContactRow::from(contact))
}

/// Counts the contacts that [`list`] lists.
async fn count(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (wanted, app) = (Wanted::of(&request)?, &request.app);
    let contacts = if wanted.signer.is_none() {
        app.contacts.count(wanted.since, wanted.until).await?
    } else {
        let mut pages = wanted.list(app).await?;
        let mut contacts = 0;
        while let Some(page) = pages.next().await {
            contacts += page?.len() as u64;
        }
        contacts
    };
    Answer::one(&json!({"contacts": contacts}))
}

/// Which contacts.
struct Wanted {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    signer: Option<SoughtSigner>,
}

impl Wanted {
    /// The parameters `since`, `until` and `signed_by`.
    fn of(request: &OperatorRequest) -> Result<Self, OperatorError> {
        let (params, app) = (&request.params, &request.app);
        let signer = params.parsed("signed_by", |text| {
            let sought = SoughtSigner::parse(text, &app.secrets);
            sought.map_err(|error| format!("--signed-by {error}"))
        })?;
        let parse = |text: &str| Timestamp::parse(text).ok_or("since and until must be times");
        Ok(Self {
            since: params.parsed("since", parse)?,
            until: params.parsed("until", parse)?,
            signer,
        })
    }

    async fn list(self, app: &Arc<App>) -> Result<ContactStream, OperatorError> {
        let pages = app.contacts.list(self.since, self.until).await?;
        let Some(signer) = self.signer else {
            return Ok(pages);
        };
        let (app, now) = (Arc::clone(app), app.clock.now());
        let pages = pages.map(move |page| {
            let mut page = page?;
            page.retain(|contact| signer.has_signed(contact, &app.secrets, now));
            Ok(page)
        });
        Ok(pages.boxed())
    }
}

/// What became of a request to forget, for the records of whoever answers it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErasureReport {
    /// When it was done, in RFC 3339.
    pub at: String,
    /// The version of the service.
    pub version: String,
    pub addresses: Vec<ErasedAddress>,
    /// Whether none of them is in any file any more.
    pub is_complete: bool,
    /// The files that held one and were written anew.
    pub rewritten: Vec<String>,
    /// The files that may still hold one.
    pub remaining: Vec<KeptFile>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ErasedAddress {
    pub email: String,
    /// Whether there was a contact.
    pub was_known: bool,
}

/// A file that may still hold an address.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptFile {
    pub file: String,
    /// Why, and what removes it.
    pub reason: String,
}

/// Forgets the addresses `email`.
async fn forget(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let emails = emails(&request.params)?;
    let now = request.app.clock.now();
    let erasure = request.app.contacts.forget(&emails, now).await?;
    let is_complete = erasure.is_complete();
    let known = erasure.was_known.iter().filter(|it| **it).count();
    tracing::info!(
        command = FORGET.name,
        contacts.known = known,
        contacts.unknown = emails.len() - known,
        complete = is_complete,
        "operator"
    );
    let addresses = emails.iter().zip(erasure.was_known);
    let addresses = addresses.map(|(email, was_known)| ErasedAddress {
        email: email.as_str().to_owned(),
        was_known,
    });
    let kept = |Remainder { file, reason }| KeptFile { file, reason };
    Answer::one(&ErasureReport {
        at: now.to_rfc3339(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        addresses: addresses.collect(),
        is_complete,
        rewritten: erasure.rewritten,
        remaining: erasure.remaining.into_iter().map(kept).collect(),
    })
}

fn emails(params: &Params) -> Result<Vec<EmailAddress>, OperatorError> {
    let emails = params.texts("email").into_iter().map(EmailAddress::parse);
    emails
        .collect::<Result<_, _>>()
        .map_err(|error| OperatorError::Input(format!("the address {error}")))
}
