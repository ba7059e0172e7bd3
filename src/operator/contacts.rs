//! Contacts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{
    Confirmation, Consent, Contact, ContactStatus, SignUpWay, TextDigest, Timestamp,
};
use crate::ports::{ContactStream, StoreError};
use crate::usecases;

use super::operation::{Answer, OperatorError, OperatorRequest, Params, json_lines};
use super::signer::SignerFilter;

const BAD_STATUS: &str = "the status must be pending, subscribed, unsubscribed or all";

pub const SHOW: &str = "contacts show";
pub const LIST: &str = "contacts list";
pub const COUNT: &str = "contacts count";
pub const FORGET: &str = "contacts forget";

/// The texts of consents looked up so far. There are few.
type Texts = HashMap<TextDigest, Option<String>>;

/// The text of a consent.
async fn text_of<'a>(
    app: &App,
    texts: &'a mut Texts,
    consent: Option<&Consent>,
) -> Result<Option<&'a str>, StoreError> {
    let Some(digest) = consent.and_then(|consent| consent.text) else {
        return Ok(None);
    };
    let text = match texts.entry(digest) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(app.contacts.consent_text(&digest).await?),
    };
    Ok(text.as_deref())
}

/// A contact. Times are in RFC 3339. `unsubscribe_url` is null unless the operator has set the service's URL.
async fn row(app: &App, texts: &mut Texts, contact: &Contact) -> Result<Value, StoreError> {
    let consent = contact.consent.as_ref();
    let consent_text = text_of(app, texts, consent).await?;
    let confirmation = contact.confirmation.as_ref();
    let confirmed_at = confirmation.and_then(|given| given.confirmed_at);
    let settings = &app.settings;
    let token = contact.leave_token.filter(|_| settings.is_base_url_given);
    let unsubscribe_url = |token| format!("{}/newsletter/leave/{token}", settings.base_url);
    Ok(json!({
        "email": contact.email.as_str(),
        "subscribed_at": contact.subscribed_at.to_rfc3339(),
        "last_seen_at": contact.last_seen_at.to_rfc3339(),
        "status": contact.status().as_str(),
        "confirmed_at": confirmed_at.map(Timestamp::to_rfc3339),
        "source": consent.and_then(|consent| Some(consent.source.as_ref()?.as_str())),
        "consent_text": consent_text,
        "unsubscribe_url": token.map(unsubscribe_url),
    }))
}

/// The proof of a consent: all its stored details. Times are in RFC 3339.
async fn proof(
    app: &App,
    texts: &mut Texts,
    consent: Option<Consent>,
    confirmation: Option<Confirmation>,
    left_at: Option<Timestamp>,
) -> Result<Value, StoreError> {
    let (consent, confirmation) = (consent.as_ref(), confirmation.as_ref());
    let consent_text = text_of(app, texts, consent).await?;
    let time = |at: fn(&Confirmation) -> Option<Timestamp>| Some(at(confirmation?)?.to_rfc3339());
    Ok(json!({
        "consent_at": consent.map(|consent| consent.at.to_rfc3339()),
        "consent_by": consent.map_or(SignUpWay::Import, |consent| consent.way).as_str(),
        "language": consent.and_then(|consent| Some(consent.language?.as_str())),
        "source": consent.and_then(|consent| Some(consent.source.as_ref()?.as_str())),
        "consent_text": consent_text,
        "ip": consent.and_then(|consent| Some(consent.ip?.to_string())),
        // When the relay accepted the confirmation email, or refused it for good.
        "mailed_at": time(|given| given.mailed_at),
        "undeliverable_at": time(|given| given.undeliverable_at),
        "confirmed_at": time(|given| given.confirmed_at),
        "confirmed_ip": confirmation.and_then(|given| Some(given.ip?.to_string())),
        "left_at": left_at.map(Timestamp::to_rfc3339),
    }))
}

