//! `/agent/auth` and what an agent gets there.

mod oauth;
mod program;
mod revoke;
mod walk;

use hyper::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Call, NOW, Reply, Setup, TestApp};

const PATH: &str = "/agent/auth";
const REVOKE: &str = "/agent/auth/revoke";
/// What every challenge begins with.
const METADATA: &str =
    "Bearer resource_metadata=\"http://landing.example/.well-known/oauth-protected-resource\"";
const DAY_MS: u64 = 86_400_000;

/// What an agent keeps of its registration.
struct Agent {
    client_id: String,
    client_secret: String,
    token: String,
}

impl Agent {
    /// A token request with `more` behind what it needs.
    fn exchange(&self, more: &str) -> Call {
        let Self {
            client_id,
            client_secret,
            ..
        } = self;
        let client = format!("client_id={client_id}&client_secret={client_secret}");
        Call::form(
            "/oauth2/token",
            format!("grant_type=client_credentials&{client}{more}"),
        )
    }
}

async fn register(app: &TestApp) -> Agent {
    let reply = app.send(Call::post(PATH, r#"{"type":"anonymous"}"#)).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    let body = reply.json();
    let text = |member: &str| body[member].as_str().unwrap().to_owned();
    Agent {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        token: text("access_token"),
    }
}

fn health(token: &str) -> Call {
    Call::get("/api/v1/health").bearer(token)
}

fn revocation(token: &str) -> Call {
    Call::form(REVOKE, format!("token={token}"))
}

async fn status(app: &TestApp, call: Call) -> u16 {
    app.send(call).await.status.as_u16()
}

/// A 401 with the challenge, for a token that is no longer good.
fn check_challenged(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reply.code(), "invalid_token");
    let expected = format!("{METADATA}, error=\"invalid_token\"");
    assert_eq!(reply.header("www-authenticate"), Some(&*expected));
}

/// A 400 that names these members of `body`, each as pointer and code, and counts nothing.
fn check_invalid(reply: &Reply, expected: &[(&str, &str)], body: &str) {
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:.60}");
    assert_eq!(reply.code(), "validation_failed");
    assert_eq!(reply.json()["error"], "invalid_request");
    let errors = reply.errors();
    let errors: Vec<_> = errors
        .iter()
        .map(|(p, c)| (p.as_str(), c.as_str()))
        .collect();
    assert_eq!(errors, expected, "{body:.60}");
    assert_eq!(reply.policy(), "default", "nothing was counted");
}

#[tokio::test]
async fn an_anonymous_agent_gets_everything_it_needs() {
    let app = TestApp::new();
    let call = Call::post(PATH, r#"{"type":"anonymous","label":"price-watcher"}"#);
    let reply = app.send(call).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    assert_eq!(
        (reply.policy(), reply.remaining()),
        ("agents".to_owned(), 59)
    );
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
        let reply = app.send(Call::post(PATH, body)).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{body}");
        assert_eq!(reply.json().get("label"), None);
    }
    let bare = Call::post(PATH, r#"{"type":"anonymous"}"#).without("content-type");
    assert_eq!(status(&app, bare).await, 201);
}

#[tokio::test]
async fn identity_assertions_are_not_enabled_and_not_read() {
    let app = TestApp::new();
    let id_jag = "urn:ietf:params:oauth:token-type:id-jag";
    for (members, code) in [
        (json!({}), "identity_assertion_not_enabled"),
        (
            json!({"assertion_type": id_jag, "assertion": "s3cret.jwt"}),
            "identity_assertion_not_enabled",
        ),
        (
            json!({"assertion_type": "verified_email", "assertion": "s3cret@example.org"}),
            "verified_email_not_enabled",
        ),
        (
            json!({"assertion_type": "another", "assertion": "s3cret"}),
            "identity_assertion_not_enabled",
        ),
        (
            json!({"assertion_type": 5, "assertion": {"s3cret": 1}, "label": 5}),
            "identity_assertion_not_enabled",
        ),
        (
            json!({"assertion": "s3cret".repeat(8_000)}),
            "identity_assertion_not_enabled",
        ),
    ] {
        let mut body = members;
        body["type"] = json!("identity_assertion");
        body["requested_credential_type"] = json!("access_token");
        let reply = app.send(Call::post(PATH, body.to_string())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), code);
        assert_eq!(reply.json()["error"], code);
        assert!(!String::from_utf8_lossy(&reply.body).contains("s3cret"));
        assert_eq!(reply.policy(), "default", "nothing was counted");
    }
}

