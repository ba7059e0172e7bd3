//! Who is counted as one client. Which address a request comes from, the tests of
//! `http::request::client_ip` say, and which of them are one network, those of `domain::client`.

use crate::prelude::*;

#[tokio::test]
async fn forwarding_headers_from_anybody_are_not_believed() {
    let app = Setup::default().limit("default", "3/60s").start();
    for claimed in ["198.51.100.1", "198.51.100.2", "198.51.100.3"] {
        let call = Call::health()
            .header("x-forwarded-for", claimed)
            .header("forwarded", format!("for={claimed}"));
        app.expect("200", call).await;
    }
    let call = Call::health().header("x-forwarded-for", "198.51.100.4");
    app.expect("429", call).await;
    // Nor can anybody use up the window of the address they claim.
    let victim = Call::health().from("198.51.100.1");
    app.expect_left("default 2", victim).await;
}

#[tokio::test]
async fn behind_a_trusted_proxy_every_visitor_is_counted_alone() {
    let app = Setup::default()
        .behind(&["10.0.0.0/8"])
        .limit("default", "3/60s")
        .start();
    let visit = |peer: &str, list: &str| Call::health().from(peer).header("x-forwarded-for", list);
    for (list, left) in [
        ("198.51.100.1", "default 2"),
        ("198.51.100.2", "default 2"),
        // What the visitor claims changes nothing.
        ("203.0.113.9, 198.51.100.1", "default 1"),
        ("nonsense, \", 198.51.100.1, 10.1.1.1", "default 0"),
        ("2001:db8::1", "default 2"),
        ("[2001:db8::ffff]:443", "default 1"),
    ] {
        app.expect_left(left, visit("::ffff:10.0.0.1", list)).await;
    }
    app.expect("429", visit("10.0.0.2", "198.51.100.1")).await;
    // Whoever comes past the proxy is nobody but themselves.
    let past_it = visit("192.0.2.1", "198.51.100.2");
    app.expect_left("default 2", past_it).await;
    // `Forwarded` is not read.
    for left in ["default 1", "default 0"] {
        let call = visit("10.0.0.1", "198.51.100.2").header("forwarded", "for=203.0.113.9");
        app.expect_left(left, call).await;
    }
}

/// Requests whose credential is not good, to `path`.
async fn bad_calls(app: &TestApp, path: &str) -> Vec<Call> {
    let key = app.mint().await;
    let revoked = register(app).await.token;
    app.expect("200", Call::revocation(&revoked)).await;
    let call = || Call::get(path);
    vec![
        call().bearer(&revoked),
        call().bearer("nonsense"),
        call().header("authorization", "Bearer"),
        call().header("authorization", "Bearer\tnonsense"),
        call().header("x-api-key", &revoked),
        call().header("x-api-key", ""),
        // Two that differ, of which one is good.
        call().bearer(&key).header("x-api-key", &revoked),
    ]
}

#[tokio::test]
async fn a_bad_credential_is_refused_under_api_and_nowhere_else() {
    let app = TestApp::new();
    for path in ["/api/v1/health", "/api/openapi.yaml", "/api/nothing"] {
        let mut calls = bad_calls(&app, path).await;
        let conflicting = calls.pop().unwrap();
        app.expect("400 conflicting_credentials", conflicting).await;
        for call in calls {
            app.expect("401 invalid_token", call).await;
        }
    }
    let others = "/ /auth.md /openapi.json /.well-known/oauth-protected-resource /nothing /agent/auth \
                  /agent/nothing /oauth2/token /oauth2/authorize";
    for path in others.split(' ') {
        let expected = app.send(Call::get(path)).await.status;
        for call in bad_calls(&app, path).await {
            app.expect(expected.as_str(), call).await;
        }
    }
}

#[tokio::test]
async fn a_dead_token_does_not_keep_its_holder_from_a_new_one() {
    let app = TestApp::new();
    let dead = register(&app).await.token;
    app.expect("200", Call::revocation(&dead)).await;
    app.expect("201", Call::register().bearer(&dead)).await;
    let exchange = register(&app).await.exchange("");
    app.expect("200", exchange.bearer(&dead)).await;
}

