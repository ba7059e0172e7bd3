//! The rate limits as a client sees them.

use hyper::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Call, Setup, TestApp};

#[tokio::test]
async fn every_request_is_counted_once_at_the_door() {
    let app = TestApp::new();
    let calls = [
        Call::get("/api/v1/health"),
        Call::get("/api/v1/nothing"),
        Call::new(Method::DELETE, "/api/v1/health"),
        Call::post("/api/v1/sandbox/echo", "nonsense"),
        Call::post("/api/v1/sandbox/echo", vec![b' '; 100_000]),
        Call::get("/api/v1/health").bearer("nonsense"),
        Call::new(Method::HEAD, "/api/v1/health"),
        Call::post("/api/v1/sandbox/echo", r#"{"message":"m"}"#),
    ];
    for (sent, call) in calls.into_iter().enumerate() {
        let reply = app.send(call).await;
        assert_eq!(reply.policy(), "default");
        assert_eq!(reply.remaining(), 600 - 1 - u32::try_from(sent).unwrap());
    }
    // Documents are counted, but do not show it.
    app.send(Call::get("/docs")).await;
    assert_eq!(app.send(Call::get("/api/v1/health")).await.remaining(), 590);
}

#[tokio::test]
async fn all_policies_that_count_a_request_are_listed() {
    let app = TestApp::new();
    let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    for (call, policies) in [
        (Call::get("/api/v1/health"), "default ip"),
        (Call::get("/api/v1/keys"), "default ip"),
        (Call::post("/api/v1/keys", "{}"), "default ip keys"),
        (
            Call::post("/api/v1/newsletter", r#"{"email":"a@example.com"}"#),
            "default ip newsletter newsletter-ip",
        ),
        (
            Call::post("/api/v1/assistant/chat", hello),
            "default ip assistant assistant-ip",
        ),
        (Call::get("/api/v1/assistant/chat"), "default ip assistant"),
    ] {
        let reply = app.send(call).await;
        let listed = reply.header("ratelimit-policy").unwrap();
        let names: Vec<_> = listed.split('"').skip(1).step_by(2).collect();
        assert_eq!(names.join(" "), policies);
    }
}

#[tokio::test]
async fn past_the_limit_everything_is_429_and_nothing_is_done() {
    let app = Setup::default().limit("default", "2/60s").start();
    app.send(Call::get("/docs")).await;
    app.send(Call::get("/docs")).await;
    for call in [
        Call::get("/api/v1/health"),
        Call::get("/docs"),
        Call::get("/nothing"),
        Call::new(Method::HEAD, "/api/v1/health"),
        Call::post("/api/v1/newsletter", r#"{"email":"a@example.com"}"#),
        Call::get("/api/v1/health").bearer("nonsense"),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.retry_after_s(), 60);
        assert_eq!(reply.policy(), "default");
    }
    assert!(app.contacts.is_empty());
    app.clock.advance_ms(59_999);
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.retry_after_s(), 1, "knocking did not make it longer");
    app.clock.advance_ms(1);
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn a_refusal_says_which_policies_refused_and_what_to_do() {
    let app = Setup::default()
        .limit("default", "1/60s")
        .limit("ip", "1/90s")
        .start();
    app.send(Call::get("/api/v1/health")).await;
    let reply = app.send(Call::get("/api/v1/health")).await;
    let problem = reply.json();
    assert_eq!(problem["violated-policies"], json!(["default", "ip"]));
    assert_eq!(reply.policy(), "ip", "the longest wait binds");
    assert_eq!(reply.retry_after_s(), 90);
    assert_eq!(
        problem["detail"],
        "The policy \"ip\" allows 1 in 90 seconds. Wait 90 seconds."
    );
}

#[tokio::test]
async fn an_endpoint_policy_that_refuses_leaves_the_others_as_they_were() {
    let app = Setup::default()
        .limit("newsletter", "1/15m")
        .limit("newsletter-ip", "5/15m")
        .start();
    let sign_up =
        |email: &str| Call::post("/api/v1/newsletter", json!({ "email": email }).to_string());
    app.send(sign_up("ada@example.com")).await;
    for _ in 0..20 {
        let reply = app.send(sign_up("ada@example.com")).await;
        assert_eq!(reply.policy(), "newsletter");
    }
    // One of five was used, not twenty-one.
    for number in 0..4 {
        let reply = app
            .send(sign_up(&format!("user{number}@example.com")))
            .await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    let reply = app.send(sign_up("last@example.com")).await;
    assert_eq!(reply.policy(), "newsletter-ip");
}

#[tokio::test]
async fn policies_that_are_off_count_nothing_and_are_not_listed() {
    let app = Setup::default()
        .limit("default", "off")
        .limit("newsletter", "off")
        .start();
    for _ in 0..20 {
        let body = r#"{"email":"a@example.com"}"#;
        let reply = app.send(Call::post("/api/v1/newsletter", body)).await;
        assert_eq!(reply.status, StatusCode::OK);
        let listed = reply.header("ratelimit-policy").unwrap();
        assert_eq!(listed, "\"ip\";q=1800;w=60, \"newsletter-ip\";q=120;w=900");
    }
}

#[tokio::test]
async fn limits_of_every_size_admit_exactly_as_many() {
    for limit in [1, 2, 3, 5, 8, 13, 64, 255, 256, 257, 300] {
        let app = Setup::default()
            .limit("default", &format!("{limit}/60s"))
            .start();
        for sent in 1..=limit {
            let reply = app.send(Call::get("/api/v1/health")).await;
            assert_eq!(reply.remaining(), limit - sent);
        }
        let reply = app.send(Call::get("/api/v1/health")).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{limit}");
    }
}
