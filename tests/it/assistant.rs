//! `/api/v1/assistant/chat`: the quota, the cookie, refunds.

use std::sync::Arc;

use hyper::StatusCode;
use landing_api::ports::ModelError;
use serde_json::json;

use crate::harness::{Call, Reply, Setup, TestApp};
use crate::twins::ScriptedModelClient;

const PATH: &str = "/api/v1/assistant/chat";
const ALIAS: &str = "/api/assistant/chat";
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

fn numbers(reply: &Reply) -> (u64, u64, u64) {
    let body = reply.json();
    let number = |name: &str| body[name].as_u64().unwrap();
    (number("used"), number("max"), number("remaining"))
}

fn hello(cookie: &str) -> Call {
    Call::post(PATH, HELLO).header("cookie", cookie)
}

fn failing(error: ModelError) -> Setup {
    Setup {
        model: Arc::new(ScriptedModelClient::new([Err(error)])),
        ..Setup::default()
    }
}

#[tokio::test]
async fn an_answer_carries_the_quota_twice_and_the_headers_mirror_it() {
    let app = TestApp::new();
    let reply = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(
        reply.json(),
        json!({
            "message": "Hello, I am the scripted assistant.",
            "reply": "Hello, I am the scripted assistant.",
            "used": 1, "max": 10, "remaining": 9,
            "quota": {"used": 1, "max": 10, "remaining": 9},
        })
    );
    assert_eq!(reply.policy(), "assistant");
    assert_eq!(reply.header("ratelimit-limit"), Some("10"));
    assert_eq!(reply.remaining(), 9);
    assert_eq!(reply.header("ratelimit-reset"), Some("86400"));
}

#[tokio::test]
async fn the_cookie_carries_the_visitor_through_ten_messages() {
    let app = TestApp::new();
    let mut cookie = app.send(Call::post(PATH, HELLO)).await.cookie();
    for used in 2..=10 {
        let path = if used % 2 == 0 { PATH } else { ALIAS };
        let call = Call::post(path, HELLO).header("cookie", &cookie);
        let reply = app.send(call).await;
        assert_eq!(numbers(&reply), (used, 10, 10 - used));
        cookie = reply.cookie();
        app.clock.advance_ms(1000);
    }
    let refused = app.send(hello(&cookie)).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.code(), "assistant_quota_exhausted");
    assert_eq!(refused.json()["violated-policies"], json!(["assistant"]));
    assert_eq!(refused.header("set-cookie"), None, "nothing was charged");
    let wait_s = refused.retry_after_s();
    assert_eq!(wait_s, 86_400 - 9);
    app.clock.advance_ms(wait_s * 1000 - 1);
    let early = app.send(hello(&cookie)).await;
    assert_eq!(early.status, StatusCode::TOO_MANY_REQUESTS);
    app.clock.advance_ms(1);
    // Two were sent in the first second.
    assert_eq!(numbers(&app.send(hello(&cookie)).await).0, 9);
}

#[tokio::test]
async fn get_shows_the_quota_and_charges_nothing() {
    let app = Setup::default()
        .limit("default", "100000/60s")
        .limit("ip", "100000/60s")
        .start();
    let stranger = app.send(Call::get(PATH)).await;
    assert_eq!(
        stranger.json(),
        json!({"used": 0, "max": 10, "remaining": 10})
    );
    assert_eq!(stranger.header("set-cookie"), None, "nobody is named");
    assert_eq!(stranger.header("ratelimit-reset"), Some("86400"));
    let cookie = app.send(Call::post(PATH, HELLO)).await.cookie();
    for path in [PATH, ALIAS].repeat(500) {
        let reply = app.send(Call::get(path).header("cookie", &cookie)).await;
        assert_eq!(numbers(&reply), (1, 10, 9));
        assert_eq!(
            (reply.policy(), reply.remaining()),
            ("assistant".to_owned(), 9)
        );
    }
}

#[tokio::test]
async fn the_cookie_outlives_every_counted_message() {
    let app = TestApp::new();
    let first = app.send(Call::post(PATH, HELLO)).await;
    let cookie = first.cookie();
    app.clock.advance_ms(60_000);
    for reply in [first, app.send(hello(&cookie)).await] {
        let set_cookie = reply.header("set-cookie").unwrap();
        assert!(set_cookie.starts_with(&cookie), "the same visitor");
        for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=86400"] {
            assert!(
                set_cookie.contains(&format!("; {attribute}")),
                "{set_cookie}"
            );
        }
        assert!(set_cookie.starts_with("assistant=v1."));
        assert!(!set_cookie.contains("Secure"));
    }
}

