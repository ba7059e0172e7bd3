//! `/agent/auth/revoke`: the end of a credential.

use hyper::StatusCode;
use landing_api::ports::StoreError;

use super::{DAY_MS, REVOKE, check_challenged, health, register, revocation, status};
use crate::harness::{Call, TestApp};

#[tokio::test]
async fn a_revoked_token_ends_its_registration_and_no_other() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(1000);
    let reply = app.send(agent.exchange("")).await;
    let second = reply.json()["access_token"].as_str().unwrap().to_owned();

    let reply = app.send(revocation(&agent.token)).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("content-type"), None);
    assert!(reply.body.is_empty());
    for token in [&agent.token, &second] {
        check_challenged(&app.send(health(token)).await);
    }
    let reply = app.send(agent.exchange("")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reply.code(), "invalid_client");
    assert_eq!(status(&app, health(&other.token)).await, 200);
}

#[tokio::test]
async fn an_api_key_can_be_revoked_too() {
    let app = TestApp::new();
    let minted = app.send(Call::post("/api/v1/keys", "{}")).await.json();
    let key = minted["api_key"].as_str().unwrap();
    assert_eq!(status(&app, health(key)).await, 200);
    let call = Call::form(REVOKE, format!("token={key}&token_type_hint=refresh_token"));
    assert_eq!(status(&app, call).await, 200);
    check_challenged(&app.send(health(key)).await);
}

#[tokio::test]
async fn a_token_may_revoke_itself_and_do_so_again() {
    let app = TestApp::new();
    let agent = register(&app).await;
    for _ in 0..2 {
        let call = revocation(&agent.token).bearer(&agent.token);
        assert_eq!(status(&app, call).await, 200);
        check_challenged(&app.send(health(&agent.token)).await);
    }
}

#[tokio::test]
async fn revoking_what_is_not_good_is_the_same_200_and_changes_nothing() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let mut others = vec![
        "x".to_owned(),
        "lat_".to_owned(),
        "lak_".to_owned(),
        agent.client_id.clone(),
        agent.client_secret.clone(),
        agent.token[..99].to_owned(),
        "%00".to_owned(),
        "%C3%A9".to_owned(),
        "x".repeat(8000),
    ];
    let gone = register(&app).await.token;
    assert_eq!(status(&app, revocation(&gone)).await, 200);
    others.push(gone);
    for token in &others {
        let reply = app.send(revocation(token)).await;
        assert_eq!(reply.status, StatusCode::OK, "{token:.20}");
        assert!(reply.body.is_empty());
    }
    assert_eq!(status(&app, health(&agent.token)).await, 200);
}

#[tokio::test]
async fn a_bad_credential_does_not_hold_up_the_revocation_of_a_good_one() {
    let app = TestApp::new();
    for bad in ["nonsense", "lat_", ""] {
        let agent = register(&app).await;
        let call = revocation(&agent.token).bearer(bad);
        assert_eq!(status(&app, call).await, 200, "{bad}");
        check_challenged(&app.send(health(&agent.token)).await);
    }
}

#[tokio::test]
async fn an_expired_token_ends_its_registration_until_that_has_expired() {
    let app = TestApp::new();
    let (early, late) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(DAY_MS);
    let reply = app.send(early.exchange("")).await;
    let fresh = reply.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(status(&app, revocation(&early.token)).await, 200);
    check_challenged(&app.send(health(&fresh)).await);
    let reply = app.send(early.exchange("")).await;
    assert_eq!(reply.code(), "invalid_client");

    app.clock.advance_ms(29 * DAY_MS - 1);
    assert_eq!(status(&app, late.exchange("")).await, 200);
    app.clock.advance_ms(1);
    // Nothing is left to end, so nothing is looked up or kept.
    let failure = StoreError::Unavailable("on fire".to_owned());
    app.revocations.fail_with(Some(failure));
    assert_eq!(status(&app, revocation(&late.token)).await, 200);
}

#[tokio::test]
async fn a_revocation_that_cannot_be_read_is_refused() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let token = &agent.token;
    for (body, code) in [
        (String::new(), "validation_failed"),
        ("token=".to_owned(), "validation_failed"),
        (format!("Token={token}"), "validation_failed"),
        (format!("\u{feff}token={token}"), "validation_failed"),
        (format!("token={token}&token={token}"), "validation_failed"),
        (format!("token=&token={token}"), "validation_failed"),
        (
            format!("token={token}&token_type_hint=a&token_type_hint=a"),
            "validation_failed",
        ),
        (format!("token={token}%"), "malformed_form"),
        (format!("token={token}&x=%zz"), "malformed_form"),
        (format!("token={token}&x=%ff"), "malformed_form"),
    ] {
        let reply = app.send(Call::form(REVOKE, body.clone())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(reply.code(), code, "{body}");
        assert_eq!(reply.json()["error"], "invalid_request");
        assert!(!String::from_utf8_lossy(&reply.body).contains(token));
    }
    for media_type in ["application/json", "text/plain", "application/jwt", ""] {
        let call = revocation(token).typed(media_type);
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(reply.code(), "unsupported_media_type");
        let detail = reply.json()["detail"].to_string();
        assert!(
            detail.contains("application/x-www-form-urlencoded"),
            "{detail}"
        );
    }
    assert_eq!(status(&app, health(token)).await, 200);
}

#[tokio::test]
async fn logout_tokens_of_providers_are_refused_unread() {
    let app = TestApp::new();
    for (media_type, body) in [
        (
            "application/logout+jwt",
            "eyJhbGciOiJub25lIn0.e30.".to_owned(),
        ),
        ("Application/Logout+JWT; charset=utf-8", String::new()),
        // Larger than anything that would be read.
        ("application/logout+jwt", "x".repeat(1_000_000)),
    ] {
        let reply = app.send(Call::post(REVOKE, body).typed(media_type)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), "issuer_not_enabled");
        assert_eq!(reply.json()["error"], "issuer_not_enabled");
    }
}

#[tokio::test]
async fn a_revocation_that_was_not_kept_is_503_and_may_be_tried_again() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let failure = StoreError::Unavailable("the secret cause".to_owned());
    app.revocations.fail_with(Some(failure));
    for call in [revocation(&agent.token), health(&agent.token)] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.code(), "store_unavailable");
        assert!(!String::from_utf8_lossy(&reply.body).contains("secret cause"));
    }
    let reply = app.send(revocation(&agent.token)).await;
    assert_eq!(reply.json()["error"], "temporarily_unavailable");
    // Garbage needs no look-up.
    assert_eq!(status(&app, revocation("garbage")).await, 200);
    app.revocations.fail_with(None);
    assert_eq!(status(&app, health(&agent.token)).await, 200);
    assert_eq!(status(&app, revocation(&agent.token)).await, 200);
    check_challenged(&app.send(health(&agent.token)).await);
}
