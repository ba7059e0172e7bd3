//! `POST /api/v1/newsletter` and its legacy alias sign an e-mail address up.

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Serialize;

use crate::domain::{EmailAddress, EmailError};
use crate::http::request::json;
use crate::http::{BodyRule, Endpoint, McpTool, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;
use crate::usecases::subscribe::{Outcome, subscribe};

pub(crate) const SUBSCRIBE: Endpoint = Endpoint {
    name: "newsletter.subscribe",
    paths: &["/api/v1/newsletter", "/api/newsletter"],
    body: Some(BodyRule::json(8)),
    has_effects: true,
    tool: Some(McpTool {
        tool: Tool::SubscribeNewsletter,
        handler: |context, arguments| Box::pin(sign_up(context, arguments)),
    }),
    ..Endpoint::post(|context, body| Box::pin(sign_up(context, body)))
};

#[derive(Serialize)]
struct NewsletterSubscribeResponse {
    ok: bool,
    mode: &'static str,
    #[serde(rename = "alreadyExists", skip_serializing_if = "Option::is_none")]
    already_exists: Option<bool>,
}

async fn sign_up(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let email = read_request(&body)?;
    let app = context.app();
    let subscribed = subscribe(
        app.newsletter(),
        app.meter(),
        context.now,
        &context.client,
        email,
    )
    .await?;
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