#[tokio::test]
async fn other_types_of_credential_are_not_supported() {
    let app = TestApp::new();
    for credential_type in ["api_key", "", "ACCESS_TOKEN", "id_token"] {
        let body = json!({"type": "anonymous", "requested_credential_type": credential_type});
        let reply = app.send(Call::post(PATH, body.to_string())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), "unsupported_credential_type");
        assert_eq!(reply.json()["error"], "unsupported_credential_type");
        assert_eq!(reply.policy(), "default", "nothing was counted");
    }
}

#[tokio::test]
async fn every_bad_member_is_named_and_nothing_is_counted() {
    let app = TestApp::new();
    let long = json!({"type": "anonymous", "label": "x".repeat(65)}).to_string();
    for (body, expected) in [
        ("{}", vec![("#/type", "required")]),
        (r#"{"type":null}"#, vec![("#/type", "type")]),
        (r#"{"type":["anonymous"]}"#, vec![("#/type", "type")]),
        (r#"{"type":""}"#, vec![("#/type", "enum")]),
        (r#"{"type":"Anonymous"}"#, vec![("#/type", "enum")]),
        (r#"{"type":"service_auth"}"#, vec![("#/type", "enum")]),
        (r#"{"type":"\ud800"}"#, vec![("#/type", "format")]),
        (
            r#"{"type":"anonymous","type":"anonymous"}"#,
            vec![("#/type", "duplicate_member")],
        ),
        (
            r#"{"type":"identity_assertion","type":"anonymous"}"#,
            vec![("#/type", "duplicate_member")],
        ),
        (
            r#"{"type":"identity_assertion","assertion_type":"x","assertion_type":"y"}"#,
            vec![("#/assertion_type", "duplicate_member")],
        ),
        (&long, vec![("#/label", "length")]),
        (
            r#"{"type":"anonymous","label":"\u2066a"}"#,
            vec![("#/label", "format")],
        ),
        (
            r#"{"type":"x","label":"","requested_credential_type":1}"#,
            vec![
                ("#/type", "enum"),
                ("#/label", "length"),
                ("#/requested_credential_type", "type"),
            ],
        ),
        (
            r#"{"type":"anonymous","label":null,"requested_credential_type":null}"#,
            vec![("#/label", "type"), ("#/requested_credential_type", "type")],
        ),
        ("null", vec![("#", "type")]),
        ("[]", vec![("#", "type")]),
        (r#""anonymous""#, vec![("#", "type")]),
    ] {
        let reply = app.send(Call::post(PATH, body.to_owned())).await;
        check_invalid(&reply, &expected, body);
    }
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let app = TestApp::new();
    let good = r#"{"type":"anonymous"}"#;
    for (call, status, code) in [
        (Call::post(PATH, ""), 400, "malformed_json"),
        (Call::post(PATH, "type=anonymous"), 400, "malformed_json"),
        (
            Call::post(PATH, format!("\u{feff}{good}")),
            400,
            "malformed_json",
        ),
        (
            Call::post(PATH, b"{\"type\":\"\xff\"}".to_vec()),
            400,
            "malformed_json",
        ),
        (
            Call::post(PATH, format!("{good}{good}")),
            400,
            "malformed_json",
        ),
        (Call::form(PATH, good), 415, "unsupported_media_type"),
        (
            Call::post(PATH, good).typed("text/plain"),
            415,
            "unsupported_media_type",
        ),
        (
            Call::post(PATH, good)
                .without("content-type")
                .header("origin", "https://elsewhere.example"),
            415,
            "unsupported_media_type",
        ),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.code(), code);
        assert_eq!(reply.json()["error"], "invalid_request");
        assert_eq!(reply.policy(), "default", "nothing was counted");
    }
}

#[tokio::test]
async fn registrations_are_limited_by_network_together_with_tokens() {
    let app = Setup::default().limit("agents", "2/1h").start();
    let agent = register(&app).await;
    let exchange = |peer: &str| agent.exchange("").from(peer);
    let reply = app.send(exchange("192.0.2.1")).await;
    assert_eq!(
        (reply.policy(), reply.remaining()),
        ("agents".to_owned(), 0)
    );
    for call in [
        Call::post(PATH, r#"{"type":"anonymous"}"#),
        exchange("192.0.2.1"),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.code(), "rate_limited");
        assert_eq!(reply.json()["error"], "rate_limited");
        assert_eq!(reply.retry_after_s(), 3600);
        assert!(!String::from_utf8_lossy(&reply.body).contains("lat_"));
    }
    assert_eq!(status(&app, exchange("192.0.2.2")).await, 200);
    // A revocation is never held up by that.
    assert_eq!(status(&app, revocation(&agent.token)).await, 200);
}

#[tokio::test]
async fn a_token_is_a_client_of_its_own_and_further_ones_buy_nothing() {
    let app = Setup::default().limit("default", "5/60s").start();
    let (first, second) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(1);
    let reply = app.send(first.exchange("")).await;
    let again = reply.json()["access_token"].as_str().unwrap().to_owned();
    assert_ne!(again, first.token);
    let remaining = async |token: &str| app.send(health(token)).await.remaining();
    assert_eq!(remaining(&first.token).await, 4);
    assert_eq!(remaining(&again).await, 3);
    assert_eq!(remaining(&second.token).await, 4);
    let header = Call::get("/api/v1/health").header("x-api-key", &second.token);
    assert_eq!(app.send(header).await.remaining(), 3);
    // Three by network so far, none of them with a token.
    assert_eq!(app.send(Call::get("/api/v1/health")).await.remaining(), 1);
}

#[tokio::test]
async fn a_token_expires_to_the_millisecond() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.clock.advance_ms(DAY_MS - 1);
    assert_eq!(status(&app, health(&agent.token)).await, 200);
    app.clock.advance_ms(1);
    check_challenged(&app.send(health(&agent.token)).await);
}

#[tokio::test]
async fn a_token_that_is_not_ours_is_401_and_counted_by_network() {
    let app = TestApp::new();
    let agent = register(&app).await;
    // Made by the same service with another secret; all others are not even tokens.
    let foreign = {
        use landing_api::domain::agent::{AccessToken, Registration};
        use landing_api::domain::secret::Secret;
        let keys = Secret::new([8; 32]).keys();
        AccessToken::new(Registration::new([1; 16], NOW), NOW).encode(&keys.access_token)
    };
    let mut expected = app.send(Call::get("/api/v1/health")).await.remaining();
    for credential in [
        &foreign,
        &agent.token[..99],
        &agent.token.to_lowercase(),
        &agent.token.replace("lat_", "lak_"),
        &agent.client_id,
        &agent.client_secret,
        "lat_",
    ] {
        let reply = app.send(health(credential)).await;
        check_challenged(&reply);
        assert!(!String::from_utf8_lossy(&reply.body).contains(credential));
        expected -= 1;
        assert_eq!(reply.remaining(), expected, "no window of its own");
    }
}

#[tokio::test]
async fn nothing_can_be_claimed() {
    let app = TestApp::new();
    for path in ["/agent/auth/claim", "/agent/auth/claim/complete"] {
        for call in [
            Call::post(
                path,
                r#"{"claim_token":"clm_s3cret","email":"s3cret@example.org"}"#,
            ),
            Call::post(path, "garbage").typed("text/plain"),
            Call::new(Method::POST, path),
            Call::post(path, vec![b' '; 1_000_000]),
        ] {
            let reply = app.send(call).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST);
            assert_eq!(reply.code(), "claim_not_enabled");
            assert_eq!(reply.json()["error"], "claim_not_enabled");
            assert!(!String::from_utf8_lossy(&reply.body).contains("s3cret"));
        }
    }
}
