//! `/api/v1/keys` and what a key is good for.

use landing_api::ports::KeyIssuer;

use crate::agent::check_challenged;
use crate::prelude::*;

const PATH: &str = "/api/v1/keys";

#[tokio::test]
async fn a_key_is_issued_with_everything_a_client_needs() {
    let app = TestApp::new();
    let call = Call::post(PATH, r#"{"label":"my agent"}"#);
    let reply = app.expect("201", call).await;
    assert_eq!(reply.shown(), "keys 59");
    let mut body = reply.json();
    assert!(ApiKey::parse(body["api_key"].take().as_str().unwrap()).is_some());
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
    let empty = Call::post(PATH, "");
    let bare = empty.clone().without("content-type");
    for call in [Call::mint(), empty.clone(), bare, empty.typed("text/plain")] {
        let reply = app.expect("201", call).await;
        assert_eq!(reply.json().get("label"), None);
    }
}

#[tokio::test]
async fn only_a_fingerprint_is_kept() {
    let app = TestApp::new();
    let key = ApiKey::parse(&app.mint().await).unwrap();
    let record = app.keys.find(&key.fingerprint()).await.unwrap().unwrap();
    assert_eq!(record.expires_at, NOW.plus_ms(90 * 86_400_000));
    assert!(!format!("{record:?}").contains(key.expose()));
}

#[tokio::test]
async fn a_key_that_cannot_be_kept_is_not_shown() {
    let app = TestApp::new();
    app.keys.fail_with(Some(StoreError::Overloaded));
    let reply = app.expect("503 store_unavailable", Call::mint()).await;
    reply.check_silent_on("lak_");
    assert_eq!(reply.shown(), "keys 60");
}

#[tokio::test]
async fn describing_costs_nothing_of_the_keys_policy() {
    let app = TestApp::new();
    for _ in 0..100 {
        let reply = app.expect("200", Call::get(PATH)).await;
        assert_eq!(reply.policy(), "default");
    }
    let body = app.send(Call::get(PATH)).await.json();
    assert_eq!(body["endpoint"], "POST http://landing.example/api/v1/keys");
    assert_eq!(body["tier"], "free");
    assert!(body["authentication"].is_string());
    assert!(body["body"]["label"].is_object());
    assert_eq!(body["documentation"], "http://landing.example/docs");
    assert_eq!(app.send(Call::mint()).await.shown(), "keys 59");
}

#[tokio::test]
async fn a_key_has_a_default_window_of_its_own_but_shares_the_ceiling() {
    let app = Setup::default()
        .limit("default", "5/60s")
        .limit("ip", "12/60s")
        .start();
    let (first, second) = (app.mint().await, app.mint().await);
    let remaining = async |call: Call| app.send(call).await.remaining();
    // The two above and this one.
    assert_eq!(remaining(Call::health()).await, 2);
    for key in [&first, &second] {
        assert_eq!(remaining(Call::health().bearer(key)).await, 4);
        assert_eq!(remaining(Call::health().header("x-api-key", key)).await, 3);
    }
    // Seven so far: five more fill the ceiling, whoever sends them.
    for key in [&first, &first, &first, &second, &second] {
        app.expect("200", Call::health().bearer(key)).await;
    }
    let call = Call::health().bearer(&second);
    let refused = app.expect("429", call.clone()).await;
    assert_eq!(refused.policy(), "ip");
    app.expect("200", call.from("192.0.2.2")).await;
}

#[tokio::test]
async fn a_key_that_is_not_good_is_401_with_the_challenge_and_counted_by_network() {
    let app = TestApp::new();
    let revoked = app.mint().await;
    let fingerprint = ApiKey::parse(&revoked).unwrap().fingerprint();
    assert!(app.keys.revoke(&fingerprint, NOW).await.unwrap());
    let mut mistyped = revoked.clone();
    mistyped.replace_range(10..11, if &revoked[10..11] == "a" { "b" } else { "a" });
    let mut expected = app.send(Call::health()).await.remaining();
    let jwt = "eyJhbGciOiJub25lIn0.e30.";
    for credential in [&*revoked, &mistyped, "x!", "lak_", jwt] {
        let reply = check_challenged(&app, credential).await;
        reply.check_silent_on(credential);
        expected -= 1;
        assert_eq!(reply.remaining(), expected, "no window of its own");
    }
}

#[tokio::test]
async fn a_key_expires_to_the_millisecond() {
    let app = TestApp::new();
    let key = app.mint().await;
    app.clock.advance_ms(90 * 86_400_000 - 1);
    app.expect("200", Call::health().bearer(&key)).await;
    app.clock.advance_ms(1);
    app.expect("401", Call::health().bearer(&key)).await;
}

#[tokio::test]
async fn a_credential_that_cannot_be_looked_up_is_503() {
    let app = TestApp::new();
    let key = app.mint().await;
    let gone = StoreError::Unavailable("gone".to_owned());
    app.keys.fail_with(Some(gone));
    let call = Call::health().bearer(&key);
    app.expect("503 store_unavailable", call).await;
    // Garbage needs no look-up.
    app.expect("401", Call::health().bearer("garbage")).await;
}
