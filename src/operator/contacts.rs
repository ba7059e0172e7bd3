//! Contacts.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::domain::{
    Contact, ContactStatus, EmailAddress, Remainder, SignUpWay, SoughtSigner, TextDigest, Timestamp,
};
use crate::ports::{ContactStream, StoreError};
use crate::usecases;

use super::operation::{Answer, Lines, OperatorError, OperatorRequest, Params, json_lines};

const BAD_STATUS: &str = "the status must be pending, subscribed, unsubscribed or all";

pub const SHOW: &str = "contacts show";
pub const LIST: &str = "contacts list";
pub const COUNT: &str = "contacts count";
pub const FORGET: &str = "contacts forget";

/// A contact. Times are in RFC 3339.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactRow {
    pub email: String,
    pub subscribed_at: String,
    /// When it was last signed up again.
    pub last_seen_at: String,
    /// A [`ContactStatus`].
    pub status: String,
    /// When it was confirmed by an emailed link.
    #[serde(default)]
    pub confirmed_at: Option<String>,
    /// Page of the sign-up.
    pub source: Option<String>,
    /// Wording on that page.
    pub consent_text: Option<String>,
    /// Unsubscribe link, if the operator has set the service's URL.
    pub unsubscribe_url: Option<String>,
}

/// Proof of a consent. Times are in RFC 3339.
#[derive(Debug, Serialize)]
struct ProofRow {
    /// When it was given.
    consent_at: Option<String>,
    /// Origin of the sign-up: a [`SignUpWay`].
    consent_by: Option<String>,
    language: Option<String>,
    ip: Option<String>,
    /// When the relay accepted the confirmation email.
    mailed_at: Option<String>,
    /// When that email was refused for good, if it was.
    undeliverable_at: Option<String>,
    /// Address of the client that confirmed it, if stored.
    confirmed_ip: Option<String>,
    /// When the contact unsubscribed, if it did afterwards.
    left_at: Option<String>,
}

/// A contact as displayed.
#[derive(Debug, Serialize)]
struct ShownRow {
    #[serde(flatten)]
    contact: ContactRow,
    #[serde(flatten)]
    proof: Option<ProofRow>,
    /// End of the suppression of emails to the address, in RFC 3339, if its reader refused them.
    suppressed_until: Option<String>,
}

/// Converts contacts to rows.
struct Rows {
    app: Arc<App>,
    /// Texts looked up so far. There are few.
    texts: HashMap<TextDigest, Option<String>>,
}

impl Rows {
    fn new(app: &Arc<App>) -> Self {
        Self {
            app: Arc::clone(app),
            texts: HashMap::new(),
        }
    }

    async fn row(&mut self, contact: &Contact) -> Result<ContactRow, StoreError> {
        let consent = contact.consent.as_ref();
        let consent_text = match consent.and_then(|given| given.text) {
            Some(digest) => self.text(digest).await?,
            None => None,
        };
        let source = consent.and_then(|consent| consent.source.as_ref());
        let confirmation = contact.confirmation.as_ref();
        let confirmed_at = confirmation.and_then(|given| given.confirmed_at);
        let settings = &self.app.settings;
        let token = contact.leave_token.filter(|_| settings.is_base_url_given);
        let unsubscribe_url = |token| format!("{}/newsletter/leave/{token}", settings.base_url);
        Ok(ContactRow {
            email: contact.email.as_str().to_owned(),
            subscribed_at: contact.subscribed_at.to_rfc3339(),
            last_seen_at: contact.last_seen_at.to_rfc3339(),
            status: contact.status().as_str().to_owned(),
            confirmed_at: confirmed_at.map(Timestamp::to_rfc3339),
            source: source.map(|source| source.as_str().to_owned()),
            consent_text,
            unsubscribe_url: token.map(unsubscribe_url),
        })
    }

    async fn text(&mut self, digest: TextDigest) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.texts.get(&digest) {
            return Ok(known.clone());
        }
        let text = self.app.contacts.consent_text(&digest).await?;
        self.texts.insert(digest, text.clone());
        Ok(text)
    }

    /// The rows of `pages`.
    fn of(self, pages: ContactStream) -> Lines<OperatorError> {
        let lines = stream::try_unfold((self, pages), |(mut rows, mut pages)| async move {
            let Some(page) = pages.next().await else {
                return Ok(None);
            };
            let mut shown = Vec::new();
            for contact in page? {
                shown.push(rows.row(&contact).await?);
            }
            Ok(Some((json_lines(shown)?, (rows, pages))))
        });
        lines.boxed()
    }
}

/// Shows the contact with the address `email`, with `proof` all stored details of its consent.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let [email] = emails(&request.params)?
        .try_into()
        .map_err(|_emails| OperatorError::Input("give exactly one address".to_owned()))?;
    let (contacts, now) = (&request.app.contacts, request.app.clock.now());
    let suppressed_until = contacts.suppressed_until(&email, now).await?;
    let suppressed_until = suppressed_until.map(Timestamp::to_rfc3339);
    let Some(contact) = contacts.find(&email).await? else {
        let mut none = "no contact has this address".to_owned();
        if let Some(until) = suppressed_until {
            none += &format!("; it is suppressed until {until}: its owner refused our email");
        }
        return Err(OperatorError::NotFound(none));
    };
    let proof = request.params.is_set("proof").then(|| proof(&contact));
    Answer::one(&ShownRow {
        contact: Rows::new(&request.app).row(&contact).await?,
        proof,
        suppressed_until,
    })
}

