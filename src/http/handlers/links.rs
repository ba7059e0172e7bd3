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

use crate::domain::{Contact, ContactStatus, LeaveToken};
use crate::http::answer::documents::NO_REFERRER;
use crate::http::answer::page::WrittenPage;
use crate::http::endpoint::later;
use crate::http::request::form;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::contacts::{confirm, leave};

pub(crate) const ASK_LEAVE: Endpoint = Endpoint {
    name: "newsletter.leave",
    paths: &["/newsletter/leave/{token}"],
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask_leave(context.clone())))
};

pub(crate) const LEAVE: Endpoint = Endpoint {
    name: "newsletter.left",
    paths: ASK_LEAVE.paths,
    // Read to keep the connection usable.
    body: Some(BodyRule::any(8)),
    has_effects: true,
    is_free: true,
    ..Endpoint::post(|context, _body| later(take_leave(context.clone())))
};

pub(crate) const ASK_CONFIRM: Endpoint = Endpoint {
    name: "newsletter.confirm",
    paths: &["/newsletter/confirm/{token}"],
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask_confirm(context.clone())))
};

pub(crate) const CONFIRM: Endpoint = Endpoint {
    name: "newsletter.confirmed",
    paths: ASK_CONFIRM.paths,
    body: Some(BodyRule::form(1)),
    has_effects: true,
    is_free: true,
    ..Endpoint::post(|context, body| later(take_answer(context.clone(), body)))
};

/// Asks the contact to confirm the unsubscribe.
async fn ask_leave(context: RequestContext) -> Result<Reply, Problem> {
    let linked = linked(&context).await?;
    let state = match linked.as_ref().map(Contact::status) {
        Some(ContactStatus::Pending | ContactStatus::Subscribed) => "leave",
        Some(ContactStatus::Unsubscribed) => "left-again",
        None => "left-unknown",
    };
    contact_page(&context, linked, state)
}

async fn take_leave(context: RequestContext) -> Result<Reply, Problem> {
    let linked = linked(&context).await?;
    let state = match &linked {
        Some(contact) => unsubscribe(&context, contact).await?,
        None => "left-unknown",
    };
    contact_page(&context, linked, state)
}

async fn ask_confirm(context: RequestContext) -> Result<Reply, Problem> {
    let linked = linked(&context).await?;
    let state = match linked.as_ref().map(Contact::status) {
        Some(ContactStatus::Pending) => {
            context.app().metrics.confirmations.shown.increase();
            "confirm"
        }
        Some(ContactStatus::Subscribed) => "confirmed-again",
        Some(ContactStatus::Unsubscribed) | None => "unconfirmed",
    };
    contact_page(&context, linked, state)
}

/// Confirms, unless the form asks to remove the address.
async fn take_answer(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let sent = form::parse(&body);
    let (answer, linked) = (sent.first("answer"), linked(&context).await?);
    let Some(contact) = &linked else {
        // A second press on the button that removes the address says that it is removed.
        let is_removed = answer == Some("refuse");
        let state = if is_removed { "refused" } else { "unconfirmed" };
        return contact_page(&context, None, state);
    };
    let app = context.app();
    let state = match answer {
        Some("confirm") => {
            let ip = app.settings.keeps_consent_ip.then_some(context.address);
            if !confirm(app.newsletter(), contact, ip, context.now).await? {
                // Perhaps it was confirmed by another click a moment ago, or refused.
                return ask_confirm(context).await;
            }
            "confirmed"
        }
        Some("refuse") => unsubscribe(&context, contact).await?,
        // The form of another page.
        Some(_) | None => return ask_confirm(context).await,
    };
    contact_page(&context, linked, state)
}

/// Unsubscribes `contact`. Returns the state of its page.
async fn unsubscribe(context: &RequestContext, contact: &Contact) -> Result<&'static str, Problem> {
    leave(context.app().newsletter(), contact, context.now).await?;
    Ok(match contact.status() {
        // It gets no email for a while.
        ContactStatus::Pending => "refused",
        ContactStatus::Subscribed => "left",
        ContactStatus::Unsubscribed => "left-again",
    })
}

/// The contact of the link. For an unknown link, its network is charged: rendering the page costs much
/// more than a refusal. A valid link works however many requests its network has sent.
async fn linked(context: &RequestContext) -> Result<Option<Contact>, Problem> {
    let app = context.app();
    let path = context.parts.uri.path();
    if let Some(token) = path.rsplit('/').next().and_then(LeaveToken::parse)
        && let Some(contact) = app.contacts.find_by_token(&token).await?
    {
        return Ok(Some(contact));
    }
    let charges = app.meter().network_charges(&context.client);
    let decision = app.meter().acquire(&charges, context.now).await?.decision;
    match decision.is_refused() {
        true => Err(Problem::rate_limited(decision)),
        false => Ok(None),
    }
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
    let page = WrittenPage {
        status: StatusCode::OK,
        language: language.unwrap_or_else(|| context.language()),
        layout: "parts/contact.html",
        title: &format!("{state}-title"),
        path: None,
        values: json!({ "state": state, "address": address }),
    };
    let mut reply = page.reply(&context.state().templates)?;
    let headers = reply.response.headers_mut();
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    Ok(reply)
}
