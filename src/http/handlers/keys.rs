//! `POST /api/v1/keys` issues a free key; `GET` describes it.

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::json;

use crate::domain::{Label, PolicyName};
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::json;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;
use crate::usecases::issue_key::issue_key;

use crate::http::handlers::TIER;

pub(crate) const ISSUE_KEY: Endpoint = Endpoint {
    name: "keys.issue",
    paths: PATHS,
    body: Some(BodyRule::json(8)),
    has_effects: true,
    tool: Some((Tool::CreateApiKey, |context, arguments| {
        later(issue(context.clone(), arguments))
    })),
    ..Endpoint::post(|context, body| later(issue(context.clone(), body)))
};

pub(crate) const DESCRIBE_KEYS: Endpoint = Endpoint {
    name: "keys.describe",
    paths: PATHS,
    ..Endpoint::get(|context, _body| Now(describe(context)))
};

const PATHS: &[&str] = &["/api/v1/keys"];

/// Responds with a `CreateKeyResponse`.
async fn issue(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let label = read_request(&body)?;
    let app = context.app();
    let issued = issue_key(
        &*app.keys,
        &*app.entropy,
        app.meter(),
        context.now,
        &context.client,
        label,
    )
    .await?;
    tracing::info!(request.id = %context.id.0, key.id = issued.record.id.to_string(), "a key was issued");
    let quota = app.settings.policies.quota(PolicyName::Default);
    let response = json!({
        "api_key": issued.key.expose(),
        "tier": TIER,
        "label": issued.record.label.as_ref().map(Label::as_str),
        "rate_limit": quota
            .map(|quota| json!({"limit": quota.count(), "window_seconds": quota.window_s()})),
        "expires_at": issued.record.expires_at.to_rfc3339(),
        "documentation": format!("{}/docs", app.settings.base_url),
        "note": "Save this key: it is shown only once. Send it as Authorization: Bearer or as \
                 X-API-Key. No endpoint requires it.",
    });
    Ok(Reply::json(StatusCode::CREATED, response).with_decision(issued.decision))
}

/// Responds with a `KeysDescribeResponse`.
fn describe(context: &RequestContext) -> Result<Reply, Problem> {
    let settings = &context.app().settings;
    let response = json!({
        "endpoint": format!("POST {}/api/v1/keys", settings.base_url),
        "tier": TIER,
        "authentication": "none: creating a key needs no credential; send the key as \
                           Authorization: Bearer or as X-API-Key",
        "body": {
            "label": {
                "type": "string",
                "required": false,
                "minLength": 1,
                "maxLength": Label::LENGTH_MAX,
                "description": "label of the agent or integration",
            }
        },
        "documentation": format!("{}/docs", settings.base_url),
    });
    Ok(Reply::json(StatusCode::OK, response))
}

/// Reads a `CreateKeyRequest`; the body may be absent.
fn read_request(body: &[u8]) -> Result<Option<Label>, Problem> {
    if body.is_empty() {
        return Ok(None);
    }
    json::read(body, Unknown::Rejected, |object, errors| {
        let label = object.optional("label");
        Some(label.and_then(|value| value.parsed(errors, Label::parse_name)))
    })
}
