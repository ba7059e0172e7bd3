//! `POST /api/v1/newsletter` and its legacy alias sign an address up.

use hyper::StatusCode;
use serde::Serialize;

use crate::domain::email::{EmailAddress, EmailError};
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::wire::{self, Errors, Unknown};
use crate::usecases::subscribe::{Outcome, SubscribeError, subscribe as subscribe_contact};

use crate::http::context::RequestContext;

#[derive(Serialize)]
struct NewsletterSubscribeResponse {
    ok: bool,
    mode: &'static str,
    #[serde(rename = "alreadyExists", skip_serializing_if = "Option::is_none")]
    already_exists: Option<bool>,
}

pub(super) async fn subscribe(context: &RequestContext, body: &[u8]) -> Result<Reply, Problem> {
    let email = read_request(body)?;
    let app = context.app();
    let subscribed = subscribe_contact(
        app.newsletter(),
        app.meter(),
        context.now,
        &context.client,
        email,
    )
    .await
    .map_err(problem)?;
    let (mode, already_exists) = match subscribed.outcome {
        Outcome::Kept { already_exists } => ("contact", already_exists),
        Outcome::PassedOn => ("notify", None),
    };
    let response = NewsletterSubscribeResponse {
        ok: true,
        mode,
        already_exists,
    };
    Ok(Reply::json(StatusCode::OK, &response)?.with_decision(subscribed.decision))
}

/// Reads a `NewsletterSubscribeRequest` (spec 2.8).
fn read_request(body: &[u8]) -> Result<EmailAddress, Problem> {
    let mut errors = Errors::default();
    let email = wire::parse(body)?
        .object(&mut errors)
        .and_then(|mut object| {
            let email = object
                .required("email", &mut errors)
                .and_then(|value| value.parsed(&mut errors, |text| EmailAddress::parse(&text)));
            object.finish(Unknown::Rejected, &mut errors);
            email
        });
    errors.finish(email)
}

impl wire::Invalidity for EmailError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "length",
            Self::Malformed => "format",
        }
    }
}

fn problem(error: SubscribeError) -> Problem {
    match error {
        SubscribeError::Refused(decision) => {
            Problem::refused(Code::RateLimited, &decision).with_decision(decision)
        }
        SubscribeError::Store(decision, cause) => Problem::of(Code::NewsletterUnavailable)
            .with_decision(decision)
            .because(cause),
        SubscribeError::Provider(decision, cause) => Problem::of(Code::NewsletterUnavailable)
            .with_decision(decision)
            .because(cause),
        SubscribeError::Limiter(cause) => Problem::from(cause),
        SubscribeError::Entropy(cause) => Problem::of(Code::InternalError).because(cause),
    }
}
