//! `POST /api/v1/newsletter` and its legacy alias sign up an email address.

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::ORIGIN;
use serde_json::json;

use crate::domain::{EmailAddress, EmailError, SignUpWay};
use crate::http::endpoint::later;
use crate::http::request::evidence::evidence;
use crate::http::request::{form, json};
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;
use crate::usecases::subscribe::subscribe;

pub(crate) const SUBSCRIBE: Endpoint = Endpoint {
    name: "newsletter.subscribe",
    paths: &["/api/v1/newsletter", "/api/newsletter"],
    body: Some(BodyRule::json(8)),
    has_effects: true,
    tool: Some((Tool::SubscribeNewsletter, |context, arguments| {
        later(sign_up(context.clone(), arguments, SignUpWay::Tool))
    })),
    ..Endpoint::post(|context, body| later(sign_up(context.clone(), body, way(context))))
};

/// Origin of the sign-up: browsers send the origin of the page whose script calls the API.
fn way(context: &RequestContext) -> SignUpWay {
    match context.headers().contains_key(ORIGIN) {
        true => SignUpWay::Element,
        false => SignUpWay::Api,
    }
}

/// Responds with a `NewsletterSubscribeResponse`.
async fn sign_up(context: RequestContext, body: Bytes, way: SignUpWay) -> Result<Reply, Problem> {
    let email = read_request(&body)?;
    let app = context.app();
    let query = context.parts.uri.query().unwrap_or_default();
    let query = form::parse(query.as_bytes());
    // The body allows no other fields, so a page puts its name in the query. Invalid names are left out.
    let named = query.first("source");
    let language = (way == SignUpWay::Element).then(|| context.language());
    let evidence = evidence(&context, way, named, language);
    let subscribed = subscribe(app.newsletter(), &context.client, email, evidence).await?;
    let mode = match subscribed.is_passed_on {
        true => "notify",
        false => "contact",
    };
    let already_exists = subscribed.already_exists;
    let response = json!({ "ok": true, "mode": mode, "alreadyExists": already_exists });
    Ok(Reply::json(StatusCode::OK, response).with_decision(subscribed.decision))
}

/// Reads a `NewsletterSubscribeRequest`.
fn read_request(body: &[u8]) -> Result<EmailAddress, Problem> {
    json::read(body, Unknown::Rejected, |object, errors| {
        let email = object.required("email", errors)?;
        email.parsed(errors, |text| EmailAddress::parse(&text))
    })
}

impl json::Invalidity for EmailError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "length",
            Self::Malformed => "format",
        }
    }
}
