//! The rate limits as a client sees them.

use hyper::{Method, StatusCode};
use landing_api::domain::policy::PolicyName;
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
        (
            Call::post("/api/v1/keys", "{}"),
            "default ip keys keys-prefix keys-all",
        ),
        (
            Call::post("/api/v1/newsletter", r#"{"email":"a@example.com"}"#),
            "default ip newsletter newsletter-ip newsletter-prefix newsletter-all",
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
            "\"ip\";q=1800;w=60, \"newsletter-ip\";q=120;w=900, \
             \"newsletter-prefix\";q=2500;w=3600, \"newsletter-all\";q=10000;w=3600"
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
async fn a_home_has_one_window_under_every_policy_that_counts_networks() {
    /// The call of a number from an address.
    type Numbered = fn(usize, &str) -> Call;
    let calls: [(&str, Numbered); 7] = [
        ("default", |_, from| Call::get("/api/v1/health").from(from)),
        ("ip", |_, from| Call::get("/api/v1/health").from(from)),
        ("keys", |_, from| {
            Call::post("/api/v1/keys", "{}").from(from)
        }),
        ("agents", |_, from| {
            Call::post("/agent/auth", r#"{"type":"anonymous"}"#).from(from)
        }),
        ("newsletter-ip", |number, from| sign_up(number, from)),
        ("newsletter", |_, from| sign_up(0, from)),
        ("assistant-ip", |_, from| {
            let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
            Call::post("/api/v1/assistant/chat", hello).from(from)
        }),
    ];
    for (policy, call) in calls {
        let app = Setup::default().limit(policy, "3/1h").start();
        // Four /64s of one /56.
        for (number, third) in ["ff00", "ff01", "ff80", "ffff"].into_iter().enumerate() {
            let from = format!("2001:db8:1:{third}::1");
            let reply = app.send(call(number, &from)).await;
            if number < 3 {
                assert!(reply.status.is_success(), "{policy} {from}");
            } else {
                assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{policy}");
                assert_eq!(reply.policy(), policy);
            }
        }
        let neighbour = app.send(call(9, "2001:db8:1:fe00::1")).await;
        assert!(neighbour.status.is_success(), "{policy}");
    }
}

#[tokio::test]
async fn no_prefix_gets_more_than_a_quarter_of_what_all_together_have() {
    for (all, prefix) in [
        ("newsletter-all", "newsletter-prefix"),
        ("keys-all", "keys-prefix"),
    ] {
        let mut setup = Setup::default();
        let of_all = PolicyName::from_name(all).unwrap();
        let given = (of_all, Some("8/1h".parse().unwrap()));
        setup.policies.configure(&[given]);
        let app = setup.start();
        let call = |number, from: &str| match all {
            "newsletter-all" => sign_up(number, from),
            _ => Call::post("/api/v1/keys", "{}").from(from),
        };
        for (network, other_network) in
            [("2001:db8:1:", "2001:db8:2:"), ("192.0.2.", "198.51.100.")]
        {
            let from = |network: &str, number: usize| match network.contains(':') {
                true => format!("{network}{number}00::1"),
                false => format!("{network}{number}"),
            };
            for number in 1..=2 {
                let reply = app.send(call(number, &from(network, number))).await;
                assert!(reply.status.is_success(), "{prefix}");
            }
            let refused = app.send(call(3, &from(network, 3))).await;
            assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(refused.policy(), prefix);
            let problem = refused.json();
            assert_eq!(problem["violated-policies"], json!([prefix]));
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("for each IPv4 /24 or IPv6 /48"), "{detail}");
            let other = app.send(call(4, &from(other_network, 4))).await;
            assert!(other.status.is_success(), "{prefix}");
        }
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
