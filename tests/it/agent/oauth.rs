//! `/oauth2`: a fresh token for a client id and its secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use landing_api::ports::StoreError;
use serde_json::json;

use super::{DAY_MS, METADATA, check_invalid, register, status};
use crate::harness::{Call, Reply, TestApp};

const PATH: &str = "/oauth2/token";

/// A token request by `Authorization: Basic`, with `more` in the form.
fn basic(id: &str, secret: &str, more: &str) -> Call {
    let pair = STANDARD.encode(format!("{id}:{secret}"));
    Call::form(PATH, format!("grant_type=client_credentials{more}"))
        .header("authorization", format!("Basic {pair}"))
}

fn check_invalid_client(reply: &Reply, challenge: &str) {
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reply.code(), "invalid_client");
    assert_eq!(reply.json()["error"], "invalid_client");
    assert_eq!(reply.header("www-authenticate"), Some(challenge));
    assert_eq!(reply.policy(), "default", "nothing was counted");
}

#[tokio::test]
async fn a_client_gets_a_fresh_token_either_way() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let (id, secret) = (&*agent.client_id, &*agent.client_secret);
    let mut tokens = vec![agent.token.clone()];
    for call in [
        agent.exchange(""),
        agent.exchange("&scope=public"),
        agent.exchange("&scope=&resource=a&resource=b&unknown=x"),
        agent.exchange("").without("content-type"),
        basic(id, secret, ""),
        basic(id, secret, &format!("&client_id={id}&scope=public")),
        // Both parts are form-encoded before they are joined.
        basic(&id.replace('_', "%5F"), &secret.replace('_', "%5f"), ""),
    ] {
        app.clock.advance_ms(1000);
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.policy(), "agents");
        let mut body = reply.json();
        let token = body["access_token"].take().as_str().unwrap().to_owned();
        assert_eq!(
            body,
            json!({
                "access_token": null,
                "token_type": "Bearer",
                "expires_in": 86_400,
                "scope": "public",
            })
        );
        assert!(!tokens.contains(&token));
        tokens.push(token);
    }
    // The earlier ones stay good beside it.
    for token in &tokens {
        let call = Call::get("/api/v1/health").bearer(token);
        assert_eq!(status(&app, call).await, 200);
    }
}

#[tokio::test]
async fn a_secret_is_good_for_thirty_days_and_no_token_outlives_it() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.clock.advance_ms(30 * DAY_MS - 2500);
    let reply = app.send(agent.exchange("")).await;
    assert_eq!(reply.json()["expires_in"], 2);
    let token = reply.json()["access_token"].as_str().unwrap().to_owned();
    let health = || Call::get("/api/v1/health").bearer(&token);
    app.clock.advance_ms(2499);
    assert_eq!(status(&app, health()).await, 200);
    assert_eq!(status(&app, agent.exchange("")).await, 200);
    app.clock.advance_ms(1);
    assert_eq!(status(&app, health()).await, 401);
    check_invalid_client(&app.send(agent.exchange("")).await, METADATA);
}

#[tokio::test]
async fn a_client_that_is_not_good_is_told_nothing_more() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    let (id, secret) = (&*agent.client_id, &*agent.client_secret);
    let mut answers = Vec::new();
    for (id, secret) in [
        (id, "x"),
        (id, &*other.client_secret),
        (id, &secret[..55]),
        (id, &*agent.token),
        (&*other.client_id, secret),
        ("x", secret),
        ("reg_", secret),
        (secret, id),
        (&*agent.token, secret),
        ("", secret),
        (id, ""),
        ("", ""),
    ] {
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let reply = app.send(Call::form(PATH, form)).await;
        check_invalid_client(&reply, METADATA);
        let by_basic = app.send(basic(id, secret, "")).await;
        let challenge = format!("{METADATA}, Basic realm=\"oauth2\"");
        check_invalid_client(&by_basic, &challenge);
        for reply in [reply, by_basic] {
            let mut body = reply.json();
            body["instance"].take();
            answers.push(body);
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let nobody = Call::form(PATH, "grant_type=client_credentials");
    check_invalid_client(&app.send(nobody).await, METADATA);
}

#[tokio::test]
async fn a_basic_header_that_cannot_be_read_is_an_invalid_client() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let good = STANDARD.encode(format!("{}:{}", agent.client_id, agent.client_secret));
    let form = || Call::form(PATH, "grant_type=client_credentials");
    let challenge = format!("{METADATA}, Basic realm=\"oauth2\"");
    for value in ["Basic", "Basic ", "Basic ###", "Basic eA==", "basic Og"] {
        let reply = app.send(form().header("authorization", value)).await;
        check_invalid_client(&reply, &challenge);
    }
    let twice = form()
        .header("authorization", format!("Basic {good}"))
        .header("authorization", format!("Basic {good}"));
    check_invalid_client(&app.send(twice).await, &challenge);
    // Other schemes are ignored, and so is a bearer token, good or not.
    let digest = form().header("authorization", "Digest a=b");
    check_invalid_client(&app.send(digest).await, METADATA);
    for token in ["nonsense", &agent.token] {
        let call = agent.exchange("").bearer(token);
        assert_eq!(status(&app, call).await, 200);
    }
}

