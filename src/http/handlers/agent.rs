//! `POST /agent/auth` registers an agent (the auth.md proposal, v0.1); `POST /oauth2/token` issues it a token
//! (RFC 6749, section 4.4); `POST /agent/auth/revoke` revokes a credential (RFC 7009).

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::json;

use crate::domain::Label;
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::form::{self, FormParams};
use crate::http::request::identity;
use crate::http::request::json;
use crate::http::{
    BodyRule, Code, Endpoint, Errors, JsonObject, Problem, Reply, RequestContext, Unknown,
};
use crate::usecases::agents::{IssueTokenError, issue_token, register_agent};
use crate::usecases::revoke::{Revoked, revoke as revoke_credential};

use crate::http::handlers::TIER;

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

pub(crate) const TOKEN: Endpoint = Endpoint {
    name: "oauth.token",
    paths: &["/oauth2/token"],
    body: Some(BodyRule::form(8)),
    ..Endpoint::post(|context, body| later(token(context.clone(), body)))
};

/// Never a redirect: nobody can sign in here.
pub(crate) const AUTHORIZE: Endpoint = Endpoint {
    name: "oauth.authorize",
    paths: &["/oauth2/authorize"],
    ..Endpoint::get(|_context, _body| Now(Err(Problem::of(Code::UnsupportedResponseType))))
};

/// The only registration type.
const ANONYMOUS: &str = "anonymous";

/// The only credential type.
const ACCESS_TOKEN: &str = "access_token";

/// Responds with the fields of RFC 6749, section 5.1, of RFC 7591, section 3.2.1, and of auth.md.
async fn register(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let label = read_request(&body)?;
    let app = context.app();
    let registered =
        register_agent(&*app.entropy, app.meter(), context.now, &context.client).await?;
    let registration = &registered.token.registration;
    let client_id = registration.client_id();
    tracing::info!(request.id = %context.id.0, agent.client_id = client_id, "an agent registered");
    let token = registered.token.encode(&app.secrets.access_token);
    let expires_at = registered.token.expires_at;
    let response = json!({
        "registration_id": client_id,
        "registration_type": ANONYMOUS,
        "client_id": client_id,
        "client_secret": registration.client_secret(&app.secrets.client_secret),
        "client_secret_expires_at": registration.expires_at().as_ms() / 1000,
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": expires_at.ms_since(context.now) / 1000,
        "scope": SCOPE,
        "tier": TIER,
        "label": label.as_ref().map(Label::as_str),
        "credential_type": ACCESS_TOKEN,
        "credential": token,
        "credential_expires": expires_at.to_rfc3339(),
        "scopes": [SCOPE],
    });
    Ok(Reply::json(StatusCode::CREATED, response).with_decision(registered.decision))
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
            tracing::info!(request.id = %context.id.0, key.id = record.id.to_string(), "a key was revoked");
        }
        Some(Revoked::Agent(registration)) => {
            let client_id = registration.client_id();
            tracing::info!(request.id = %context.id.0, agent.client_id = client_id, "an agent was revoked");
        }
        None => {}
    }
    Ok(Reply::empty())
}

/// Parses a registration. Unknown fields are ignored, because clients of the proposal send some.
/// Errors of fields are reported before a method or type that is not enabled.
fn read_request(body: &[u8]) -> Result<Option<Label>, Problem> {
    json::read(body, Unknown::Ignored, |object, errors| {
        let kind = object.required("type", errors);
        match kind.and_then(|kind| kind.string(errors)).as_deref() {
            Some(ANONYMOUS) | None => {}
            Some("identity_assertion") => return Some(Err(not_enabled(object))),
            Some(_) => errors.push("#/type", "enum", "must be anonymous"),
        }
        let label = object.optional("label");
        let label = label.and_then(|value| value.parsed(errors, Label::parse_name));
        let credential_type = object.optional("requested_credential_type");
        let credential_type = credential_type.and_then(|value| value.string(errors));
        Some(match credential_type.as_deref() {
            None | Some(ACCESS_TOKEN) => Ok(label),
            Some(_) => Err(Problem::of(Code::UnsupportedCredentialType)),
        })
    })?
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

/// The only scope.
const SCOPE: &str = "public";

/// The challenge to a client that tried `Authorization: Basic` (RFC 6749, section 5.2).
const BASIC: &str = "Basic realm=\"oauth2\"";

/// Responds with the fields of RFC 6749, section 5.1.
async fn token(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let basic = identity::basic(context.headers());
    let is_basic = basic.is_some();
    let (client_id, client_secret) = read_grant(&form::parse(&body), basic)?;
    let app = context.app();
    let issued = issue_token(
        app.credentials(),
        app.meter(),
        context.now,
        &context.client,
        &client_id,
        &client_secret,
    )
    .await
    .map_err(|error| match error {
        IssueTokenError::InvalidClient if is_basic => Problem::from(error).with_challenge(BASIC),
        IssueTokenError::InvalidClient
        | IssueTokenError::NotCharged(_)
        | IssueTokenError::Store(_) => error.into(),
    })?;
    let response = json!({
        "access_token": issued.token.encode(&app.secrets.access_token),
        "token_type": "Bearer",
        "expires_in": issued.token.expires_at.ms_since(context.now) / 1000,
        "scope": SCOPE,
    });
    Ok(Reply::json(StatusCode::OK, response).with_decision(issued.decision))
}

/// Parses the client's id and secret from a request of the only grant type. Those in the headers come first.
fn read_grant(
    form: &FormParams,
    basic: Option<(String, String)>,
) -> Result<(String, String), Problem> {
    let mut errors = Errors::default();
    let grant_type = form.required("grant_type", &mut errors);
    let scope = form.optional("scope", &mut errors);
    let client_id = form.optional("client_id", &mut errors);
    let client_secret = form.optional("client_secret", &mut errors);
    if errors.finish(grant_type)? != "client_credentials" {
        return Err(Problem::of(Code::UnsupportedGrantType));
    }
    if scope.is_some_and(|scope| scope.split(' ').any(|one| one != SCOPE)) {
        return Err(Problem::of(Code::InvalidScope));
    }
    let in_form = || Some((client_id?.to_owned(), client_secret?.to_owned()));
    basic
        .or_else(in_form)
        .ok_or_else(|| Problem::of(Code::InvalidClient))
}