/// Shows the contact with the address `email`, with all stored details of its consent.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let [email] = <[_; 1]>::try_from(request.params.emails("email")?)
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
    let (app, texts) = (&request.app, &mut Texts::new());
    let mut shown = row(app, texts, &contact).await?;
    let (consent, confirmation) = (contact.consent, contact.confirmation);
    let current = proof(app, texts, consent, confirmation, contact.left_at).await?;
    let mut previous = Value::Null;
    if let Some(ended) = contact.previous {
        let (consent, confirmation) = (ended.consent, ended.confirmation);
        previous = proof(app, texts, consent, confirmation, Some(ended.left_at)).await?;
    }
    if let (Some(fields), Value::Object(current)) = (shown.as_object_mut(), current) {
        fields.extend(current);
        fields.insert("suppressed_until".to_owned(), suppressed_until.into());
        fields.insert("previous".to_owned(), previous);
    }
    Answer::one(&shown)
}

/// Lists the contacts signed up from `since` on and before `until`; with `status` only those in that state,
/// and with `signed_by` only those that it is one of the last four signers of.
pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = wanted(&request.app, &request.params).await?;
    tracing::info!(command = LIST, "operator");
    let start = (request.app, Texts::new(), pages);
    let lines = stream::try_unfold(start, |(app, mut texts, mut pages)| async move {
        let Some(page) = pages.next().await else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        for contact in page? {
            rows.push(row(&app, &mut texts, &contact).await?);
        }
        Ok(Some((json_lines(rows)?, (app, texts, pages))))
    });
    Ok(Answer(lines.boxed()))
}

/// Counts the contacts that [`list`] lists.
pub(super) async fn count(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let params = &request.params;
    let mut contacts = 0;
    if params.text("signed_by").is_none() && params.text("status").is_none() {
        let [since, until] = period(params)?;
        contacts = request.app.contacts.count(since, until).await?;
    } else {
        let mut pages = wanted(&request.app, params).await?;
        while let Some(page) = pages.next().await {
            contacts += page?.len() as u64;
        }
    }
    Answer::one(&json!({"contacts": contacts}))
}

/// The contacts by the parameters `since`, `until`, `signed_by` and `status`.
async fn wanted(app: &Arc<App>, params: &Params) -> Result<ContactStream, OperatorError> {
    let app = Arc::clone(app);
    let signer = params.parsed("signed_by", |text| {
        let sought = SignerFilter::parse(text, &app.secrets);
        sought.map_err(|error| format!("--signed-by {error}"))
    })?;
    let status = params.parsed("status", |text| match text {
        "all" => Ok(None),
        text => ContactStatus::from_name(text).map(Some).ok_or(BAD_STATUS),
    })?;
    let status = status.flatten();
    let [since, until] = period(params)?;
    let (pages, now) = (app.contacts.list(since, until).await?, app.clock.now());
    let is_wanted = move |contact: &Contact| {
        let is_signer = |signer: &SignerFilter| signer.has_signed(contact, &app.secrets, now);
        status.is_none_or(|status| contact.status() == status)
            && signer.as_ref().is_none_or(is_signer)
    };
    let pages = pages.map_ok(move |mut page| {
        page.retain(&is_wanted);
        page
    });
    Ok(pages.boxed())
}

fn period(params: &Params) -> Result<[Option<Timestamp>; 2], OperatorError> {
    let parse = |text: &str| Timestamp::parse(text).ok_or("since and until must be times");
    Ok([
        params.parsed("since", parse)?,
        params.parsed("until", parse)?,
    ])
}

/// Erases the addresses `email`.
pub(super) async fn forget(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let emails = request.params.emails("email")?;
    let (app, now) = (&request.app, request.app.clock.now());
    let erased = usecases::contacts::forget(app.newsletter(), &*app.deliveries, &emails, now);
    let erasure = erased.await?;
    let known = erasure.was_known.iter().filter(|known| **known).count();
    tracing::info!(
        command = FORGET,
        contacts.known = known,
        contacts.unknown = emails.len() - known,
        complete = erasure.remaining.is_none(),
        "operator"
    );
    let addresses = emails.iter().zip(erasure.was_known);
    let addresses = addresses
        .map(|(email, was_known)| json!({"email": email.as_str(), "was_known": was_known}));
    // For the operator's records. `remaining` is the file that may still contain one of them, the reason and the remedy.
    Answer::one(&json!({
        "at": now.to_rfc3339(),
        "version": env!("CARGO_PKG_VERSION"),
        "addresses": addresses.collect::<Vec<_>>(),
        "in_flight": erasure.in_flight,
        "remaining": erasure.remaining,
    }))
}
