//! Tools and HTTP share the same limits and counts.

use crate::prelude::*;

use super::{ask, call, failure, given, mint, ping, subscribe};

fn subscribe_over_http() -> Call {
    Call::sign_up("ada@example.com")
}

fn quota() -> Call {
    call("get_assistant_quota", &json!({}))
}

/// Policy, remaining and reset as the headers show them.
fn shown(reply: &Reply) -> String {
    let reset = reply.header("ratelimit-reset").unwrap();
    format!("{} {reset}", reply.shown())
}

#[tokio::test]
async fn a_call_counts_over_http_and_the_other_way_round() {
    let app = TestApp::new();
    for (call, expected) in [
        (subscribe(), "newsletter 7 900"),
        (subscribe_over_http(), "newsletter 6 900"),
        (subscribe(), "newsletter 5 900"),
        (subscribe_over_http(), "newsletter 4 900"),
        (mint(), "keys 59 3600"),
        (Call::mint(), "keys 58 3600"),
        // Six requests were counted before.
        (ping(), "default 593 60"),
    ] {
        assert_eq!(shown(&app.send(call).await), expected);
    }
}

#[tokio::test]
async fn a_policy_that_refuses_is_a_result_with_the_seconds_to_wait() {
    let app = Setup::default().limit("newsletter", "1/15m").start();
    // Arguments that are not valid are not counted.
    let bad = call("subscribe_newsletter", &json!({ "email": "ada" }));
    let reply = app.send(bad).await;
    assert!(failure(&reply).contains("#/email"));
    assert_eq!(reply.policy(), "default");
    app.given(subscribe()).await;
    app.clock.advance_ms(1000);
    app.expect("429", subscribe_over_http()).await;
    let reply = app.send(subscribe()).await;
    let words = failure(&reply);
    let problem: Value = serde_json::from_str(&words).unwrap();
    assert_eq!(problem["title"], "Quota exceeded");
    let rule = "allows 1 in 900 seconds for each email address and network";
    let detail = format!("The policy \"newsletter\" {rule}. Wait 899 seconds.");
    assert_eq!(problem["detail"], detail);
    assert!(words.contains("\"code\":\"rate_limited\""));
    // The headers say the same, without `Retry-After`, which belongs to 429.
    assert_eq!(shown(&reply), "newsletter 0 899");
    assert_eq!(reply.header("retry-after"), None);
    // The refusal was not counted: after that time the next one is admitted.
    app.clock.advance_ms(899_000);
    app.given(subscribe()).await;
}

#[tokio::test]
async fn the_chat_quota_counts_by_network_without_a_credential() {
    let app = Setup::default().limit("assistant", "2/24h").start();
    let unused = json!({ "used": 0, "max": 2, "remaining": 2 });
    assert_eq!(app.given(quota()).await, unused);
    let reply = app.send(ask()).await;
    assert_eq!(given(&reply)["remaining"], 1);
    assert_eq!(shown(&reply), "assistant 1 86400");
    assert_eq!(reply.header("set-cookie"), None);
    // A cookie changes nothing: the network is counted.
    let visitor = app.send(Call::chat()).await;
    assert_eq!(visitor.json()["remaining"], 1, "a quota of its own");
    let cookie = visitor.cookie();
    let reply = app.given(ask().header("cookie", &cookie)).await;
    assert_eq!(reply["remaining"], 0);
    let used = json!({ "used": 2, "max": 2, "remaining": 0 });
    assert_eq!(app.given(quota()).await, used);

    let reply = app.send(ask()).await;
    let words = failure(&reply);
    assert!(words.contains("\"code\":\"assistant_quota_exhausted\""));
    assert!(words.contains("Wait 86400 seconds."), "{words}");
    assert_eq!(shown(&reply), "assistant 0 86400");
    // Others are not affected: another network, the visitor, a credential.
    app.given(ask().from("198.51.100.7")).await;
    let again = Call::chat().header("cookie", &cookie);
    assert_eq!(app.send(again).await.json()["remaining"], 0);
    app.clock.advance_ms(86_400_000);
    assert_eq!(app.given(ask()).await["remaining"], 1);
}

#[tokio::test]
async fn the_chat_quota_counts_by_credential_wherever_it_comes_from() {
    let app = Setup::default().limit("assistant", "2/24h").start();
    for credential in [app.mint().await, register(&app).await.token] {
        app.given(ask().bearer(&credential)).await;
        let elsewhere = ask().bearer(&credential).from("198.51.100.7");
        let own = quota().header("x-api-key", &credential);
        for (call, remaining) in [(elsewhere, 0), (own, 0), (quota(), 2)] {
            assert_eq!(app.given(call).await["remaining"], remaining);
        }
        let words = app.failure(ask().bearer(&credential)).await;
        assert!(words.contains("assistant_quota_exhausted"));
    }
    app.given(ask()).await;
}

#[tokio::test]
async fn minting_keys_buys_no_more_than_the_network_may_ask() {
    let setup = Setup::default().limit("assistant", "1/24h");
    let app = setup.limit("assistant-ip", "3/24h").start();
    // A turn over HTTP counts for the network too.
    app.expect("200", Call::chat()).await;
    for _ in 0..2 {
        let key = app.mint().await;
        app.given(ask().bearer(&key)).await;
    }
    let words = app.failure(ask()).await;
    let violated = r#""violated-policies":["assistant-ip"]"#;
    assert_present(&words, &[violated, "\"code\":\"rate_limited\""]);
    let over_http = app.expect("429", Call::chat()).await;
    assert_eq!(over_http.policy(), "assistant-ip");
}

#[tokio::test]
async fn a_question_that_the_model_fails_is_given_back_even_if_a_fallback_answers() {
    for has_fallback in [false, true] {
        let away = ModelError::NotStarted("the secret cause".to_owned());
        let pages = ScriptedModelClient::new([Ok("From the pages.".to_owned())]);
        let setup = Setup {
            model_fallback: has_fallback.then(|| Arc::new(pages) as _),
            ..Setup::with_model(Arc::new(ScriptedModelClient::new([Err(away)])))
        };
        let app = setup.start();
        let reply = app.send(ask()).await;
        if has_fallback {
            let answer = given(&reply);
            assert_eq!(answer["message"], "From the pages.");
            assert_eq!(
                (&answer["used"], &answer["remaining"]),
                (&json!(0), &json!(10))
            );
        } else {
            assert!(failure(&reply).contains("\"code\":\"model_unavailable\""));
        }
        reply.check_silent_on("secret");
        assert_eq!(shown(&reply), "assistant 10 86400");
        assert_eq!(app.given(quota()).await["used"], 0);
    }
}

#[tokio::test]
async fn without_a_quota_there_is_nothing_to_use_up() {
    let app = Setup::default().limit("assistant", "off").start();
    let answer = app.given(ask()).await;
    assert_eq!(answer["used"], 0);
    assert_eq!(answer["remaining"], 1_000_000_000);
}