fn proof(contact: &Contact) -> ProofRow {
    let consent = contact.consent.as_ref();
    let confirmation = contact.confirmation.as_ref();
    let is_imported = contact.signers.iter().next().is_none();
    let way = consent.map(|consent| consent.way);
    let way = way.or_else(|| is_imported.then_some(SignUpWay::Import));
    ProofRow {
        consent_at: consent.map(|consent| consent.at.to_rfc3339()),
        consent_by: way.map(|way| way.as_str().to_owned()),
        language: consent.and_then(|consent| Some(consent.language?.tag().to_owned())),
        ip: consent.and_then(|consent| Some(consent.ip?.to_string())),
        mailed_at: confirmation.and_then(|given| Some(given.mailed_at?.to_rfc3339())),
        undeliverable_at: confirmation.and_then(|given| Some(given.undeliverable_at?.to_rfc3339())),
        confirmed_ip: confirmation.and_then(|given| Some(given.ip?.to_string())),
        left_at: contact.left_at.map(Timestamp::to_rfc3339),
    }
}

/// Lists the contacts signed up from `since` on and before `until`; with `status` only those in that state,
/// and with `signed_by` only those that it is one of the last four signers of.
pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = Wanted::of(&request)?.list(&request.app).await?;
    tracing::info!(command = LIST, "operator");
    Ok(Answer(Rows::new(&request.app).of(pages)))
}

/// Counts the contacts that [`list`] lists.
pub(super) async fn count(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (wanted, app) = (Wanted::of(&request)?, &request.app);
    let contacts = if wanted.signer.is_none() && wanted.status.is_none() {
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

/// Filter of contacts.
struct Wanted {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    signer: Option<SoughtSigner>,
    status: Option<ContactStatus>,
}

impl Wanted {
    /// The parameters `since`, `until`, `signed_by` and `status`.
    fn of(request: &OperatorRequest) -> Result<Self, OperatorError> {
        let (params, app) = (&request.params, &request.app);
        let signer = params.parsed("signed_by", |text| {
            let sought = SoughtSigner::parse(text, &app.secrets);
            sought.map_err(|error| format!("--signed-by {error}"))
        })?;
        let status = params.parsed("status", |text| match text {
            "all" => Ok(None),
            text => ContactStatus::from_name(text).map(Some).ok_or(BAD_STATUS),
        })?;
        let parse = |text: &str| Timestamp::parse(text).ok_or("since and until must be times");
        Ok(Self {
            since: params.parsed("since", parse)?,
            until: params.parsed("until", parse)?,
            signer,
            status: status.flatten(),
        })
    }

    async fn list(self, app: &Arc<App>) -> Result<ContactStream, OperatorError> {
        let pages = app.contacts.list(self.since, self.until).await?;
        let (signer, status) = (self.signer, self.status);
        if signer.is_none() && status.is_none() {
            return Ok(pages);
        }
        let (app, now) = (Arc::clone(app), app.clock.now());
        let pages = pages.map(move |page| {
            let mut page = page?;
            page.retain(|contact| {
                status.is_none_or(|status| contact.status() == status)
                    && signer
                        .as_ref()
                        .is_none_or(|signer| signer.has_signed(contact, &app.secrets, now))
            });
            Ok(page)
        });
        Ok(pages.boxed())
    }
}

/// Outcome of an erasure request, for the operator's records.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErasureReport {
    /// When it was done, in RFC 3339.
    pub at: String,
    /// The version of the service.
    pub version: String,
    pub addresses: Vec<ErasedAddress>,
    /// True if no file contains any of the addresses.
    pub is_complete: bool,
    /// Files compacted without the addresses.
    pub rewritten: Vec<String>,
    /// Number of deliveries to one of them that were in flight.
    pub in_flight: u64,
    /// Files that may still contain one of them.
    pub remaining: Vec<KeptFile>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ErasedAddress {
    pub email: String,
    /// True if there was a contact.
    pub was_known: bool,
}

/// A file that may still contain an address.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptFile {
    pub file: String,
    /// The reason and the remedy.
    pub reason: String,
}

/// Erases the addresses `email`.
pub(super) async fn forget(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let emails = emails(&request.params)?;
    let now = request.app.clock.now();
    let app = &request.app;
    let (contacts, queue) = (&*app.contacts, &*app.deliveries);
    let erasure = usecases::forget::forget(contacts, queue, app.notices(), &emails, now).await?;
    let is_complete = erasure.is_complete();
    let known = erasure.was_known.iter().filter(|known| **known).count();
    tracing::info!(
        command = FORGET,
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
        in_flight: erasure.in_flight,
        remaining: erasure.remaining.into_iter().map(kept).collect(),
    })
}

fn emails(params: &Params) -> Result<Vec<EmailAddress>, OperatorError> {
    let emails = params.texts("email").into_iter().map(EmailAddress::parse);
    emails
        .collect::<Result<_, _>>()
        .map_err(|error| OperatorError::Input(format!("the address {error}")))
}
