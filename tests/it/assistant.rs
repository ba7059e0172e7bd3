//! `/api/v1/assistant/chat`: the quota, the cookie, refunds.

use std::sync::Arc;

use landing_api::ports::ModelError;
use serde_json::json;

use crate::agent::register;
use crate::harness::{Call, Reply, Setup, TestApp};
use crate::twins::ScriptedModelClient;

const PATH: &str = "/api/v1/assistant/chat";
const ALIAS: &str = "/api/assistant/chat";

/// Used, max and remaining, as the body tells them.
fn numbers(reply: &Reply) -> (u64, u64, u64) {
    let body = reply.json();
    let number = |name: &str| body[name].as_u64().unwrap();
    (number("used"), number("max"), number("remaining"))
}

/// A message of the visitor with this cookie.
fn hello(cookie: &str) -> Call {
    Call::chat().header("cookie", cookie)
}

#[tokio::test]
async fn an_answer_carries_the_quota_twice_and_the_headers_mirror_it() {
    let reply = TestApp::new().expect("200", Call::chat()).await;
    assert_eq!(
        reply.json(),
        json!({
            "message": "Hello, I am the scripted assistant.",
            "reply": "Hello, I am the scripted assistant.",
            "used": 1, "max": 10, "remaining": 9,
            "quota": {"used": 1, "max": 10, "remaining": 9},
        })
    );
    assert_eq!(reply.shown(), "assistant 9");
    assert_eq!(reply.header("ratelimit-limit"), Some("10"));
    assert_eq!(reply.header("ratelimit-reset"), Some("86400"));
}

#[tokio::test]
async fn the_cookie_carries_the_visitor_through_ten_messages() {
    let app = TestApp::new();
    let mut cookie = app.send(Call::chat()).await.cookie();
    for used in 2..=10 {
        let path = if used % 2 == 0 { PATH } else { ALIAS };
        let reply = app.send(hello(&cookie).to(path)).await;
        assert_eq!(numbers(&reply), (used, 10, 10 - used));
        cookie = reply.cookie();
        app.clock.advance_ms(1000);
    }
    let exhausted = "429 assistant_quota_exhausted";
    let refused = app.expect(exhausted, hello(&cookie)).await;
    assert_eq!(refused.json()["violated-policies"], json!(["assistant"]));
    assert_eq!(refused.header("set-cookie"), None, "nothing was charged");
    let wait_s = refused.retry_after_s();
    assert_eq!(wait_s, 86_400 - 9);
    app.clock.advance_ms(wait_s * 1000 - 1);
    app.expect(exhausted, hello(&cookie)).await;
    app.clock.advance_ms(1);
    // Two were sent in the first second.
    assert_eq!(numbers(&app.send(hello(&cookie)).await).0, 9);
}

#[tokio::test]
async fn get_shows_the_quota_and_charges_nothing() {
    let setup = Setup::default().limit("default", "100000/60s");
    let app = setup.limit("ip", "100000/60s").start();
    let stranger = app.send(Call::get(PATH)).await;
    let unused = json!({"used": 0, "max": 10, "remaining": 10});
    assert_eq!(stranger.json(), unused);
    assert_eq!(stranger.header("set-cookie"), None, "nobody is named");
    assert_eq!(stranger.header("ratelimit-reset"), Some("86400"));
    let cookie = app.send(Call::chat()).await.cookie();
    for path in [PATH, ALIAS].repeat(500) {
        let reply = app.send(Call::get(path).header("cookie", &cookie)).await;
        assert_eq!(numbers(&reply), (1, 10, 9));
        assert_eq!(reply.shown(), "assistant 9");
    }
}

#[tokio::test]
async fn the_cookie_outlives_every_counted_message() {
    let app = TestApp::new();
    let first = app.send(Call::chat()).await;
    let cookie = first.cookie();
    assert!(cookie.starts_with("assistant=v1."));
    app.clock.advance_ms(60_000);
    let expected = format!("{cookie}; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax");
    for reply in [first, app.send(hello(&cookie)).await] {
        assert_eq!(reply.header("set-cookie"), Some(&*expected));
    }
}

