//! `/oauth2`: a fresh token for a client id and its secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{DAY_MS, METADATA, register};
use crate::prelude::*;

const PATH: &str = "/oauth2/token";
const BASIC: &str = ", Basic realm=\"oauth2\"";

/// A token request by `Authorization: Basic`, with `more` in the form.
fn basic(id: &str, secret: &str, more: &str) -> Call {
    let pair = STANDARD.encode(format!("{id}:{secret}"));
    Call::form(PATH, format!("grant_type=client_credentials{more}"))
        .header("authorization", format!("Basic {pair}"))
}

/// Expects a 401 with `scheme` behind the challenge that all have.
async fn check_invalid_client(app: &TestApp, call: Call, scheme: &str) -> Reply {
    let reply = app.expect("401 invalid_client", call).await;
    let challenge = format!("{METADATA}{scheme}");
    assert_eq!(reply.header("www-authenticate"), Some(&*challenge));
    assert_eq!(reply.policy(), "default", "nothing was counted");
    reply
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
        let reply = app.expect("200", call).await;
        assert_eq!(reply.policy(), "agents");
        let token = reply.member("access_token");
        let expected = json!({ "access_token": token, "token_type": "Bearer", "expires_in": 86_400, "scope": "public" });
        assert_eq!(reply.json(), expected);
        assert!(!tokens.contains(&token));
        tokens.push(token);
    }
    // The earlier ones stay good beside it.
    for token in &tokens {
        app.expect("200", Call::health().bearer(token)).await;
    }
}

#[tokio::test]
async fn a_secret_is_good_for_thirty_days_and_no_token_outlives_it() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.clock.advance_ms(30 * DAY_MS - 2500);
    let reply = app.send(agent.exchange("")).await;
    assert_eq!(reply.json()["expires_in"], 2);
    let health = || Call::health().bearer(&reply.member("access_token"));
    app.clock.advance_ms(2499);
    app.expect("200", health()).await;
    app.expect("200", agent.exchange("")).await;
    app.clock.advance_ms(1);
    app.expect("401", health()).await;
    check_invalid_client(&app, agent.exchange(""), "").await;
}

#[tokio::test]
async fn a_client_that_is_not_good_is_told_nothing_more() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    let (id, secret) = (&*agent.client_id, &*agent.client_secret);
    let mut answers = Vec::new();
    let secrets = ["x", &other.client_secret, &secret[..55], &agent.token, ""];
    let ids = [&other.client_id, "x", "reg_", &agent.token, ""];
    let pairs = secrets.map(|secret| (id, secret)).into_iter();
    let pairs = pairs.chain(ids.map(|id| (id, secret)));
    for (id, secret) in pairs.chain([(secret, id), ("", "")]) {
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let reply = check_invalid_client(&app, Call::form(PATH, form), "").await;
        let by_basic = check_invalid_client(&app, basic(id, secret, ""), BASIC).await;
        for reply in [reply, by_basic] {
            let mut body = reply.json();
            body["instance"].take();
            answers.push(body);
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    check_invalid_client(&app, Call::form(PATH, "grant_type=client_credentials"), "").await;
}

#[tokio::test]
async fn a_basic_header_that_cannot_be_read_is_an_invalid_client() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let good = STANDARD.encode(format!("{}:{}", agent.client_id, agent.client_secret));
    let form = || Call::form(PATH, "grant_type=client_credentials");
    for value in ["Basic", "Basic ", "Basic ###", "Basic eA==", "basic Og"] {
        check_invalid_client(&app, form().header("authorization", value), BASIC).await;
    }
    let good = format!("Basic {good}");
    let twice = form().headers("authorization", &[&good, &good]);
    check_invalid_client(&app, twice, BASIC).await;
    // Other schemes are ignored, and so is a bearer token, good or not.
    check_invalid_client(&app, form().header("authorization", "Digest a=b"), "").await;
    for token in ["nonsense", &agent.token] {
        app.expect("200", agent.exchange("").bearer(token)).await;
    }
}

#[tokio::test]
async fn of_two_ways_to_authenticate_the_header_counts() {
    let app = TestApp::new();
    let (agent, other) = (register(&app).await, register(&app).await);
    let (id, secret) = (&*agent.client_id, &*agent.client_secret);
    let more = format!("&client_id={}&client_secret=x", other.client_id);
    app.expect("200", basic(id, secret, &more)).await;
    let more = format!("&client_id={id}&client_secret={secret}");
    check_invalid_client(&app, basic(id, "x", &more), BASIC).await;
}

#[tokio::test]
async fn other_grants_and_scopes_are_refused() {
    let app = TestApp::new();
    let agent = register(&app).await;
    let grants = "authorization_code password refresh_token Client_Credentials client_credentials+ \
                  urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
    for grant in grants.split(' ') {
        let form = format!("grant_type={grant}&client_id={}", agent.client_id);
        let call = Call::form(PATH, form);
        app.expect("400 unsupported_grant_type", call).await;
    }
    for scope in "openid public+admin Public +public public,x %00".split(' ') {
        let call = agent.exchange(&format!("&scope={scope}"));
        let reply = app.expect("400 invalid_scope", call).await;
        assert_eq!(reply.policy(), "default", "nothing was counted");
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_looked_up_is_503() {
    let app = TestApp::new();
    let agent = register(&app).await;
    app.revocations.fail_with(Some(StoreError::Overloaded));
    let exchange = agent.exchange("");
    app.expect("503 store_unavailable", exchange).await;
    // A wrong secret needs no look-up.
    app.expect("401", basic(&agent.client_id, "x", "")).await;
}

#[tokio::test]
async fn nobody_can_sign_in_and_nobody_is_redirected() {
    let app = TestApp::new();
    let redirected =
        "?response_type=code&client_id=x&redirect_uri=https%3A%2F%2Fevil.example&state=s3cret";
    let others = ["", "?response_type=token", "?response_type=none", "?%zz"];
    for query in others.into_iter().chain([redirected]) {
        let call = Call::get(&format!("/oauth2/authorize{query}"));
        let reply = app.expect("400 unsupported_response_type", call).await;
        assert_eq!(reply.header("location"), None);
        reply.check_silent_on("evil");
        reply.check_silent_on("s3cret");
    }
}
