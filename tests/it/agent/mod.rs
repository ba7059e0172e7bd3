//! `/agent/auth` and what an agent gets there.

mod oauth;
mod program;
mod revoke;
mod walk;

use landing_api::domain::secret::Secret;
use landing_api::domain::{AccessToken, Registration};

use crate::prelude::*;

const PATH: &str = "/agent/auth";
/// What every challenge begins with.
const METADATA: &str =
    "Bearer resource_metadata=\"http://landing.example/.well-known/oauth-protected-resource\"";
const DAY_MS: u64 = 86_400_000;

pub(crate) struct Agent {
    pub(crate) client_id: String,
    client_secret: String,
    pub(crate) token: String,
}

impl Agent {
    /// A token request with `more` behind what it needs.
    pub(crate) fn exchange(&self, more: &str) -> Call {
        let (id, secret) = (&self.client_id, &self.client_secret);
        let client = format!("client_id={id}&client_secret={secret}");
        let form = format!("grant_type=client_credentials&{client}{more}");
        Call::form("/oauth2/token", form)
    }

    fn health(&self) -> Call {
        Call::health().bearer(&self.token)
    }

    fn revocation(&self) -> Call {
        Call::revocation(&self.token)
    }
}

pub(crate) async fn register(app: &TestApp) -> Agent {
    let reply = app.expect("201", Call::register()).await;
    Agent {
        client_id: reply.member("client_id"),
        client_secret: reply.member("client_secret"),
        token: reply.member("access_token"),
    }
}

/// Expects a 401 with the challenge, for a token that is no longer good.
pub(crate) async fn check_challenged(app: &TestApp, token: &str) -> Reply {
    let call = Call::health().bearer(token);
    let reply = app.expect("401 invalid_token", call).await;
    let expected = format!("{METADATA}, error=\"invalid_token\"");
    assert_eq!(reply.header("www-authenticate"), Some(&*expected));
    reply
}

