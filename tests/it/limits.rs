//! The rate limits as a client sees them.

use hyper::{Method, StatusCode};
use serde_json::json;

use crate::fixtures::logged;
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
        (Call::post("/api/v1/keys", "{}"), "default ip keys keys-all"),
        (
            Call::post("/api/v1/newsletter", r#"{"email":"a@example.com"}"#),
            "default ip newsletter newsletter-ip newsletter-all",
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
        "The policy \"ip\" allows 1 in 90 seconds for each network. Wait 90 seconds."
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
        assert_eq!(
            listed,
            "\"ip\";q=1800;w=60, \"newsletter-ip\";q=120;w=900, \"newsletter-all\";q=10000;w=3600"
        );
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

/// A sign-up of the `number`th address.
fn sign_up(number: usize, from: &str) -> Call {
    let body = json!({ "email": format!("user{number}@example.com") }).to_string();
    Call::post("/api/v1/newsletter", body).from(from)
}

#[tokio::test]
async fn a_home_has_one_window_for_what_costs_the_operator_something() {
    let app = Setup::default()
        .limit("newsletter-ip", "3/15m")
        .limit("assistant-ip", "3/24h")
        .limit("keys", "1/1h")
        .limit("agents", "1/1h")
        .start();
    for policy in ["newsletter-ip", "assistant-ip"] {
        let call = |number, from: &str| match policy {
            "newsletter-ip" => sign_up(number, from),
            _ => {
                let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
                Call::post("/api/v1/assistant/chat", hello).from(from)
            }
        };
        // Four /64s of one /56.
        for (number, third) in ["ff00", "ff01", "ff80", "ffff"].into_iter().enumerate() {
            let from = format!("2001:db8:1:{third}::1");
            let reply = app.send(call(number, &from)).await;
            if number < 3 {
                assert_eq!(reply.status, StatusCode::OK, "{policy} {from}");
            } else {
                assert_eq!(reply.policy(), policy);
                assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
                let detail = reply.json()["detail"].clone();
                assert!(detail.as_str().unwrap().contains("for each network"));
            }
        }
        let neighbour = app.send(call(9, "2001:db8:1:fe00::1")).await;
        assert_eq!(neighbour.status, StatusCode::OK, "{policy}");
    }
    // Everything else counts a /64 as ever.
    for third in ["ff00", "ff01"] {
        let from = format!("2001:db8:1:{third}::1");
        let key = app.send(Call::post("/api/v1/keys", "{}").from(&from)).await;
        assert_eq!(key.status, StatusCode::CREATED);
        let agent = Call::post("/agent/auth", r#"{"type":"anonymous"}"#).from(&from);
        assert_eq!(app.send(agent).await.status, StatusCode::CREATED);
        // Two requests of this section and two or one of those before.
        let probe = app.send(Call::get("/api/v1/health").from(&from)).await;
        assert!(probe.remaining() >= 600 - 5, "{}", probe.remaining());
    }
}

#[tokio::test]
async fn whoever_has_many_networks_reaches_the_ceiling_of_all_together() {
    let app = Setup::default()
        .limit("newsletter-all", "5/1h")
        .limit("keys-all", "5/1h")
        .start();
    let sign_up = |number| sign_up(number, &format!("2001:db8:{number}::1"));
    for policy in ["newsletter-all", "keys-all"] {
        let call = |number| match policy {
            "newsletter-all" => sign_up(number),
            _ => Call::post("/api/v1/keys", "{}").from(&format!("198.51.100.{number}")),
        };
        for number in 0..5 {
            let reply = app.send(call(number)).await;
            assert!(reply.status.is_success(), "{policy}");
        }
        let refused = app.send(call(5)).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        let problem = refused.json();
        assert_eq!(problem["violated-policies"], json!([policy]));
        assert_eq!(
            problem["detail"],
            format!(
                "The policy \"{policy}\" allows 5 in 3600 seconds for all clients together. \
                 Wait 3600 seconds."
            )
        );
    }
    assert_eq!(app.contacts.len(), 5);
    app.clock.advance_ms(3_600_000);
    assert_eq!(app.send(sign_up(5)).await.status, StatusCode::OK);

    let open = Setup::default().limit("newsletter-all", "off").start();
    let reply = open.send(sign_up(0)).await;
    let listed = reply.header("ratelimit-policy").unwrap();
    assert!(!listed.contains("-all"), "{listed}");
}

#[test]
fn the_log_warns_once_when_all_together_reach_80_and_100_percent() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let app = Setup::default().limit("newsletter-all", "10/1h").start();
    let mut sent = 0;
    let mut log_of_next = |count: usize| {
        logged(|| {
            for _ in 0..count {
                let from = format!("2001:db8:{sent:x}::1");
                runtime.block_on(app.send(sign_up(sent, &from)));
                sent += 1;
            }
        })
        .1
        .lines()
        .filter(|line| line.contains("WARN"))
        .map(str::to_owned)
        .collect::<Vec<_>>()
    };
    assert_eq!(log_of_next(7), [""; 0]);
    let [most] = &log_of_next(2)[..] else {
        panic!("one warning at 80 %, none at 90 %");
    };
    assert!(most.contains("80 %") && most.contains("newsletter-all") && most.contains("10/1h"));
    let [all] = &log_of_next(20)[..] else {
        panic!("one warning at 100 %, none for a refusal");
    };
    assert!(all.contains("used up") && all.contains("--limit"), "{all}");
    assert!(!all.contains("2001:db8"));
    // Places that are taken as they become free are no new crossing.
    app.clock.advance_ms(3_600_000);
    assert_eq!(log_of_next(4), [""; 0]);
    assert_eq!(log_of_next(6).len(), 2, "it was below half in between");
}
