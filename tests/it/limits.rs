//! The rate limits as a client sees them.

use landing_api::domain::decision::POLICIES_PER_REQUEST_MAX;

use crate::prelude::*;

#[tokio::test]
async fn every_request_is_counted_once_at_the_door() {
    let app = TestApp::new();
    let calls = [
        Call::health(),
        Call::get("/api/v1/nothing"),
        Call::new(Method::DELETE, "/api/v1/health"),
        Call::echo().body("nonsense"),
        Call::echo().body(vec![b' '; 100_000]),
        Call::health().bearer("nonsense"),
        Call::head("/api/v1/health"),
        Call::echo(),
    ];
    for (sent, call) in calls.into_iter().enumerate() {
        let left = format!("default {}", 599 - sent);
        app.expect_left(&left, call).await;
    }
    // Documents are counted, but do not show it.
    app.send(Call::get("/docs")).await;
    app.expect_left("default 590", Call::health()).await;
}

#[tokio::test]
async fn all_policies_that_count_a_request_are_listed() {
    let free = TestApp::new();
    let metered = ScriptedModelClient::default().metered();
    let metered = Setup::with_model(Arc::new(metered)).start();
    let quota = || Call::get("/api/v1/assistant/chat");
    let of_sign_up = " newsletter newsletter-ip newsletter-prefix newsletter-all";
    let of_chat = " assistant assistant-ip assistant-prefix assistant-all";
    for (app, call, policies) in [
        (&free, Call::health(), ""),
        (&free, Call::get("/api/v1/keys"), ""),
        (&free, Call::mint(), " keys keys-prefix keys-all"),
        (&free, Call::sign_up("ada@example.com"), of_sign_up),
        (&free, quota(), " assistant"),
        (&free, Call::chat(), " assistant assistant-ip"),
        (&metered, Call::chat(), of_chat),
    ] {
        let listed = app.send(call).await.policies();
        assert_eq!(listed, format!("default ip{policies}"));
        let advice = "raise POLICIES_PER_REQUEST_MAX in src/domain/decision.rs";
        assert!(
            listed.split(' ').count() <= POLICIES_PER_REQUEST_MAX,
            "{advice}"
        );
    }
}

#[tokio::test]
async fn past_the_limit_everything_is_429_and_nothing_is_done() {
    let app = Setup::default().limit("default", "2/60s").start();
    app.send(Call::get("/docs")).await;
    app.send(Call::get("/docs")).await;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for call in [
        mcp::subscribe(),
        mcp::ping(),
        mcp::list(),
        mcp::raw("nonsense"),
        mcp::raw(told),
        Call::health(),
        Call::get("/docs"),
        Call::get("/llms.txt"),
        Call::get("/.well-known/nothing"),
        Call::get("/nothing"),
        Call::head("/api/v1/health"),
        Call::sign_up("a@example.com"),
        Call::health().bearer("nonsense"),
    ] {
        let reply = app.expect("429", call).await;
        assert_eq!(reply.retry_after_s(), 60);
        assert_eq!(reply.policy(), "default");
    }
    assert!(app.contacts.is_empty());
    app.clock.advance_ms(59_999);
    let reply = app.send(Call::health()).await;
    assert_eq!(reply.retry_after_s(), 1, "knocking did not make it longer");
    app.clock.advance_ms(1);
    app.expect("200", Call::health()).await;
}

#[tokio::test]
async fn a_refusal_says_which_policies_refused_and_what_to_do() {
    let setup = Setup::default().limit("default", "1/60s");
    let app = setup.limit("ip", "1/90s").start();
    app.send(Call::health()).await;
    let reply = app.send(Call::health()).await;
    let problem = reply.json();
    assert_eq!(problem["violated-policies"], json!(["default", "ip"]));
    assert_eq!(reply.policy(), "ip", "the longest wait binds");
    assert_eq!(reply.retry_after_s(), 90);
    let detail = "The policy \"ip\" allows 1 in 90 seconds for each network. Wait 90 seconds.";
    assert_eq!(problem["detail"], detail);
}

#[tokio::test]
async fn an_endpoint_policy_that_refuses_leaves_the_others_as_they_were() {
    let setup = Setup::default().limit("newsletter", "1/15m");
    let app = setup.limit("newsletter-ip", "5/15m").start();
    app.expect("200", sign_up(0, VISITOR)).await;
    for _ in 0..20 {
        let refused = app.expect("429", sign_up(0, VISITOR)).await;
        assert_eq!(refused.policy(), "newsletter");
    }
    // One of five was used, not twenty-one.
    for number in 1..=4 {
        app.expect("200", sign_up(number, VISITOR)).await;
    }
    let refused = app.expect("429", sign_up(5, VISITOR)).await;
    assert_eq!(refused.policy(), "newsletter-ip");
}

