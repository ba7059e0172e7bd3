//! `POST /oauth2/token` issues a token to a registered agent (RFC 6749, section 4.4).

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Serialize;

use crate::domain::{AccessToken, Timestamp};
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::form::{self, FormParams};
use crate::http::request::identity::{self, Basic};
use crate::http::{BodyRule, Code, Endpoint, Errors, Problem, Reply, RequestContext};
use crate::usecases::issue_token::{IssueTokenError, issue_token};

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

/// The only scope.
pub(super) const SCOPE: &str = "public";

/// The challenge to a client that tried `Authorization: Basic` (RFC 6749, section 5.2).
const BASIC: &str = "Basic realm=\"oauth2\"";

/// The fields of RFC 6749, section 5.1.
#[derive(Serialize)]
pub(super) struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    /// Seconds.
    expires_in: u64,
    scope: &'static str,
}

impl<'a> TokenResponse<'a> {
    /// The response for `token`, which is encoded as `text`.
    pub(super) fn new(text: &'a str, token: &AccessToken, now: Timestamp) -> Self {
        Self {
            access_token: text,
            token_type: "Bearer",
            expires_in: token.expires_at().ms_since(now) / 1000,
            scope: SCOPE,
        }
    }
}

async fn token(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let basic = identity::basic(context.headers());
    let is_basic = basic != Basic::Nothing;
    let (client_id, client_secret) = read_request(&form::parse(&body), basic)?;
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
        IssueTokenError::InvalidClient => invalid_client(is_basic),
        IssueTokenError::NotCharged(_) | IssueTokenError::Store(_) => error.into(),
    })?;
    let token = issued.token.encode(&app.secrets.access_token);
    let response = TokenResponse::new(&token, &issued.token, context.now);
    Ok(Reply::json(StatusCode::OK, &response)?.with_decision(issued.decision))
}

/// Parses the client's id and secret from a request of the only grant type.
fn read_request(form: &FormParams, basic: Basic) -> Result<(String, String), Problem> {
    let mut errors = Errors::default();
    let grant_type = form.required("grant_type", &mut errors);
    let scope = form.optional("scope", &mut errors);
    let client_id = form.optional("client_id", &mut errors);
    let client_secret = form.optional("client_secret", &mut errors);
    // One authentication method only (RFC 6749, section 2.3), but some clients repeat the id.
    if basic != Basic::Nothing && client_secret.is_some() {
        let detail = "must be absent when Authorization: Basic is used";
        errors.push("#/client_secret", "duplicate_member", detail);
    }
    if let (Basic::Client { id, .. }, Some(client_id)) = (&basic, client_id)
        && id != client_id
    {
        let detail = "must match the client of Authorization: Basic, or be absent";
        errors.push("#/client_id", "duplicate_member", detail);
    }
    if errors.finish(grant_type)? != "client_credentials" {
        return Err(Problem::of(Code::UnsupportedGrantType));
    }
    if scope.is_some_and(|scope| scope.split(' ').any(|one| one != SCOPE)) {
        return Err(Problem::of(Code::InvalidScope));
    }
    match (basic, client_id, client_secret) {
        (Basic::Client { id, secret }, ..) => Ok((id, secret)),
        (Basic::Nothing, Some(id), Some(secret)) => Ok((id.to_owned(), secret.to_owned())),
        (Basic::Nothing, ..) => Err(invalid_client(false)),
        (Basic::Garbage, ..) => Err(invalid_client(true)),
    }
}

fn invalid_client(is_basic: bool) -> Problem {
    let problem = Problem::of(Code::InvalidClient);
    if is_basic {
        problem.with_challenge(BASIC)
    } else {
        problem
    }
}