#[tokio::test]
async fn an_anonymous_agent_gets_everything_it_needs() {
    let app = TestApp::new();
    let call = Call::post(PATH, r#"{"type":"anonymous","label":"price-watcher"}"#);
    let reply = app.expect("201", call).await;
    assert_eq!(reply.shown(), "agents 59");
    let mut body = reply.json();
    let mut take = |member: &str| body[member].take().as_str().unwrap().to_owned();
    let (token, credential) = (take("access_token"), take("credential"));
    assert_eq!(token, credential);
    assert!(token.starts_with("lat_"));
    let (client_id, registration_id) = (take("client_id"), take("registration_id"));
    assert_eq!(client_id, registration_id);
    assert!(client_id.starts_with("reg_"));
    assert!(take("client_secret").starts_with("las_"));
    assert_eq!(
        body,
        json!({
            "registration_id": null,
            "registration_type": "anonymous",
            "client_id": null,
            "client_secret": null,
            "client_secret_expires_at": NOW.plus_ms(30 * DAY_MS).as_ms() / 1000,
            "access_token": null,
            "token_type": "Bearer",
            "expires_in": 86_400,
            "scope": "public",
            "tier": "free",
            "label": "price-watcher",
            "credential_type": "access_token",
            "credential": null,
            "credential_expires": "2026-11-22T12:00:00.000Z",
            "scopes": ["public"],
        })
    );
}

#[tokio::test]
async fn members_of_the_proposal_and_others_are_tolerated() {
    let app = TestApp::new();
    for body in [
        r#"{"type":"anonymous"}"#,
        r#"{"type":"anonymous","requested_credential_type":"access_token"}"#,
        r#"{"type":"anonymous","scope":["x"],"claim":null}"#,
        r#"{"type":"anonymous","assertion_type":"verified_email"}"#,
    ] {
        let reply = app.expect("201", Call::post(PATH, body)).await;
        assert_eq!(reply.json().get("label"), None);
    }
}

#[tokio::test]
async fn what_is_not_enabled_is_refused_unread_and_not_counted() {
    let app = TestApp::new();
    for mut body in [
        json!({}),
        json!({"assertion_type": "urn:ietf:params:oauth:token-type:id-jag", "assertion": "s3cret.jwt"}),
        json!({"assertion_type": "verified_email", "assertion": "s3cret@a.b"}),
        json!({"assertion_type": "another", "assertion": "s3cret"}),
        json!({"assertion_type": 5, "assertion": {"s3cret": 1}, "label": 5}),
        json!({"assertion": "s3cret".repeat(8_000)}),
    ] {
        let refusal = match body["assertion_type"] == "verified_email" {
            true => "400 verified_email_not_enabled",
            false => "400 identity_assertion_not_enabled",
        };
        body["type"] = json!("identity_assertion");
        body["requested_credential_type"] = json!("access_token");
        let call = Call::post(PATH, body.to_string());
        let reply = app.expect(refusal, call).await;
        reply.check_silent_on("s3cret");
        assert_eq!(reply.policy(), "default");
    }
    for credential_type in ["api_key", "", "ACCESS_TOKEN", "id_token"] {
        let body = json!({"type": "anonymous", "requested_credential_type": credential_type});
        let call = Call::post(PATH, body.to_string());
        let reply = app.expect("400 unsupported_credential_type", call).await;
        assert_eq!(reply.policy(), "default");
    }
}

#[tokio::test]
async fn registrations_are_limited_by_network_together_with_tokens() {
    let app = Setup::default().limit("agents", "2/1h").start();
    let agent = register(&app).await;
    assert_eq!(app.send(agent.exchange("")).await.shown(), "agents 0");
    for call in [Call::register(), agent.exchange("")] {
        let reply = app.expect("429 rate_limited", call).await;
        assert_eq!(reply.retry_after_s(), 3600);
        reply.check_silent_on("lat_");
    }
    let elsewhere = agent.exchange("").from("192.0.2.2");
    app.expect("200", elsewhere).await;
    // A revocation is never held up by that.
    app.expect("200", agent.revocation()).await;
}

#[tokio::test]
async fn a_token_is_a_client_of_its_own_and_further_ones_buy_nothing() {
    let app = Setup::default().limit("default", "5/60s").start();
    let (first, second) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(1);
    let again = app.send(first.exchange("")).await.member("access_token");
    assert_ne!(again, first.token);
    // Three by network so far, none of them with a token.
    for (call, remaining) in [
        (first.health(), 4),
        (Call::health().bearer(&again), 3),
        (second.health(), 4),
        (Call::health().header("x-api-key", &second.token), 3),
        (Call::health(), 1),
    ] {
        let what = call.told();
        assert_eq!(app.send(call).await.remaining(), remaining, "{what}");
    }
}

#[tokio::test]
async fn a_token_expires_to_the_millisecond() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.clock.advance_ms(DAY_MS - 1);
    app.expect("200", agent.health()).await;
    app.clock.advance_ms(1);
    check_challenged(&app, &agent.token).await;
}

#[tokio::test]
async fn a_token_that_is_not_ours_is_401_and_counted_by_network() {
    let app = TestApp::new();
    let agent = register(&app).await;
    // Made by the same service with another secret; all others are not even tokens.
    let keys = Secret::new([8; 32]).keys();
    let registration = Registration::new([1; 16], NOW);
    let foreign = AccessToken::new(registration, NOW).encode(&keys.access_token);
    let mut expected = app.send(Call::health()).await.remaining();
    for credential in [
        &foreign,
        &agent.token[..99],
        &agent.token.to_lowercase(),
        &agent.token.replace("lat_", "lak_"),
        &agent.client_id,
        &agent.client_secret,
        "lat_",
    ] {
        let reply = check_challenged(&app, credential).await;
        reply.check_silent_on(credential);
        expected -= 1;
        assert_eq!(reply.remaining(), expected, "no window of its own");
    }
}

#[tokio::test]
async fn nothing_can_be_claimed() {
    let app = TestApp::new();
    let body = r#"{"claim_token":"clm_s3cret","email":"s3cret@example.org"}"#;
    for path in ["/agent/auth/claim", "/agent/auth/claim/complete"] {
        for call in [
            Call::post(path, body),
            Call::post(path, "garbage").typed("text/plain"),
            Call::new(Method::POST, path),
            Call::post(path, vec![b' '; 1_000_000]),
        ] {
            let reply = app.expect("400 claim_not_enabled", call).await;
            reply.check_silent_on("s3cret");
        }
    }
}
