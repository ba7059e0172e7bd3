//! The links of emails: `/newsletter/leave/TOKEN` unsubscribes, `/newsletter/confirm/TOKEN` confirms a
//! sign-up.
//!
//! The pages only show buttons, and viewing them changes nothing: email scanners follow every link, and run
//! scripts. The POST that unsubscribes is also that of mailbox providers (RFC 8058): no cookie, any origin,
//! any body, no redirect, and 200 even for an unknown token. Providers ask from a few addresses, so only
//! unknown links are counted. The token is never logged, and no page it leads to passes it on.

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::REFERRER_POLICY;
use serde_json::json;

use crate::domain::{Confirming, Contact, ContactStatus, LeaveToken};
use crate::http::answer::documents::NO_REFERRER;
use crate::http::answer::page::WrittenPage;
use crate::http::endpoint::later;
use crate::http::request::{form, negotiate};
use crate::http::{BodyRule, Code, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::admit::admit_network;
use crate::usecases::confirm::confirm;
use crate::usecases::leave::leave;

pub(crate) const ASK_LEAVE: Endpoint = Endpoint {
    name: "newsletter.leave",
    paths: &["/newsletter/leave/{token}"],
    is_described: false,
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask_leave(context.clone())))
};

pub(crate) const LEAVE: Endpoint = Endpoint {
    name: "newsletter.left",
    paths: ASK_LEAVE.paths,
    // Read to keep the connection usable.
    body: Some(BodyRule::any(8)),
    has_effects: true,
    is_described: false,
    is_free: true,
    ..Endpoint::post(|context, _body| later(take_leave(context.clone())))
};

pub(crate) const ASK_CONFIRM: Endpoint = Endpoint {
    name: "newsletter.confirm",
    paths: &["/newsletter/confirm/{token}"],
    is_described: false,
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask_confirm(context.clone())))
};

pub(crate) const CONFIRM: Endpoint = Endpoint {
    name: "newsletter.confirmed",
    paths: ASK_CONFIRM.paths,
    body: Some(BodyRule::form(1)),
    has_effects: true,
    is_described: false,
    is_free: true,
    ..Endpoint::post(|context, body| later(take_answer(context.clone(), body)))
};

/// Asks the contact to confirm the unsubscribe.
async fn ask_leave(context: RequestContext) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let state = match contact.as_ref().map(Contact::status) {
        Some(ContactStatus::Pending | ContactStatus::Subscribed) => "leave",
        Some(ContactStatus::Unsubscribed) => "left-again",
        None => "left-unknown",
    };
    contact_page(&context, contact, state)
}

async fn take_leave(context: RequestContext) -> Result<Reply, Problem> {
    let app = context.app();
    let contact = match token(&context) {
        Some(token) => {
            let now = context.now;
            leave(&*app.contacts, app.notices(), &app.metrics, &token, now).await?
        }
        None => None,
    };
    let contact = counted(&context, contact).await?;
    let state = contact.as_ref().map_or("left-unknown", after_leaving);
    contact_page(&context, contact, state)
}

async fn ask_confirm(context: RequestContext) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let state = match contact.as_ref().map(Contact::status) {
        Some(ContactStatus::Pending) => {
            context.app().metrics.confirmations.shown.increase();
            "confirm"
        }
        Some(ContactStatus::Subscribed) => "confirmed-again",
        Some(ContactStatus::Unsubscribed) | None => "unconfirmed",
    };
    contact_page(&context, contact, state)
}

/// Confirms, unless the form asks to remove the address.
async fn take_answer(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let Some(token) = token(&context) else {
        return contact_page(&context, contact, "unconfirmed");
    };
    let (app, now) = (context.app(), context.now);
    let (contacts, metrics) = (&*app.contacts, &app.metrics);
    let sent = form::parse(&body);
    let state = match sent.first("answer") {
        Some("confirm") => {
            let keeps_ip = app.settings.keeps_consent_ip;
            let ip = keeps_ip.then_some(context.address);
            match confirm(contacts, app.notices(), metrics, &token, ip, now).await? {
                Confirming::Confirmed => "confirmed",
                Confirming::ConfirmedBefore => "confirmed-again",
                Confirming::Unknown => "unconfirmed",
            }
        }
        Some("refuse") => {
            let left = leave(contacts, app.notices(), metrics, &token, now).await?;
            left.map_or("refused", |contact| after_leaving(&contact))
        }
        // The form of another page.
        Some(_) | None => return ask_confirm(context).await,
    };
    contact_page(&context, contact, state)
}

/// The state of the page for a contact that was like this before it unsubscribed.
fn after_leaving(contact: &Contact) -> &'static str {
    match contact.status() {
        // It gets no email for a while.
        ContactStatus::Pending => "refused",
        ContactStatus::Subscribed => "left",
        ContactStatus::Unsubscribed => "left-again",
    }
}

/// The contact of the link.
async fn contact(context: &RequestContext) -> Result<Option<Contact>, Problem> {
    let found = match token(context) {
        Some(token) => context.app().contacts.find_by_token(&token).await?,
        None => None,
    };
    counted(context, found).await
}

/// Charges the network for an unknown link: rendering the page costs much more than a refusal. A valid link
/// works however many requests its network has sent.
async fn counted(
    context: &RequestContext,
    found: Option<Contact>,
) -> Result<Option<Contact>, Problem> {
    if found.is_none() {
        let (meter, now) = (context.app().meter(), context.now);
        let decision = admit_network(meter, now, &context.client).await?;
        if decision.is_refused() {
            return Err(Problem::refused(Code::RateLimited, &decision).with_decision(decision));
        }
    }
    Ok(found)
}

/// The token in the path, if it has the form of one.
fn token(context: &RequestContext) -> Option<LeaveToken> {
    let path = context.parts.uri.path();
    LeaveToken::parse(path.rsplit('/').next()?)
}

/// A page in the language in which the contact signed up, with its masked address and the messages whose names begin
/// with `state`.
fn contact_page(
    context: &RequestContext,
    contact: Option<Contact>,
    state: &str,
) -> Result<Reply, Problem> {
    let address = contact.as_ref().map(|contact| contact.email.masked());
    let language = contact.and_then(|contact| contact.consent?.language);
    let asked = || negotiate::language(&context.parts);
    let page = WrittenPage {
        status: StatusCode::OK,
        language: language.unwrap_or_else(asked),
        layout: "parts/contact.html",
        title: &format!("{state}-title"),
        path: None,
        values: json!({ "state": state, "address": address }),
    };
    let mut reply = page.reply(&context.state().page_writer)?;
    reply.headers.insert(REFERRER_POLICY, NO_REFERRER);
    Ok(reply)
}
