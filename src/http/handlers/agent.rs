//! `POST /agent/auth` registers an agent (the auth.md proposal, v0.1); `POST /agent/auth/revoke` revokes
//! a credential (RFC 7009).

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Serialize;

use crate::domain::Label;
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::form;
use crate::http::request::json;
use crate::http::{
    BodyRule, Code, Endpoint, Errors, JsonObject, Problem, Reply, RequestContext, Unknown,
};
use crate::usecases::register_agent::register_agent;
use crate::usecases::revoke::{Revoked, revoke as revoke_credential};

use crate::http::handlers::TIER;
use crate::http::handlers::oauth::{SCOPE, TokenResponse};

pub(crate) const REGISTER: Endpoint = Endpoint {
    name: "agent.register",
    paths: &["/agent/auth"],
    // An identity assertion is refused for its type, not for its size of some kilobytes.
    body: Some(BodyRule::json(64)),
    ..Endpoint::post(|context, body| later(register(context.clone(), body)))
};

pub(crate) const CLAIM: Endpoint = Endpoint {
    name: "agent.claim",
    paths: &["/agent/auth/claim", "/agent/auth/claim/complete"],
    ..Endpoint::post(|_context, _body| Now(Err(Problem::of(Code::ClaimNotEnabled))))
};

pub(crate) const REVOKE: Endpoint = Endpoint {
    name: "agent.revoke",
    paths: &["/agent/auth/revoke"],
    body: Some(BodyRule {
        // Sent by identity providers in the auth.md proposal (v0.1).
        refused: Some(("application/logout+jwt", Code::IssuerNotEnabled)),
        ..BodyRule::form(8)
    }),
    has_effects: true,
    ..Endpoint::post(|context, body| later(revoke(context.clone(), body)))
};

/// The fields of RFC 6749, section 5.1, of RFC 7591, section 3.2.1, and of auth.md.
#[derive(Serialize)]
struct RegisterResponse<'a> {
    registration_id: &'a str,
    registration_type: &'static str,
    client_id: &'a str,
    client_secret: String,
    /// Seconds since the Unix epoch.
    client_secret_expires_at: u64,
    #[serde(flatten)]
    token: TokenResponse<'a>,
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    credential_type: &'static str,
    credential: &'a str,
    credential_expires: String,
    scopes: [&'static str; 1],
}

/// The only registration type.
const ANONYMOUS: &str = "anonymous";

/// The only credential type.
const ACCESS_TOKEN: &str = "access_token";

async fn register(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let label = read_request(&body)?;
    let app = context.app();
    let registered =
        register_agent(&*app.entropy, app.meter(), context.now, &context.client).await?;
    let registration = &registered.registration;
    let client_id = registration.client_id();
    tracing::info!(request.id = %context.id, agent.client_id = client_id, "an agent registered");
    let token = registered.token.encode(&app.secrets.access_token);
    let response = RegisterResponse {
        registration_id: &client_id,
        registration_type: ANONYMOUS,
        client_id: &client_id,
        client_secret: registration.client_secret(&app.secrets.client_secret),
        client_secret_expires_at: registration.expires_at().as_ms() / 1000,
        token: TokenResponse::new(&token, &registered.token, context.now),
        tier: TIER,
        label: label.as_ref().map(Label::as_str),
        credential_type: ACCESS_TOKEN,
        credential: &token,
        credential_expires: registered.token.expires_at().to_rfc3339(),
        scopes: [SCOPE],
    };
    Ok(Reply::json(StatusCode::CREATED, &response)?.with_decision(registered.decision))
}

/// The response is the same whether or not there was anything to revoke (RFC 7009, section 2.2).
async fn revoke(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let form = form::parse(&body);
    let mut errors = Errors::default();
    let token = form.required("token", &mut errors);
    // The hint is not needed: keys and tokens differ in form.
    form.optional("token_type_hint", &mut errors);
    let token = errors.finish(token)?;
    match revoke_credential(context.app().credentials(), context.now, token).await? {
        Some(Revoked::Key(record)) => {
            tracing::info!(request.id = %context.id, key.id = record.id.to_string(), "a key was revoked");
        }
        Some(Revoked::Agent(registration)) => {
            let client_id = registration.client_id();
            tracing::info!(request.id = %context.id, agent.client_id = client_id, "an agent was revoked");
        }
        None => {}
    }
    Ok(Reply::empty())
}

/// Parses a registration. Unknown fields are ignored, because clients of the proposal send some.
fn read_request(body: &[u8]) -> Result<Option<Label>, Problem> {
    let mut errors = Errors::default();
    let Some(mut object) = json::parse(body)?.object(&mut errors) else {
        return errors.finish(None);
    };
    if let Some(kind) = object.required("type", &mut errors)
        && let Some(name) = kind.string(&mut errors)
    {
        match &*name {
            ANONYMOUS => {}
            "identity_assertion" => {
                // Other errors come first.
                errors.finish(Some(()))?;
                return Err(not_enabled(&mut object));
            }
            _ => errors.push(kind.pointer(), "enum", "must be anonymous"),
        }
    }
    let label = object
        .optional("label")
        .and_then(|value| value.parsed(&mut errors, Label::parse_name));
    let credential_type = object
        .optional("requested_credential_type")
        .and_then(|value| value.string(&mut errors));
    object.finish(Unknown::Ignored, &mut errors);
    let label = errors.finish(Some(label))?;
    match credential_type.as_deref() {
        None | Some(ACCESS_TOKEN) => Ok(label),
        Some(_) => Err(Problem::of(Code::UnsupportedCredentialType)),
    }
}

/// The problem of an identity assertion, by its type. The rest of it is not read.
fn not_enabled(object: &mut JsonObject<'_>) -> Problem {
    let assertion_type = object
        .optional("assertion_type")
        .and_then(|value| value.string(&mut Errors::default()));
    Problem::of(match assertion_type.as_deref() {
        Some("verified_email") => Code::VerifiedEmailNotEnabled,
        Some(_) | None => Code::IdentityAssertionNotEnabled,
    })
}