#[tokio::test]
async fn on_https_only_the_host_prefixed_cookie_counts() {
    let app = Setup::at("https://landing.example").start();
    let reply = app.send(Call::chat()).await;
    let cookie = reply.cookie();
    assert!(cookie.starts_with("__Host-assistant=v1."));
    assert!(reply.header("set-cookie").unwrap().ends_with("; Secure"));
    assert_eq!(numbers(&app.send(hello(&cookie)).await).0, 2);
    let other_name = cookie.replace("__Host-", "");
    assert_eq!(numbers(&app.send(hello(&other_name)).await).0, 1);
}

#[tokio::test]
async fn a_bad_cookie_is_a_stranger_and_buys_nothing_beyond_the_ceiling() {
    let app = Setup::default().limit("assistant-ip", "12/24h").start();
    let good = app.send(Call::chat()).await.cookie();
    let (rest, last) = good.split_at(good.len() - 1);
    let tampered = rest.to_owned() + if last == "A" { "B" } else { "A" };
    let oversized = format!("assistant={}", "A".repeat(4000));
    for bad in ["assistant=", "assistant=v1.x.y", &tampered, &oversized, "x"] {
        let reply = app.send(hello(bad)).await;
        assert_eq!(numbers(&reply), (1, 10, 9), "{bad:.60}");
    }
    // The first of two that are good counts; sending both buys no third window.
    let second = app.send(Call::chat()).await.cookie();
    let both = format!("{good}; {second}");
    assert_eq!(numbers(&app.send(hello(&both)).await).0, 2);
    // Eight so far; four more strangers, then the network has had enough.
    for _ in 0..4 {
        app.expect("200", Call::chat()).await;
    }
    let refused = app.expect("429 rate_limited", Call::chat()).await;
    assert_eq!(refused.policy(), "assistant-ip");
    // Refused by the network's policy, the visitor's own count is as it was.
    let quota = app.send(Call::get(PATH).header("cookie", &good)).await;
    assert_eq!(numbers(&quota).0, 2);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_said_to_be_so_even_if_another_policy_waits_longer() {
    let setup = Setup::default().limit("assistant", "1/1h");
    let app = setup.limit("assistant-ip", "1/24h").start();
    let cookie = app.send(Call::chat()).await.cookie();
    let call = hello(&cookie);
    let refused = app.expect("429 assistant_quota_exhausted", call).await;
    assert_eq!(refused.policy(), "assistant-ip", "the longest wait binds");
    app.expect("429 rate_limited", Call::chat()).await;
}

/// What a failure gives back of each policy, `contracts::refunds` says.
#[tokio::test]
async fn only_a_turn_that_the_model_worked_on_stays_charged() {
    type Failure = fn(String) -> ModelError;
    let failures: [(Failure, &str, u64); 3] = [
        (ModelError::NotStarted, "assistant 10", 1),
        (ModelError::Unusable, "assistant 10", 1),
        (ModelError::Started, "assistant 9", 2),
    ];
    for (failure, shown, used) in failures {
        let error = failure("the secret cause".to_owned());
        let model = ScriptedModelClient::new([Err(error)]);
        let app = Setup::with_model(Arc::new(model)).start();
        let reply = app.expect("503 model_unavailable", Call::chat()).await;
        assert_eq!(reply.shown(), shown);
        assert_eq!(reply.header("retry-after"), None);
        reply.check_silent_on("secret");
        let is_charged = reply.header("set-cookie").is_some();
        assert_eq!(is_charged, shown == "assistant 9");
        let cookie = if is_charged {
            reply.cookie()
        } else {
            String::new()
        };
        assert_eq!(numbers(&app.send(hello(&cookie)).await).0, used);
    }
}

#[tokio::test]
async fn what_the_client_says_it_used_changes_nothing_and_other_members_are_ignored() {
    let app = TestApp::new();
    for members in [
        r#""clientUsed":0"#,
        r#""clientUsed":-1"#,
        r#""clientUsed":3.5"#,
        r#""clientUsed":1e999"#,
        r#""clientUsed":123456789012345678901234567890"#,
        r#""model":"big","x":null"#,
    ] {
        let message = r#"{"role":"user","content":"hi","name":"x"}"#;
        let body = format!(r#"{{"messages":[{message}],{members}}}"#);
        let reply = app.expect("200", Call::chat().body(body)).await;
        assert_eq!(numbers(&reply), (1, 10, 9), "{members}");
    }
}

#[tokio::test]
async fn the_largest_legal_request_fits() {
    let content = r"\ud83d\ude00".repeat(2000);
    let turn = format!(r#"{{"role":"user","content":"{content}"}}"#);
    let body = format!(r#"{{"messages":[{}]}}"#, vec![turn; 12].join(","));
    assert!(body.len() > 288_000);
    TestApp::new().expect("200", Call::chat().body(body)).await;
}

#[tokio::test]
async fn without_a_cookie_a_credential_is_counted() {
    let app = TestApp::new();
    let keys = [app.mint().await, app.mint().await];
    for credential in keys.iter().chain([&register(&app).await.token]) {
        for used in 1..=10 {
            let path = if used % 2 == 0 { PATH } else { ALIAS };
            // A cookie that is not ours is none.
            let call = hello("assistant=v1.x.y").to(path).bearer(credential);
            let reply = app.expect("200", call).await;
            assert_eq!(numbers(&reply), (used, 10, 10 - used));
            assert_eq!(reply.header("set-cookie"), None);
            let own = Call::get(path).header("x-api-key", credential);
            let own = app.send(own).await;
            assert_eq!(numbers(&own), (used, 10, 10 - used));
            assert_eq!(own.shown(), format!("assistant {}", 10 - used));
        }
        let exhausted = "429 assistant_quota_exhausted";
        let streamed = Call::chat().header("accept", "text/event-stream");
        for call in [Call::chat(), streamed] {
            let elsewhere = call.from("198.51.100.7").bearer(credential);
            let refused = app.expect(exhausted, elsewhere).await;
            assert_eq!(refused.json()["violated-policies"], json!(["assistant"]));
        }
    }
    assert_eq!(numbers(&app.send(Call::get(PATH)).await), (0, 10, 10));
    assert_eq!(numbers(&app.send(Call::chat()).await), (1, 10, 9));
}

#[tokio::test]
async fn a_cookie_counts_even_if_a_credential_comes_with_it() {
    let app = TestApp::new();
    let key = app.mint().await;
    let cookie = app.send(Call::chat()).await.cookie();
    let reply = app.send(hello(&cookie).bearer(&key)).await;
    assert_eq!(numbers(&reply), (2, 10, 8));
    assert_eq!(reply.cookie(), cookie);
    let quota = Call::get(PATH).bearer(&key);
    assert_eq!(numbers(&app.send(quota).await), (0, 10, 10));
    let both = Call::get(PATH).bearer(&key).header("cookie", &cookie);
    assert_eq!(numbers(&app.send(both).await), (2, 10, 8));
}

#[tokio::test]
async fn a_bad_credential_is_refused_and_counts_no_message() {
    let app = Setup::default().limit("assistant-ip", "1/24h").start();
    let revoked = register(&app).await.token;
    app.expect("200", Call::revocation(&revoked)).await;
    for call in [
        Call::chat().bearer("nonsense"),
        Call::chat().bearer(&revoked),
        Call::chat().header("x-api-key", ""),
        Call::get(PATH).bearer(&revoked),
    ] {
        let refused = app.expect("401 invalid_token", call).await;
        assert_eq!(refused.header("set-cookie"), None);
    }
    app.expect("200", Call::chat()).await;
}

#[tokio::test]
async fn with_the_quota_off_nothing_is_counted_and_no_cookie_is_set() {
    let app = Setup::default().limit("assistant", "off").start();
    for _ in 0..12 {
        let reply = app.send(Call::chat()).await;
        assert_eq!(numbers(&reply), (0, 1_000_000_000, 1_000_000_000));
        assert_eq!(reply.header("set-cookie"), None);
    }
}