#[tokio::test]
async fn on_https_only_the_host_prefixed_cookie_counts() {
    let app = Setup {
        base_url: "https://landing.example",
        ..Setup::default()
    }
    .start();
    let reply = app.send(Call::post(PATH, HELLO)).await;
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
    let good = app.send(Call::post(PATH, HELLO)).await.cookie();
    let mut tampered = good.clone();
    let last = if tampered.pop() == Some('A') {
        'B'
    } else {
        'A'
    };
    tampered.push(last);
    let oversized = format!("assistant={}", "A".repeat(4000));
    for bad in ["assistant=", "assistant=v1.x.y", &tampered, &oversized, "x"] {
        assert_eq!(
            numbers(&app.send(hello(bad)).await),
            (1, 10, 9),
            "{bad:.60}"
        );
    }
    // The first of two that are good counts; sending both buys no third window.
    let second = app.send(Call::post(PATH, HELLO)).await.cookie();
    let both = format!("{good}; {second}");
    assert_eq!(numbers(&app.send(hello(&both)).await).0, 2);
    // Eight so far; four more strangers, then the network has had enough.
    for _ in 0..4 {
        assert_eq!(
            app.send(Call::post(PATH, HELLO)).await.status,
            StatusCode::OK
        );
    }
    let refused = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.code(), "rate_limited");
    assert_eq!(refused.policy(), "assistant-ip");
    // Refused by the network's policy, the visitor's own count is as it was.
    let quota = app.send(Call::get(PATH).header("cookie", &good)).await;
    assert_eq!(numbers(&quota).0, 2);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_said_to_be_so_even_if_another_policy_waits_longer() {
    let app = Setup::default()
        .limit("assistant", "1/1h")
        .limit("assistant-ip", "1/24h")
        .start();
    let cookie = app.send(Call::post(PATH, HELLO)).await.cookie();
    let refused = app.send(hello(&cookie)).await;
    assert_eq!(refused.code(), "assistant_quota_exhausted");
    assert_eq!(refused.policy(), "assistant-ip", "the longest wait binds");
    let stranger = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(stranger.code(), "rate_limited");
}

#[tokio::test]
async fn a_turn_the_model_never_worked_on_is_given_back() {
    let app = failing(ModelError::NotStarted("connection refused".to_owned())).start();
    let reply = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "model_unavailable");
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(
        (reply.policy(), reply.remaining()),
        ("assistant".to_owned(), 10)
    );
    assert_eq!(reply.header("set-cookie"), None);
    assert!(!String::from_utf8_lossy(&reply.body).contains("refused"));
    assert_eq!(numbers(&app.send(Call::post(PATH, HELLO)).await).0, 1);
}

#[tokio::test]
async fn a_model_that_is_away_is_not_asked_without_end() {
    let away = ModelError::NotStarted("connection refused".to_owned());
    let model = Arc::new(ScriptedModelClient::new(vec![Err(away); 50]).metered());
    let app = Setup {
        model: model.clone(),
        ..Setup::default()
    }
    .limit("assistant-ip", "20/24h")
    .limit("assistant-all", "5/24h")
    .start();
    for _ in 0..20 {
        let reply = app.send(Call::post(PATH, HELLO)).await;
        assert_eq!(reply.code(), "model_unavailable");
        // The visitor's own messages, and all together, are as they were.
        assert_eq!(
            (reply.policy(), reply.remaining()),
            ("assistant".to_owned(), 10)
        );
        assert_eq!(reply.header("set-cookie"), None);
        app.clock.advance_ms(1000);
    }
    let refused = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.json()["violated-policies"], json!(["assistant-ip"]));
    assert_eq!(refused.header("ratelimit-limit"), Some("20"));
    assert_eq!(refused.retry_after_s(), 86_400 - 20);
    assert_eq!(model.asked().len(), 20);
    let neighbour = app.send(Call::post(PATH, HELLO).from("192.0.2.2")).await;
    assert_eq!(neighbour.code(), "model_unavailable");
    app.clock.advance_ms(refused.retry_after_s() * 1000);
    let reply = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(reply.code(), "model_unavailable", "one place is free again");
}

#[tokio::test]
async fn an_answer_of_no_use_gives_the_message_back_but_not_what_bounds_the_bill() {
    let answers = vec![Err(ModelError::Unusable("empty".to_owned())); 3];
    let app = Setup {
        model: Arc::new(ScriptedModelClient::new(answers).metered()),
        ..Setup::default()
    }
    .limit("assistant-all", "2/24h")
    .start();
    for _ in 0..2 {
        let reply = app.send(Call::post(PATH, HELLO)).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(
            (reply.policy(), reply.remaining()),
            ("assistant".to_owned(), 10)
        );
        assert_eq!(reply.header("set-cookie"), None);
    }
    let refused = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(
        (refused.code(), refused.policy()),
        ("rate_limited".to_owned(), "assistant-all".to_owned())
    );
}

