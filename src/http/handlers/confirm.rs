//! `/newsletter/confirm/TOKEN`: confirming a sign-up, by an emailed link.
//!
//! The page shows two buttons, and viewing it changes nothing: email scanners follow every link, and run
//! scripts. The token is never logged, and no page it leads to passes it on.

use hyper::body::Bytes;
use serde_json::json;

use crate::domain::{Confirming, Contact, ContactStatus};
use crate::http::endpoint::later;
use crate::http::request::form;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::confirm::confirm;
use crate::usecases::leave::leave;

use super::leave::{contact, contact_page, token};

const PATHS: &[&str] = &["/newsletter/confirm/{token}"];

pub(crate) const ASK: Endpoint = Endpoint {
    name: "newsletter.confirm",
    paths: PATHS,
    is_described: false,
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask(context.clone())))
};

pub(crate) const ANSWER: Endpoint = Endpoint {
    name: "newsletter.confirmed",
    paths: PATHS,
    body: Some(BodyRule::form(1)),
    has_effects: true,
    is_described: false,
    is_free: true,
    ..Endpoint::post(|context, body| later(answer(context.clone(), body)))
};

async fn ask(context: RequestContext) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let state = match contact.as_ref().map(Contact::status) {
        Some(ContactStatus::Pending) => {
            context.app().metrics.confirmations.shown.increase();
            State::Asked
        }
        Some(ContactStatus::Subscribed) => State::Confirmed,
        Some(ContactStatus::Unsubscribed) | None => State::Unknown,
    };
    page(&context, contact, state)
}

/// Confirms, unless the form asks to remove the address.
async fn answer(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let Some(token) = token(&context) else {
        return page(&context, contact, State::Unknown);
    };
    let (app, now) = (context.app(), context.now);
    let (contacts, metrics) = (&*app.contacts, &app.metrics);
    let sent = form::parse(&body);
    let state = match sent.first("answer") {
        Some("confirm") => {
            let keeps_ip = app.settings.keeps_consent_ip;
            let ip = keeps_ip.then_some(context.address);
            match confirm(contacts, app.notices(), metrics, &token, ip, now).await? {
                Confirming::Confirmed | Confirming::ConfirmedBefore => State::Confirmed,
                Confirming::Unknown => State::Unknown,
            }
        }
        Some("refuse") => {
            let left = leave(contacts, app.notices(), metrics, &token, now).await?;
            match left.is_none_or(|contact| contact.is_pending()) {
                true => State::Refused,
                false => State::Left,
            }
        }
        // The form of another page.
        Some(_) | None => return ask(context).await,
    };
    page(&context, contact, state)
}

/// Content of the page.
#[derive(Clone, Copy)]
enum State {
    Asked,
    Confirmed,
    Refused,
    Left,
    Unknown,
}

fn page(
    context: &RequestContext,
    contact: Option<Contact>,
    state: State,
) -> Result<Reply, Problem> {
    let (title, state) = match state {
        State::Asked => ("confirm-title", "asked"),
        State::Confirmed => ("confirmed-title", "confirmed"),
        State::Refused => ("refused-title", "refused"),
        State::Left => ("left-title", "left"),
        State::Unknown => ("unconfirmed-title", "unknown"),
    };
    let values = json!({ "state": state });
    contact_page(context, contact, "parts/confirm.html", title, values)
}
