//! Tools and HTTP share the same limits and counts.

use hyper::StatusCode;
use serde_json::json;

use crate::harness::{Call, Reply, Setup, TestApp};

use super::{ask, call, failure, given, plain};

const CHAT: &str = "/api/v1/assistant/chat";
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

fn subscribe() -> Call {
    call(
        "subscribe_newsletter",
        &json!({ "email": "ada@example.com" }),
    )
}

fn subscribe_over_http() -> Call {
    Call::post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#)
}

fn quota() -> Call {
    call("get_assistant_quota", &json!({}))
}

/// Policy, remaining and reset as the headers show them.
fn shown(reply: &Reply) -> (String, u32, String) {
    let reset = reply.header("ratelimit-reset").unwrap().to_owned();
    (reply.policy(), reply.remaining(), reset)
}

#[tokio::test]
async fn a_call_counts_over_http_and_the_other_way_round() {
    let app = TestApp::new();
    for (number, call) in [
        subscribe(),
        subscribe_over_http(),
        subscribe(),
        subscribe_over_http(),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = app.send(call).await;
        let left = 7 - u32::try_from(number).unwrap();
        assert_eq!(
            shown(&reply),
            ("newsletter".to_owned(), left, "900".to_owned())
        );
    }
    let minted = app.send(call("create_api_key", &json!({}))).await;
    assert_eq!(shown(&minted), ("keys".to_owned(), 59, "3600".to_owned()));
    let minted = app.send(Call::post("/api/v1/keys", "{}")).await;
    assert_eq!(minted.remaining(), 58);
    // Six requests were counted before.
    let reply = app.send(plain("ping", &json!({}))).await;
    assert_eq!(shown(&reply), ("default".to_owned(), 593, "60".to_owned()));
}

#[tokio::test]
async fn a_policy_that_refuses_is_a_result_with_the_seconds_to_wait() {
    let app = Setup::default().limit("newsletter", "1/15m").start();
    given(&app.send(subscribe_over_http_then(&app).await).await);
    app.clock.advance_ms(1000);
    let over_http = app.send(subscribe_over_http()).await;
    assert_eq!(over_http.status, StatusCode::TOO_MANY_REQUESTS);
    let reply = app.send(subscribe()).await;
    let words = failure(&reply);
    assert!(words.starts_with(
        "Quota exceeded. The policy \"newsletter\" allows 1 in 900 seconds for each e-mail address \
         and network."
    ));
    assert!(words.contains("\nRetry-After: 899\n"), "{words}");
    assert!(words.contains("\ncode: rate_limited\n"));
    // The headers say the same, without `Retry-After`, which belongs to 429.
    assert_eq!(
        shown(&reply),
        ("newsletter".to_owned(), 0, "899".to_owned())
    );
    assert_eq!(reply.header("retry-after"), None);
    // The refusal was not counted: after that time the next one is admitted.
    app.clock.advance_ms(899_000);
    given(&app.send(subscribe()).await);
}

/// Arguments that are not valid are not counted.
async fn subscribe_over_http_then(app: &TestApp) -> Call {
    let bad = call("subscribe_newsletter", &json!({ "email": "ada" }));
    let reply = app.send(bad).await;
    assert!(failure(&reply).contains("#/email"));
    assert_eq!(reply.policy(), "default");
    subscribe()
}

#[tokio::test]
async fn past_the_doors_limit_a_message_is_a_429() {
    let app = Setup::default().limit("default", "2/60s").start();
    app.send(Call::get("/api/v1/health")).await;
    given(&app.send(subscribe()).await);
    for call in [
        subscribe(),
        plain("ping", &json!({})),
        plain("tools/list", &json!({})),
        super::raw("nonsense"),
        super::raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.code(), "rate_limited");
        assert_eq!(reply.retry_after_s(), 60);
    }
    assert_eq!(app.contacts.len(), 1);
}

#[tokio::test]
async fn the_chat_quota_counts_by_network_without_a_credential() {
    let app = Setup::default().limit("assistant", "2/24h").start();
    assert_eq!(
        given(&app.send(quota()).await),
        json!({ "used": 0, "max": 2, "remaining": 2 })
    );
    let reply = app.send(ask()).await;
    assert_eq!(given(&reply)["remaining"], 1);
    assert_eq!(
        shown(&reply),
        ("assistant".to_owned(), 1, "86400".to_owned())
    );
    assert_eq!(reply.header("set-cookie"), None);
    // A cookie changes nothing: the network is counted.
    let visitor = app.send(Call::post(CHAT, HELLO)).await;
    assert_eq!(
        visitor.json()["remaining"],
        1,
        "a visitor has a quota of its own"
    );
    let reply = app.send(ask().header("cookie", visitor.cookie())).await;
    assert_eq!(given(&reply)["remaining"], 0);
    assert_eq!(
        given(&app.send(quota()).await),
        json!({ "used": 2, "max": 2, "remaining": 0 })
    );

    let reply = app.send(ask()).await;
    let words = failure(&reply);
    assert!(
        words.contains("\ncode: assistant_quota_exhausted\n"),
        "{words}"
    );
    assert!(words.contains("\nRetry-After: 86400\n"), "{words}");
    assert_eq!(
        shown(&reply),
        ("assistant".to_owned(), 0, "86400".to_owned())
    );
    // Others are not affected: another network, the visitor, a credential.
    given(&app.send(ask().from("198.51.100.7")).await);
    let again = Call::post(CHAT, HELLO).header("cookie", visitor.cookie());
    assert_eq!(app.send(again).await.json()["remaining"], 0);
    app.clock.advance_ms(86_400_000);
    assert_eq!(given(&app.send(ask()).await)["remaining"], 1);
}

