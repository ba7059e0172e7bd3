//! `/newsletter/confirm/TOKEN`: confirming a sign-up, by an emailed link.
//!
//! The page shows two buttons, and viewing it changes nothing: email scanners follow every link, and run
//! scripts. The token is never logged, and no page it leads to passes it on.

use hyper::body::Bytes;

use crate::domain::{Confirming, Contact, ContactStatus};
use crate::http::endpoint::later;
use crate::http::request::form;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::confirm::confirm;
use crate::usecases::leave::leave;

use super::leave::{after_leaving, contact, contact_page, token};

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
            "confirm"
        }
        Some(ContactStatus::Subscribed) => "confirmed-again",
        Some(ContactStatus::Unsubscribed) | None => "unconfirmed",
    };
    contact_page(&context, contact, state)
}

/// Confirms, unless the form asks to remove the address.
async fn answer(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
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
        Some(_) | None => return ask(context).await,
    };
    contact_page(&context, contact, state)
}
