//! Contacts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::contact::Erasure;
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::http::admin::contact_rows::{ContactRow, FileFormat};
use crate::http::admin::reply::{self, AdminAnswer, AdminError};
use crate::http::admin::request::{AdminRequest, Params};
use crate::usecases::contacts;

/// Shows the contact with the address `email`.
pub(in crate::http::admin) async fn show(request: AdminRequest) -> AdminAnswer {
    let email = request.params.required("email", EmailAddress::parse)?;
    match request.app.contacts.find(&email).await? {
        Some(contact) => reply::json(&ContactRow::from(&contact)),
        None => Err(AdminError::NotFound(
            "no contact has this address".to_owned(),
        )),
    }
}

/// Lists the contacts signed up from `since` on and before `until`, in `format`.
pub(in crate::http::admin) async fn list(request: AdminRequest) -> AdminAnswer {
    let format = request.params.required("format", FileFormat::parse)?;
    let (since, until) = period(&request.params)?;
    let pages = request.app.contacts.list(since, until).await?;
    tracing::info!(command = "contacts list", "operator");
    Ok(format.answer(pages))
}

/// How many contacts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactsCounted {
    /// Their number.
    pub contacts: u64,
}

/// Counts the contacts signed up from `since` on and before `until`.
pub(in crate::http::admin) async fn count(request: AdminRequest) -> AdminAnswer {
    let (since, until) = period(&request.params)?;
    let contacts = contacts::count(&*request.app.contacts, since, until).await?;
    reply::json(&ContactsCounted { contacts })
}

/// The times from which on and before which contacts are wanted.
fn period(params: &Params) -> Result<(Option<Timestamp>, Option<Timestamp>), AdminError> {
    let parse = |text: &str| Timestamp::parse(text).ok_or("is no time");
    let since = params.optional("since", parse)?;
    Ok((since, params.optional("until", parse)?))
}

/// A request to forget.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForgetRequest {
    /// The addresses.
    pub addresses: Vec<String>,
}

/// What became of a request to forget, for the records of whoever answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureReport {
    /// When it was done, in RFC 3339.
    pub at: String,
    /// The version of the service.
    pub version: String,
    /// The addresses.
    pub addresses: Vec<ErasedAddress>,
    /// Whether none of them is in any file any more.
    pub is_complete: bool,
    /// The files that held one and were written anew.
    pub rewritten: Vec<String>,
    /// The files that may still hold one.
    pub remaining: Vec<KeptFile>,
}

/// An address that was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedAddress {
    /// The address.
    pub email: String,
    /// Whether there was a contact.
    pub was_known: bool,
}

/// A file that may still hold an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its name.
    pub file: String,
    /// Why, and what removes it.
    pub reason: String,
}

/// Forgets addresses.
pub(in crate::http::admin) async fn forget(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let ForgetRequest { addresses } = request.json().await?;
    let parsed = addresses.iter().map(|text| EmailAddress::parse(text));
    let emails = parsed.collect::<Result<Vec<_>, _>>();
    let emails = emails.map_err(|error| AdminError::Input(format!("an address {error}")))?;
    let now = app.clock.now();
    let erasure = app.contacts.forget(&emails, now).await?;
    let known = erasure.was_known.iter().filter(|it| **it).count();
    tracing::info!(
        command = "contacts forget",
        contacts.known = known,
        contacts.unknown = emails.len() - known,
        complete = erasure.is_complete(),
        "operator"
    );
    reply::json(&report(&emails, erasure, now))
}

fn report(emails: &[EmailAddress], erasure: Erasure, now: Timestamp) -> ErasureReport {
    let is_complete = erasure.is_complete();
    let addresses = emails.iter().zip(erasure.was_known);
    let remaining = erasure.remaining.into_iter();
    ErasureReport {
        at: now.to_rfc3339(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        addresses: addresses
            .map(|(email, was_known)| ErasedAddress {
                email: email.as_str().to_owned(),
                was_known,
            })
            .collect(),
        is_complete,
        rewritten: erasure.rewritten,
        remaining: remaining
            .map(|it| KeptFile {
                file: it.file,
                reason: it.reason,
            })
            .collect(),
    }
}