#[tokio::test]
async fn policies_that_are_off_count_nothing_and_are_not_listed() {
    let setup = Setup::default().limit("default", "off");
    let app = setup.limit("newsletter", "off").start();
    for _ in 0..20 {
        let reply = app.expect("200", sign_up(0, VISITOR)).await;
        assert_eq!(
            reply.header("ratelimit-policy").unwrap(),
            "\"ip\";q=1800;w=60, \"newsletter-ip\";q=120;w=900, \
             \"newsletter-prefix\";q=2500;w=3600, \"newsletter-all\";q=10000;w=3600"
        );
    }
}

/// A sign-up of the `number`th address.
fn sign_up(number: usize, from: &str) -> Call {
    Call::sign_up(&format!("user{number}@example.com")).from(from)
}

/// The same by a form.
fn form(number: usize, from: &str) -> Call {
    Call::form("/newsletter", format!("email=user{number}@example.com")).from(from)
}

#[tokio::test]
async fn a_home_has_one_window_under_every_policy_that_counts_networks() {
    /// The call of a number from an address.
    type Numbered = fn(usize, &str) -> Call;
    let calls: [(&str, Numbered); 7] = [
        ("default", |_, from| Call::health().from(from)),
        ("ip", |_, from| Call::health().from(from)),
        ("keys", |_, from| Call::mint().from(from)),
        ("agents", |_, from| Call::register().from(from)),
        // Half of them as forms.
        ("newsletter-ip", |number, from| match number % 2 {
            0 => sign_up(number, from),
            _ => form(number, from),
        }),
        ("newsletter", |_, from| sign_up(0, from)),
        ("assistant-ip", |_, from| Call::chat().from(from)),
    ];
    for (policy, call) in calls {
        let app = Setup::default().limit(policy, "3/1h").start();
        // Four /64s of one /56.
        for (number, third) in ["ff00", "ff01", "ff80", "ffff"].into_iter().enumerate() {
            let from = format!("2001:db8:1:{third}::1");
            let reply = app.send(call(number, &from)).await;
            let is_taken = reply.status.as_u16() < 400;
            assert_eq!(
                (is_taken, reply.status == 429 && reply.policy() == policy),
                (number < 3, number == 3),
                "{policy}"
            );
        }
        let elsewhere = app.send(call(9, "2001:db8:1:fe00::1")).await;
        assert!(elsewhere.status.as_u16() < 400, "{policy}");
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
            _ => Call::mint().from(from),
        };
        let networks = [("2001:db8:1:", "2001:db8:2:"), ("192.0.2.", "198.51.100.")];
        for (network, other_network) in networks {
            let from = |network: &str, number: usize| match network.contains(':') {
                true => format!("{network}{number}00::1"),
                false => format!("{network}{number}"),
            };
            for number in 1..=2 {
                let call = call(number, &from(network, number));
                app.expect("2xx", call).await;
            }
            let refused = app.expect("429", call(3, &from(network, 3))).await;
            assert_eq!(refused.policy(), prefix);
            assert_eq!(refused.json()["violated-policies"], json!([prefix]));
            let detail = refused.member("detail");
            assert!(detail.contains("for each IPv4 /24 or IPv6 /48"), "{detail}");
            app.expect("2xx", call(4, &from(other_network, 4))).await;
        }
    }
}

#[tokio::test]
async fn whoever_has_many_networks_reaches_the_ceiling_of_all_together() {
    let app = Setup::with_model(Arc::new(ScriptedModelClient::default().metered()))
        .limit("newsletter-all", "5/1h")
        .limit("keys-all", "5/1h")
        .limit("assistant-all", "5/1h")
        .start();
    let sign_up = |number| sign_up(number, &format!("2001:db8:{number}::1"));
    for policy in ["newsletter-all", "keys-all", "assistant-all"] {
        let from = |number| format!("198.51.100.{number}");
        let call = |number| match policy {
            "newsletter-all" => sign_up(number),
            "keys-all" => Call::mint().from(&from(number)),
            _ => Call::chat().from(&from(number)),
        };
        for number in 0..5 {
            app.expect("2xx", call(number)).await;
        }
        let refused = app.expect("429 rate_limited", call(5)).await;
        assert_eq!(refused.json()["violated-policies"], json!([policy]));
        let rule = "allows 5 in 3600 seconds for all clients together";
        let detail = format!("The policy \"{policy}\" {rule}. Wait 3600 seconds.");
        assert_eq!(refused.member("detail"), detail);
    }
    assert_eq!(app.contacts.len(), 5);
    app.clock.advance_ms(3_600_000);
    app.expect("200", sign_up(5)).await;

    let open = Setup::default().limit("newsletter-all", "off").start();
    let listed = open.send(sign_up(0)).await.policies();
    assert!(!listed.contains("-all"), "{listed}");
}