#[tokio::test]
async fn a_turn_the_model_worked_on_stays_charged() {
    let app = failing(ModelError::Started("broke off".to_owned())).start();
    let reply = app.send(Call::post(PATH, HELLO)).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        (reply.policy(), reply.remaining()),
        ("assistant".to_owned(), 9)
    );
    let cookie = reply.cookie();
    assert_eq!(numbers(&app.send(hello(&cookie)).await).0, 2);
}

#[tokio::test]
async fn all_turns_together_are_limited_only_for_a_model_that_costs_money() {
    for (model, admitted) in [
        (ScriptedModelClient::default(), 4),
        (ScriptedModelClient::default().metered(), 2),
    ] {
        let app = Setup {
            model: Arc::new(model),
            ..Setup::default()
        }
        .limit("assistant-all", "2/24h")
        .start();
        for number in 0..4 {
            let call = Call::post(PATH, HELLO).from(&format!("192.0.2.{number}"));
            let reply = app.send(call).await;
            if number < admitted {
                assert_eq!(reply.status, StatusCode::OK);
            } else {
                assert_eq!(reply.code(), "rate_limited");
                assert_eq!(reply.policy(), "assistant-all");
            }
        }
    }
}

#[tokio::test]
async fn what_the_client_says_it_used_changes_nothing() {
    let app = TestApp::new();
    for client_used in ["0", "-1", "3.5", "1e999", "123456789012345678901234567890"] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"hi"}}],"clientUsed":{client_used}}}"#
        );
        let reply = app.send(Call::post(PATH, body)).await;
        assert_eq!(numbers(&reply), (1, 10, 9), "{client_used}");
    }
}

#[tokio::test]
async fn members_beyond_the_request_are_ignored() {
    let app = TestApp::new();
    let body = r#"{"messages":[{"role":"user","content":"hi","name":"x"}],"model":"big","x":null}"#;
    assert_eq!(
        app.send(Call::post(PATH, body)).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn bad_requests_are_named_and_charge_nothing() {
    let app = TestApp::new();
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let thirteen = json!({"messages": vec![turn("user", "x"); 13]}).to_string();
    let long = json!({"messages": [turn("user", &"x".repeat(2001))]}).to_string();
    let system = json!({"messages": [turn("user", "x"), turn("system", "obey")]}).to_string();
    for (body, errors) in [
        ("{}", vec![("#/messages", "required")]),
        (r#"{"messages":[]}"#, vec![("#/messages", "length")]),
        (r#"{"messages":"hi"}"#, vec![("#/messages", "type")]),
        (r#"{"messages":[7]}"#, vec![("#/messages/0", "type")]),
        (&thirteen, vec![("#/messages", "length")]),
        (&long, vec![("#/messages/0/content", "length")]),
        (&system, vec![("#/messages/1/role", "enum")]),
        (
            r#"{"messages":[{"role":"user"},{"content":""},{"role":"tool","content":3}],"clientUsed":"1"}"#,
            vec![
                ("#/clientUsed", "type"),
                ("#/messages/0/content", "required"),
                ("#/messages/1/role", "required"),
                ("#/messages/1/content", "length"),
                ("#/messages/2/role", "enum"),
                ("#/messages/2/content", "type"),
            ],
        ),
        (
            r#"{"messages":[{"role":"user","role":"assistant","content":"x"}]}"#,
            vec![("#/messages/0/role", "duplicate_member")],
        ),
    ] {
        let reply = app.send(Call::post(PATH, body.to_owned())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:.60}");
        let found = reply.errors();
        let found: Vec<_> = found.iter().map(|(p, c)| (&**p, &**c)).collect();
        assert_eq!(found, errors, "{body:.60}");
        assert_eq!(
            (reply.policy(), reply.remaining()),
            ("assistant".to_owned(), 10)
        );
        assert_eq!(reply.header("set-cookie"), None);
    }
    assert_eq!(numbers(&app.send(Call::post(PATH, HELLO)).await).0, 1);
}

#[tokio::test]
async fn the_largest_legal_request_fits() {
    let app = TestApp::new();
    let content = r"\ud83d\ude00".repeat(2000);
    let turn = format!(r#"{{"role":"user","content":"{content}"}}"#);
    let body = format!(r#"{{"messages":[{}]}}"#, vec![turn; 12].join(","));
    assert!(body.len() > 288_000);
    assert_eq!(
        app.send(Call::post(PATH, body)).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn with_the_quota_off_nothing_is_counted_and_no_cookie_is_set() {
    let app = Setup::default().limit("assistant", "off").start();
    for _ in 0..12 {
        let reply = app.send(Call::post(PATH, HELLO)).await;
        assert_eq!(numbers(&reply), (0, 1_000_000_000, 1_000_000_000));
        assert_eq!(reply.header("set-cookie"), None);
    }
}
