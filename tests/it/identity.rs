//! Who is counted as one client.

use hyper::StatusCode;
use landing_api::domain::credential::ApiKey;
use serde_json::json;

use crate::harness::{Call, Setup, TestApp};

#[tokio::test]
async fn one_address_in_any_notation_is_one_client() {
    let app = Setup::default().limit("default", "100/60s").start();
    let mut expected = 99;
    for peer in [
        "192.0.2.1",
        "::ffff:192.0.2.1",
        "::ffff:c000:201",
        "64:ff9b::192.0.2.1",
    ] {
        let reply = app.send(Call::get("/api/v1/health").from(peer)).await;
        assert_eq!(reply.remaining(), expected, "{peer}");
        expected -= 1;
    }
    for other in ["192.0.2.2", "::ffff:192.0.2.3", "2001:db8::192.0.2.1"] {
        let reply = app.send(Call::get("/api/v1/health").from(other)).await;
        assert_eq!(reply.remaining(), 99, "{other}");
    }
}

#[tokio::test]
async fn an_ipv6_network_is_one_client_however_many_addresses_it_has() {
    let app = Setup::default().limit("default", "64/60s").start();
    for host in 0..64 {
        let peer = format!("2001:db8:0:1::{host:x}");
        let reply = app.send(Call::get("/api/v1/health").from(&peer)).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    let reply = app
        .send(Call::get("/api/v1/health").from("2001:db8:0:ff:ffff::1"))
        .await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    let reply = app
        .send(Call::get("/api/v1/health").from("2001:db8:0:100::1"))
        .await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn forwarding_headers_from_anybody_are_not_believed() {
    let app = Setup::default().limit("default", "3/60s").start();
    for claimed in ["198.51.100.1", "198.51.100.2", "198.51.100.3"] {
        let call = Call::get("/api/v1/health")
            .header("x-forwarded-for", claimed)
            .header("forwarded", format!("for={claimed}"));
        assert_eq!(app.send(call).await.status, StatusCode::OK);
    }
    let call = Call::get("/api/v1/health").header("x-forwarded-for", "198.51.100.4");
    let reply = app.send(call).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    // Nor can anybody use up the window of the address they claim.
    let victim = Call::get("/api/v1/health").from("198.51.100.1");
    assert_eq!(app.send(victim).await.remaining(), 2);
}

#[tokio::test]
async fn behind_a_trusted_proxy_every_visitor_is_counted_alone() {
    let app = Setup {
        trusted_proxies: &["10.0.0.0/8"],
        ..Setup::default()
    }
    .limit("default", "3/60s")
    .start();
    let visit = |peer: &str, list: &str| {
        Call::get("/api/v1/health")
            .from(peer)
            .header("x-forwarded-for", list)
    };
    for (list, remaining) in [
        ("198.51.100.1", 2),
        ("198.51.100.2", 2),
        // What the visitor claims changes nothing.
        ("203.0.113.9, 198.51.100.1", 1),
        ("nonsense, \", 198.51.100.1, 10.1.1.1", 0),
        ("2001:db8::1", 2),
        ("[2001:db8::ffff]:443", 1),
    ] {
        let reply = app.send(visit("::ffff:10.0.0.1", list)).await;
        assert_eq!(reply.remaining(), remaining, "{list}");
    }
    let refused = app.send(visit("10.0.0.2", "198.51.100.1")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    // Whoever comes past the proxy is nobody but themselves.
    let reply = app.send(visit("192.0.2.1", "198.51.100.2")).await;
    assert_eq!(reply.remaining(), 2);
    // `Forwarded` is not read.
    for remaining in [1, 0] {
        let call = visit("10.0.0.1", "198.51.100.2").header("forwarded", "for=203.0.113.9");
        assert_eq!(app.send(call).await.remaining(), remaining);
    }
}

/// Requests whose credential is not good, to `path`.
async fn bad_calls(app: &TestApp, path: &str) -> Vec<Call> {
    let minted = app.send(Call::post("/api/v1/keys", "{}")).await.json();
    let key = minted["api_key"].as_str().unwrap();
    let registered = app
        .send(Call::post("/agent/auth", r#"{"type":"anonymous"}"#))
        .await
        .json();
    let revoked = registered["access_token"].as_str().unwrap();
    let revocation = Call::form("/agent/auth/revoke", format!("token={revoked}"));
    assert_eq!(app.send(revocation).await.status, StatusCode::OK);
    let call = || Call::get(path);
    vec![
        call().bearer(revoked),
        call().bearer("nonsense"),
        call().header("authorization", "Bearer"),
        call().header("authorization", "Bearer\tnonsense"),
        call().header("x-api-key", revoked),
        call().header("x-api-key", ""),
        // Two that differ, of which one is good.
        call().bearer(key).header("x-api-key", revoked),
    ]
}

#[tokio::test]
async fn a_bad_credential_is_refused_under_api_and_nowhere_else() {
    let app = TestApp::new();
    for path in ["/api/v1/health", "/api/openapi.yaml", "/api/nothing"] {
        for call in bad_calls(&app, path).await {
            let reply = app.send(call).await;
            let is_refused = match reply.status {
                StatusCode::UNAUTHORIZED => reply.code() == "invalid_token",
                StatusCode::BAD_REQUEST => reply.code() == "conflicting_credentials",
                _ => false,
            };
            assert!(is_refused, "{path} {}", reply.status);
        }
    }
    for path in [
        "/",
        "/auth.md",
        "/openapi.json",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/nothing",
        "/agent/auth",
        "/agent/nothing",
        "/oauth2/token",
        "/oauth2/authorize",
    ] {
        let expected = app.send(Call::get(path)).await.status;
        for call in bad_calls(&app, path).await {
            assert_eq!(app.send(call).await.status, expected, "{path}");
        }
    }
}

#[tokio::test]
async fn a_dead_token_does_not_keep_its_holder_from_a_new_one() {
    let app = TestApp::new();
    let register = || Call::post("/agent/auth", r#"{"type":"anonymous"}"#);
    let first = app.send(register()).await.json();
    let token = first["access_token"].as_str().unwrap();
    let revocation = Call::form("/agent/auth/revoke", format!("token={token}"));
    app.send(revocation).await;
    let reply = app.send(register().bearer(token)).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    let second = reply.json();
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        second["client_id"].as_str().unwrap(),
        second["client_secret"].as_str().unwrap()
    );
    let call = Call::form("/oauth2/token", form).bearer(token);
    assert_eq!(app.send(call).await.status, StatusCode::OK);
}

#[tokio::test]
async fn outside_api_a_good_credential_is_counted_and_a_bad_one_is_its_network() {
    let app = Setup::default().limit("default", "100/60s").start();
    let minted = app.send(Call::post("/api/v1/keys", "{}")).await.json();
    let key = minted["api_key"].as_str().unwrap();
    let authorize = || Call::get("/oauth2/authorize");
    for (call, remaining) in [
        (authorize(), 98),
        (authorize().bearer("nonsense"), 97),
        (authorize().bearer(key), 99),
        (authorize().bearer(key).header("x-api-key", "another"), 96),
        (authorize().header("x-api-key", key), 98),
        // Documents count, too, without showing it.
        (Call::get("/auth.md").bearer(key), 0),
        (Call::get("/auth.md").bearer("nonsense"), 0),
        (authorize().bearer(key), 96),
        (authorize(), 94),
    ] {
        let is_document = remaining == 0;
        let reply = app.send(call).await;
        if is_document {
            assert_eq!(reply.status, StatusCode::OK);
        } else {
            assert_eq!(reply.remaining(), remaining);
        }
    }
}

#[tokio::test]
async fn what_a_proxy_forwards_for_nobody_never_counts_as_the_proxy() {
    const PROXY: &str = "10.0.0.1";
    let app = Setup {
        trusted_proxies: &["10.0.0.0/8"],
        ..Setup::default()
    }
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
    let send = |proxy: &'static str, (name, value)| {
        let call = Call::get("/api/v1/health").from(proxy).header(name, value);
        app.send(call)
    };
    for (sent, header) in forged.into_iter().enumerate() {
        let reply = send(if sent % 2 == 0 { PROXY } else { "10.0.0.2" }, header).await;
        assert_eq!(
            reply.remaining() as usize,
            forged.len() - 1 - sent,
            "{header:?}"
        );
    }
    for header in forged {
        let reply = send(PROXY, header).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{header:?}");
    }
    // The proxy's own probes, and those who are named, have windows of their own.
    let probe = app.send(Call::get("/api/v1/health").from(PROXY)).await;
    assert_eq!(probe.remaining(), 7);
    let visitor = send(PROXY, ("x-forwarded-for", "198.51.100.1")).await;
    assert_eq!(visitor.remaining(), 7);
}

#[tokio::test]
async fn keys_that_are_made_up_without_end_are_not_looked_up_without_end() {
    let app = Setup::default()
        .limit("default", "2/60s")
        .limit("ip", "5/60s")
        .start();
    let made_up = || {
        let key = ApiKey::mint(|bytes| app.app.entropy.fill(bytes)).unwrap();
        let call = Call::get("/api/v1/health").header("x-api-key", key.expose());
        app.send(call)
    };
    for (status, look_ups, violated) in [
        (StatusCode::UNAUTHORIZED, 1, None),
        (StatusCode::UNAUTHORIZED, 2, None),
        (StatusCode::TOO_MANY_REQUESTS, 3, Some("default")),
        (StatusCode::TOO_MANY_REQUESTS, 4, Some("default")),
        (StatusCode::TOO_MANY_REQUESTS, 5, Some("default")),
        (StatusCode::TOO_MANY_REQUESTS, 5, Some("ip")),
        (StatusCode::TOO_MANY_REQUESTS, 5, Some("ip")),
    ] {
        let reply = made_up().await;
        assert_eq!(reply.status, status);
        assert_eq!(app.keys.look_ups(), look_ups);
        let violated = violated.map(|name| json!([name]));
        assert_eq!(reply.json().get("violated-policies"), violated.as_ref());
    }
    // Who presents nothing is told as ever.
    let plain = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(plain.status, StatusCode::TOO_MANY_REQUESTS);
    app.clock.advance_ms(60_000);
    assert_eq!(made_up().await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(app.keys.look_ups(), 6);
}