#[tokio::test]
async fn two_ways_to_authenticate_are_one_too_many() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    let (id, secret) = (&*agent.client_id, &*agent.client_secret);
    for (more, pointer) in [
        (format!("&client_secret={secret}"), "#/client_secret"),
        (format!("&client_id={}", other.client_id), "#/client_id"),
    ] {
        let reply = app.send(basic(id, secret, &more)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.json()["error"], "invalid_request");
        let expected = (pointer.to_owned(), "duplicate_member".to_owned());
        assert_eq!(reply.errors(), [expected]);
    }
}

#[tokio::test]
async fn other_grants_and_scopes_are_refused() {
    let app = TestApp::new();
    let agent = register(&app).await;
    for grant in [
        "authorization_code",
        "password",
        "refresh_token",
        "Client_Credentials",
        "client_credentials+",
        "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
    ] {
        let form = format!("grant_type={grant}&client_id={}", agent.client_id);
        let reply = app.send(Call::form(PATH, form)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), "unsupported_grant_type");
        assert_eq!(reply.json()["error"], "unsupported_grant_type");
    }
    for scope in [
        "openid",
        "public+admin",
        "Public",
        "+public",
        "public,x",
        "%00",
    ] {
        let reply = app.send(agent.exchange(&format!("&scope={scope}"))).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{scope}");
        assert_eq!(reply.code(), "invalid_scope");
        assert_eq!(reply.json()["error"], "invalid_scope");
        assert_eq!(reply.policy(), "default", "nothing was counted");
    }
}

#[tokio::test]
async fn every_bad_parameter_is_named_and_nothing_is_counted() {
    let app = TestApp::new();
    let agent = register(&app).await;
    for (body, expected) in [
        ("", vec![("#/grant_type", "required")]),
        ("grant_type=", vec![("#/grant_type", "required")]),
        (
            "GRANT_TYPE=client_credentials",
            vec![("#/grant_type", "required")],
        ),
        (
            "\u{feff}grant_type=client_credentials",
            vec![("#/grant_type", "required")],
        ),
        (
            "grant_type=client_credentials&grant_type=client_credentials",
            vec![("#/grant_type", "duplicate_member")],
        ),
        (
            "scope=a&scope=b&client_id=a&client_id=a&client_secret=&client_secret=b",
            vec![
                ("#/grant_type", "required"),
                ("#/scope", "duplicate_member"),
                ("#/client_id", "duplicate_member"),
                ("#/client_secret", "duplicate_member"),
            ],
        ),
    ] {
        let reply = app.send(Call::form(PATH, body)).await;
        check_invalid(&reply, &expected, body);
    }
    for (call, status, code) in [
        (agent.exchange("&x=%"), 400, "malformed_form"),
        (agent.exchange("&x=%ff"), 400, "malformed_form"),
        (
            agent.exchange("").typed("application/json"),
            415,
            "unsupported_media_type",
        ),
        (
            agent.exchange("").typed("multipart/form-data; boundary=x"),
            415,
            "unsupported_media_type",
        ),
        (
            agent
                .exchange("")
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
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!text.contains(&agent.client_secret) && !text.contains(&agent.client_id));
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_looked_up_is_503() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.revocations.fail_with(Some(StoreError::Overloaded));
    let reply = app.send(agent.exchange("")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "store_unavailable");
    assert_eq!(reply.json()["error"], "temporarily_unavailable");
    // A wrong secret needs no look-up.
    let wrong = basic(&agent.client_id, "x", "");
    assert_eq!(status(&app, wrong).await, 401);
}

#[tokio::test]
async fn nobody_can_sign_in_and_nobody_is_redirected() {
    let app = TestApp::new();
    for query in [
        "",
        "?response_type=code&client_id=x&redirect_uri=https%3A%2F%2Fevil.example&state=s3cret",
        "?response_type=token",
        "?response_type=none",
        "?%zz",
    ] {
        let reply = app
            .send(Call::get(&format!("/oauth2/authorize{query}")))
            .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), "unsupported_response_type");
        assert_eq!(reply.json()["error"], "unsupported_response_type");
        assert_eq!(reply.header("location"), None);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!text.contains("evil") && !text.contains("s3cret"));
    }
}