#[tokio::test]
async fn the_chat_quota_counts_by_credential_wherever_it_comes_from() {
    let app = Setup::default().limit("assistant", "2/24h").start();
    let minted = given(&app.send(call("create_api_key", &json!({}))).await);
    let agent = Call::post("/agent/auth", r#"{"type":"anonymous"}"#);
    let agent = app.send(agent).await.json();
    for credential in [&minted["api_key"], &agent["access_token"]] {
        let credential = credential.as_str().unwrap();
        given(&app.send(ask().bearer(credential)).await);
        let elsewhere = ask().bearer(credential).from("198.51.100.7");
        assert_eq!(given(&app.send(elsewhere).await)["remaining"], 0);
        let left = quota().header("x-api-key", credential);
        assert_eq!(given(&app.send(left).await)["remaining"], 0);
        assert_eq!(given(&app.send(quota()).await)["remaining"], 2);
        let words = failure(&app.send(ask().bearer(credential)).await);
        assert!(words.contains("assistant_quota_exhausted"));
    }
    given(&app.send(ask()).await);
}

#[tokio::test]
async fn minting_keys_buys_no_more_than_the_network_may_ask() {
    let app = Setup::default()
        .limit("assistant", "1/24h")
        .limit("assistant-ip", "3/24h")
        .start();
    // A turn over HTTP counts for the network too.
    assert_eq!(
        app.send(Call::post(CHAT, HELLO)).await.status,
        StatusCode::OK
    );
    for _ in 0..2 {
        let minted = given(&app.send(call("create_api_key", &json!({}))).await);
        let key = minted["api_key"].as_str().unwrap().to_owned();
        given(&app.send(ask().bearer(&key)).await);
    }
    let reply = app.send(ask()).await;
    let words = failure(&reply);
    assert!(words.contains("\"assistant-ip\""), "{words}");
    assert!(words.contains("\ncode: rate_limited\n"));
    let over_http = app.send(Call::post(CHAT, HELLO)).await;
    assert_eq!(over_http.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(over_http.policy(), "assistant-ip");
}

#[tokio::test]
async fn a_question_the_model_fails_is_given_back() {
    use crate::twins::ScriptedModelClient;
    use landing_api::ports::ModelError;

    let app = Setup {
        model: std::sync::Arc::new(ScriptedModelClient::new([Err(ModelError::NotStarted(
            "away".to_owned(),
        ))])),
        ..Setup::default()
    }
    .start();
    let reply = app.send(ask()).await;
    assert!(failure(&reply).contains("\ncode: model_unavailable\n"));
    assert_eq!(
        shown(&reply),
        ("assistant".to_owned(), 10, "86400".to_owned())
    );
    assert_eq!(given(&app.send(quota()).await)["used"], 0);
}

#[tokio::test]
async fn a_question_that_a_fallback_answers_is_an_answer_and_given_back() {
    use crate::twins::ScriptedModelClient;
    use landing_api::ports::ModelError;

    let away = ModelError::NotStarted("the secret cause".to_owned());
    let from_the_pages = Ok("From the pages.".to_owned());
    let app = Setup {
        model: std::sync::Arc::new(ScriptedModelClient::new([Err(away)])),
        model_fallback: Some(std::sync::Arc::new(ScriptedModelClient::new([
            from_the_pages,
        ]))),
        ..Setup::default()
    }
    .start();
    let reply = app.send(ask()).await;
    assert_eq!(
        given(&reply),
        json!({"message": "From the pages.", "used": 0, "max": 10, "remaining": 10})
    );
    assert_eq!(
        shown(&reply),
        ("assistant".to_owned(), 10, "86400".to_owned())
    );
    assert!(!reply.body.windows(6).any(|bytes| bytes == b"secret"));
}

#[tokio::test]
async fn without_a_quota_there_is_nothing_to_use_up() {
    let app = Setup::default().limit("assistant", "off").start();
    let answer = given(&app.send(ask()).await);
    assert_eq!(answer["used"], 0);
    assert_eq!(answer["remaining"], 1_000_000_000);
}