#[tokio::test]
async fn outside_api_a_good_credential_is_counted_and_a_bad_one_is_its_network() {
    let app = Setup::default().limit("default", "100/60s").start();
    let key = &*app.mint().await;
    let authorize = || Call::get("/oauth2/authorize");
    let document = || Call::get("/auth.md");
    let conflicting = authorize().bearer(key).header("x-api-key", "another");
    for (call, remaining) in [
        (authorize(), Some(98)),
        (authorize().bearer("nonsense"), Some(97)),
        (authorize().bearer(key), Some(99)),
        (conflicting, Some(96)),
        (authorize().header("x-api-key", key), Some(98)),
        // Documents count, too, without showing it.
        (document().bearer(key), None),
        (document().bearer("nonsense"), None),
        (authorize().bearer(key), Some(96)),
        (authorize(), Some(94)),
    ] {
        match remaining {
            Some(left) => app.expect_left(&format!("default {left}"), call).await,
            None => app.expect("200", call).await,
        };
    }
}

#[tokio::test]
async fn what_a_proxy_forwards_for_nobody_never_counts_as_the_proxy() {
    const PROXY: &str = "10.0.0.1";
    let app = Setup::default()
        .behind(&["10.0.0.0/8"])
        .limit("default", "8/60s")
        .limit("ip", "8/60s")
        .start();
    let forged = [
        ("x-forwarded-for", "nonsense"),
        ("x-forwarded-for", ""),
        ("x-forwarded-for", "198.51.100.1, unknown, 10.0.0.1"),
        ("x-forwarded-for", "198.51.100.1, 10.0.0.1, \u{e9}"),
        ("forwarded", "for=198.51.100.1"),
        ("forwarded", "\u{ff}"),
        ("x-real-ip", "198.51.100.1"),
        ("x-real-ip", PROXY),
    ];
    for (number, (name, value)) in forged.into_iter().enumerate() {
        let proxy = if number % 2 == 0 { PROXY } else { "10.0.0.2" };
        let call = Call::health().from(proxy).header(name, value);
        let reply = app.expect("200", call).await;
        assert_eq!(reply.remaining() as usize, 7 - number, "{name}: {value}");
    }
    for (name, value) in forged {
        let call = Call::health().from(PROXY).header(name, value);
        app.expect("429", call).await;
    }
    // The proxy's own probes, and those who are named, have windows of their own.
    let probe = Call::health().from(PROXY);
    let visitor = probe.clone().header("x-forwarded-for", "198.51.100.1");
    for call in [probe, visitor] {
        assert_eq!(app.expect("200", call).await.remaining(), 7);
    }
}

#[tokio::test]
async fn keys_that_are_made_up_without_end_are_not_looked_up_without_end() {
    let app = Setup::default()
        .limit("default", "2/60s")
        .limit("ip", "5/60s")
        .start();
    let made_up = || {
        let key = ApiKey::mint(|bytes| app.app.entropy.fill(bytes));
        Call::health().header("x-api-key", key.expose())
    };
    for (status, look_ups, violated) in [
        ("401", 1, None),
        ("401", 2, None),
        ("429", 3, Some("default")),
        ("429", 4, Some("default")),
        ("429", 5, Some("default")),
        ("429", 5, Some("ip")),
        ("429", 5, Some("ip")),
    ] {
        let reply = app.expect(status, made_up()).await;
        assert_eq!(app.keys.look_ups(), look_ups);
        let violated = violated.map(|name| json!([name]));
        assert_eq!(reply.json().get("violated-policies"), violated.as_ref());
    }
    // Who presents nothing is told as ever.
    app.expect("429", Call::health()).await;
    app.clock.advance_ms(60_000);
    app.expect("401", made_up()).await;
    assert_eq!(app.keys.look_ups(), 6);
}
