//! `/agent/auth/revoke`: the end of a credential.

use super::{DAY_MS, check_challenged, register};
use crate::prelude::*;

const REVOKE: &str = "/agent/auth/revoke";

#[tokio::test]
async fn a_revoked_token_ends_its_registration_and_no_other() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(1000);
    let second = app.send(agent.exchange("")).await.member("access_token");

    let reply = app.expect("200", agent.revocation()).await;
    assert_eq!(reply.header("content-type"), None);
    assert!(reply.body.is_empty());
    for token in [&agent.token, &second] {
        check_challenged(&app, token).await;
    }
    app.expect("401 invalid_client", agent.exchange("")).await;
    app.expect("200", other.health()).await;
}

#[tokio::test]
async fn an_api_key_can_be_revoked_too() {
    let app = TestApp::new();
    let key = app.mint().await;
    app.expect("200", Call::health().bearer(&key)).await;
    let call = Call::form(REVOKE, format!("token={key}&token_type_hint=refresh_token"));
    app.expect("200", call).await;
    check_challenged(&app, &key).await;
}

#[tokio::test]
async fn no_credential_beside_it_holds_up_the_revocation_of_a_good_one() {
    let app = TestApp::new();
    for bad in ["nonsense", "lat_", ""] {
        let agent = register(&app).await;
        app.expect("200", agent.revocation().bearer(bad)).await;
        check_challenged(&app, &agent.token).await;
    }
    // A token may revoke itself, and do so again.
    let agent = register(&app).await;
    for _ in 0..2 {
        let call = agent.revocation().bearer(&agent.token);
        app.expect("200", call).await;
        check_challenged(&app, &agent.token).await;
    }
}

#[tokio::test]
async fn revoking_what_is_not_good_is_the_same_200_and_changes_nothing() {
    let app = TestApp::new();
    let (agent, gone) = (register(&app).await, register(&app).await);
    app.expect("200", gone.revocation()).await;
    let long = "x".repeat(8000);
    let own = [&agent.client_id, &agent.client_secret, &agent.token[..99]];
    let others = ["x", "lat_", "lak_", "%00", "%C3%A9", &long, &gone.token];
    for token in own.into_iter().chain(others) {
        let reply = app.expect("200", Call::revocation(token)).await;
        assert!(reply.body.is_empty());
    }
    app.expect("200", agent.health()).await;
}

#[tokio::test]
async fn an_expired_token_ends_its_registration_until_that_has_expired() {
    let app = TestApp::new();
    let (early, late) = (register(&app).await, register(&app).await);
    app.clock.advance_ms(DAY_MS);
    let fresh = app.send(early.exchange("")).await.member("access_token");
    app.expect("200", early.revocation()).await;
    check_challenged(&app, &fresh).await;
    app.expect("401 invalid_client", early.exchange("")).await;

    app.clock.advance_ms(29 * DAY_MS - 1);
    app.expect("200", late.exchange("")).await;
    app.clock.advance_ms(1);
    // Nothing is left to end, so nothing is looked up or kept.
    let failure = StoreError::Unavailable("on fire".to_owned());
    app.revocations.fail_with(Some(failure));
    app.expect("200", late.revocation()).await;
}

#[tokio::test]
async fn logout_tokens_of_providers_are_refused_unread() {
    let app = TestApp::new();
    let jwt = "application/logout+jwt";
    for (media_type, body) in [
        (jwt, "eyJhbGciOiJub25lIn0.e30."),
        ("Application/Logout+JWT; charset=utf-8", ""),
        // Larger than anything that would be read.
        (jwt, &"x".repeat(1_000_000)),
    ] {
        let call = Call::post(REVOKE, body.to_owned()).typed(media_type);
        app.expect("400 issuer_not_enabled", call).await;
    }
}

#[tokio::test]
async fn a_revocation_that_was_not_kept_is_503_and_may_be_tried_again() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let failure = StoreError::Unavailable("the secret cause".to_owned());
    app.revocations.fail_with(Some(failure));
    for call in [agent.revocation(), agent.health()] {
        let reply = app.expect("503 store_unavailable", call).await;
        reply.check_silent_on("secret cause");
    }
    // Garbage needs no look-up.
    app.expect("200", Call::revocation("garbage")).await;
    app.revocations.fail_with(None);
    app.expect("200", agent.health()).await;
    app.expect("200", agent.revocation()).await;
    check_challenged(&app, &agent.token).await;
}
