//! `/api/v1/keys` and what a key is good for.

use hyper::StatusCode;
use landing_api::domain::credential::ApiKey;
use landing_api::ports::{KeyIssuer, StoreError};
use serde_json::json;

use crate::harness::{Call, NOW, Setup, TestApp};

const PATH: &str = "/api/v1/keys";

async fn mint(app: &TestApp) -> String {
    let reply = app.send(Call::post(PATH, "{}")).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    reply.json()["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_is_issued_with_everything_a_client_needs() {
    let app = TestApp::new();
    let reply = app.send(Call::post(PATH, r#"{"label":"my agent"}"#)).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    assert_eq!((reply.policy(), reply.remaining()), ("keys".to_owned(), 59));
    let mut body = reply.json();
    let key = body["api_key"].take();
    assert!(ApiKey::parse(key.as_str().unwrap()).is_some());
    let note = body["note"].take();
    assert!(!note.as_str().unwrap().is_empty());
    assert_eq!(
        body,
        json!({
            "api_key": null,
            "tier": "free",
            "label": "my agent",
            "rate_limit": {"limit": 600, "window_seconds": 60},
            "expires_at": "2027-02-19T12:00:00.000Z",
            "documentation": "http://landing.example/docs",
            "note": null,
        })
    );
}

#[tokio::test]
async fn a_label_is_optional_and_so_is_the_body() {
    let app = TestApp::new();
    for call in [
        Call::post(PATH, "{}"),
        Call::post(PATH, ""),
        Call::post(PATH, "").without("content-type"),
        Call::post(PATH, "")
            .without("content-type")
            .header("content-type", "text/plain"),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::CREATED);
        assert_eq!(reply.json().get("label"), None);
    }
}

#[tokio::test]
async fn only_a_fingerprint_is_kept() {
    let app = TestApp::new();
    let key = ApiKey::parse(&mint(&app).await).unwrap();
    let record = app.keys.find(&key.fingerprint()).await.unwrap().unwrap();
    assert_eq!(record.expires_at, NOW.plus_ms(90 * 86_400_000));
    assert!(!format!("{record:?}").contains(key.expose()));
}

#[tokio::test]
async fn bad_requests_issue_nothing_and_charge_nothing() {
    let app = TestApp::new();
    let long = json!({"label": "x".repeat(65)}).to_string();
    for (body, pointer, code) in [
        (r#"{"label":""}"#, "#/label", "length"),
        (&long, "#/label", "length"),
        (r#"{"label":"a\u001b[31mb"}"#, "#/label", "format"),
        (r#"{"label":"a\nb"}"#, "#/label", "format"),
        (r#"{"label":"a\u0085b"}"#, "#/label", "format"),
        (r#"{"label":"a\u202Eb"}"#, "#/label", "format"),
        ("{\"label\":\"a\u{2028}b\"}", "#/label", "format"),
        (r#"{"label":null}"#, "#/label", "type"),
        (r#"{"label":5}"#, "#/label", "type"),
        (r#"{"Label":"x"}"#, "#/Label", "unknown_member"),
        (
            r#"{"label":"x","label":"x"}"#,
            "#/label",
            "duplicate_member",
        ),
        ("null", "#", "type"),
        ("[]", "#", "type"),
    ] {
        let reply = app.send(Call::post(PATH, body.to_owned())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:.60}");
        assert_eq!(reply.errors(), [(pointer.to_owned(), code.to_owned())]);
    }
    let reply = app.send(Call::post(PATH, "{}")).await;
    assert_eq!((reply.policy(), reply.remaining()), ("keys".to_owned(), 59));
}

#[tokio::test]
async fn a_key_that_cannot_be_kept_is_not_shown() {
    let app = TestApp::new();
    app.keys.fail_with(Some(StoreError::Overloaded));
    let reply = app.send(Call::post(PATH, "{}")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "store_unavailable");
    assert!(!String::from_utf8_lossy(&reply.body).contains("lak_"));
    assert_eq!((reply.policy(), reply.remaining()), ("keys".to_owned(), 60));
}

#[tokio::test]
async fn minting_is_limited_by_network() {
    let app = Setup::default().limit("keys", "2/1h").start();
    for remaining in [1, 0] {
        let reply = app.send(Call::post(PATH, "{}")).await;
        assert_eq!(reply.remaining(), remaining);
    }
    let reply = app.send(Call::post(PATH, "{}")).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.code(), "rate_limited");
    assert_eq!(reply.retry_after_s(), 3600);
    let elsewhere = Call::post(PATH, "{}").from("192.0.2.2");
    assert_eq!(app.send(elsewhere).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn describing_costs_nothing_of_the_keys_policy() {
    let app = TestApp::new();
    for _ in 0..100 {
        let reply = app.send(Call::get(PATH)).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.policy(), "default");
    }
    let body = app.send(Call::get(PATH)).await.json();
    assert_eq!(body["endpoint"], "POST http://landing.example/api/v1/keys");
    assert_eq!(body["tier"], "free");
    assert!(body["authentication"].is_string());
    assert!(body["body"]["label"].is_object());
    assert_eq!(body["documentation"], "http://landing.example/docs");
    assert_eq!(app.send(Call::post(PATH, "{}")).await.remaining(), 59);
}

#[tokio::test]
async fn a_key_has_a_default_window_of_its_own_but_shares_the_ceiling() {
    let app = Setup::default()
        .limit("default", "5/60s")
        .limit("ip", "12/60s")
        .start();
    let (first, second) = (mint(&app).await, mint(&app).await);
    let remaining = async |call: Call| app.send(call).await.remaining();
    // The two above and this one.
    assert_eq!(remaining(Call::get("/api/v1/health")).await, 2);
    for key in [&first, &second] {
        let bearer = Call::get("/api/v1/health").bearer(key);
        assert_eq!(remaining(bearer).await, 4);
        let header = Call::get("/api/v1/health").header("x-api-key", key);
        assert_eq!(remaining(header).await, 3);
    }
    // Seven so far: five more fill the ceiling, whoever sends them.
    for key in [&first, &first, &first, &second, &second] {
        let reply = app.send(Call::get("/api/v1/health").bearer(key)).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    let reply = app.send(Call::get("/api/v1/health").bearer(&second)).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.policy(), "ip");
    let elsewhere = Call::get("/api/v1/health")
        .bearer(&second)
        .from("192.0.2.2");
    assert_eq!(app.send(elsewhere).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_key_that_is_not_good_is_401_with_the_challenge_and_counted_by_network() {
    let app = TestApp::new();
    let revoked = mint(&app).await;
    let fingerprint = ApiKey::parse(&revoked).unwrap().fingerprint();
    assert!(app.keys.revoke(&fingerprint, NOW).await.unwrap());
    let mut mistyped = revoked.clone();
    mistyped.replace_range(10..11, if &revoked[10..11] == "a" { "b" } else { "a" });
    let mut expected = app.send(Call::get("/api/v1/health")).await.remaining();
    for credential in [
        &*revoked,
        &mistyped,
        "x",
        "lak_",
        "eyJhbGciOiJub25lIn0.e30.",
    ] {
        let reply = app
            .send(Call::get("/api/v1/health").bearer(credential))
            .await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{credential}");
        assert_eq!(reply.code(), "invalid_token");
        assert_eq!(
            reply.header("www-authenticate"),
            Some(
                "Bearer resource_metadata=\"http://landing.example/.well-known/\
                 oauth-protected-resource\", error=\"invalid_token\""
            )
        );
        assert!(!String::from_utf8_lossy(&reply.body).contains(credential) || credential == "x");
        expected -= 1;
        assert_eq!(reply.remaining(), expected, "no window of its own");
    }
}

#[tokio::test]
async fn a_key_expires_to_the_millisecond() {
    let app = TestApp::new();
    let key = mint(&app).await;
    app.clock.advance_ms(90 * 86_400_000 - 1);
    let reply = app.send(Call::get("/api/v1/health").bearer(&key)).await;
    assert_eq!(reply.status, StatusCode::OK);
    app.clock.advance_ms(1);
    let reply = app.send(Call::get("/api/v1/health").bearer(&key)).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn two_different_credentials_are_a_400_and_one_given_twice_is_served() {
    let app = TestApp::new();
    let (first, second) = (mint(&app).await, mint(&app).await);
    let call = |other: &str| {
        Call::get("/api/v1/health")
            .bearer(&first)
            .header("x-api-key", other)
    };
    let reply = app.send(call(&second)).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.code(), "conflicting_credentials");
    assert_eq!(app.send(call(&first)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn other_schemes_are_ignored() {
    let app = TestApp::new();
    let call = Call::get("/api/v1/health").header("authorization", "Basic dXNlcjpwdw==");
    assert_eq!(app.send(call).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_credential_that_cannot_be_looked_up_is_503() {
    let app = TestApp::new();
    let key = mint(&app).await;
    let failure = StoreError::Unavailable("gone".to_owned());
    app.keys.fail_with(Some(failure));
    let reply = app.send(Call::get("/api/v1/health").bearer(&key)).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "store_unavailable");
    // Garbage needs no look-up.
    let reply = app
        .send(Call::get("/api/v1/health").bearer("garbage"))
        .await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}
