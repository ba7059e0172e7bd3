//! `/newsletter/leave/TOKEN`: leaving the newsletter.
//!
//! The page only shows a button: programs that look into mails follow every link. The button's POST is that of
//! mailbox providers, too (RFC 8058): no cookie, any origin, any body, no redirect, and 200 also for a token
//! that nobody has. All of them ask from a few addresses, so only links that are nobody's are counted. The
//! token stands in no log, and no page that it leads to sends it on.

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::REFERRER_POLICY;
use serde_json::{Value, json};

use crate::domain::{Contact, ContactStatus, LeaveToken};
use crate::http::answer::documents::NO_REFERRER;
use crate::http::answer::page::WrittenPage;
use crate::http::endpoint::later;
use crate::http::request::negotiate;
use crate::http::{BodyRule, Code, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::admit::admit_network;
use crate::usecases::leave::leave;

const PATHS: &[&str] = &["/newsletter/leave/{token}"];

pub(crate) const ASK: Endpoint = Endpoint {
    name: "newsletter.leave",
    paths: PATHS,
    is_described: false,
    is_free: true,
    ..Endpoint::get(|context, _body| later(ask(context.clone())))
};

pub(crate) const LEAVE: Endpoint = Endpoint {
    name: "newsletter.left",
    paths: PATHS,
    // It is read for the connection's sake.
    body: Some(BodyRule::any(8)),
    has_effects: true,
    is_described: false,
    is_free: true,
    ..Endpoint::post(|context, _body: Bytes| later(take_leave(context.clone())))
};

/// Asks whether the contact wants to leave.
async fn ask(context: RequestContext) -> Result<Reply, Problem> {
    let contact = contact(&context).await?;
    let can_leave = |it: &Contact| it.status() != ContactStatus::Unsubscribed;
    let can_leave = contact.as_ref().is_some_and(can_leave);
    page(&context, contact, can_leave)
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
    page(&context, counted(&context, contact).await?, false)
}

/// The contact that the link is of.
pub(super) async fn contact(context: &RequestContext) -> Result<Option<Contact>, Problem> {
    let found = match token(context) {
        Some(token) => context.app().contacts.find_by_token(&token).await?,
        None => None,
    };
    counted(context, found).await
}

/// Charges the network for a link that is nobody's: rendering the page costs much more than a refusal. A good
/// link works however many requests its network has sent.
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

/// The token in the path, if it is one.
pub(super) fn token(context: &RequestContext) -> Option<LeaveToken> {
    let path = context.parts.uri.path();
    LeaveToken::parse(path.rsplit('/').next()?)
}

/// The page with the button, or the one that says that there are no more mails.
fn page(
    context: &RequestContext,
    contact: Option<Contact>,
    can_leave: bool,
) -> Result<Reply, Problem> {
    // One that was to be confirmed is sent no mail for a while.
    let has_refused = !can_leave && contact.as_ref().is_some_and(Contact::is_pending);
    let title = if can_leave {
        "leave-title"
    } else {
        "left-title"
    };
    let values = json!({ "can_leave": can_leave, "has_refused": has_refused });
    contact_page(context, contact, "parts/leave.html", title, values)
}

/// A page in the language in which the contact signed up.
pub(super) fn contact_page(
    context: &RequestContext,
    contact: Option<Contact>,
    layout: &str,
    title: &str,
    values: Value,
) -> Result<Reply, Problem> {
    let language = contact.and_then(|it| it.consent?.language);
    let asked = || negotiate::language(&context.parts.uri, context.headers());
    let page = WrittenPage {
        status: StatusCode::OK,
        language: language.unwrap_or_else(asked),
        layout,
        title,
        path: None,
        values,
    };
    let mut reply = page.reply(&context.state().page_writer)?;
    reply.headers.insert(REFERRER_POLICY, NO_REFERRER);
    Ok(reply)
}
