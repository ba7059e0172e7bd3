//! The HTTP side of `/mcp`: methods, origins, media types, bodies, credentials.

use super::{MCP, call, call_raw, given, ping, plain, raw, result, subscribe};
use crate::prelude::*;

const SHOP: &str = "https://shop.example";

#[tokio::test]
async fn only_post_is_taken() {
    let app = TestApp::new();
    for method in ["GET", "HEAD", "DELETE", "PUT", "PATCH"] {
        let call = Call::new(method.parse().unwrap(), MCP).header("accept", "text/event-stream");
        let reply = app.expect("405", call).await;
        assert_eq!(reply.header("allow"), Some("POST"));
    }
    for path in ["/mcp/", "/MCP", "/mcp/x"] {
        app.expect("404", ping().to(path)).await;
    }
}

#[tokio::test]
async fn pages_of_foreign_origins_call_nothing() {
    let app = Setup::default().allowing(&[SHOP]).start();
    let foreign = "https://evil.example||null|https://landing.example|http://landing.example:8080|\
                   http://landing.example/|HTTPS://LANDING.EXAMPLE|http://landing.example https://evil.example|\
                   https://shop.example https://shop.example";
    for origins in foreign.split('|') {
        let origins: Vec<_> = origins.split(' ').collect();
        let call = subscribe().headers("origin", &origins);
        let reply = app.expect("403 origin_not_allowed", call).await;
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    assert!(app.contacts.is_empty());
    for origin in [None, Some("http://landing.example"), Some(SHOP)] {
        let call = subscribe().headers("origin", origin.as_slice());
        let reply = app.send(call).await;
        assert_eq!(given(&reply)["ok"], true, "{origin:?}");
        let allowed = reply.header("access-control-allow-origin");
        assert_eq!(allowed, origin.filter(|origin| *origin == SHOP));
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
}

#[tokio::test]
async fn a_foreign_host_alone_is_no_reason_to_refuse() {
    // The service may stand behind a proxy. A page is recognised by its origin.
    let app = TestApp::new();
    let ping = ping().without("host").header("host", "evil.example");
    assert_eq!(app.result(ping).await, json!({}));
}

#[tokio::test]
async fn bodies_are_json_and_bounded() {
    let app = TestApp::new();
    let other = "415 unsupported_media_type";
    for (content_type, outcome) in [
        (Some("application/json; charset=utf-8"), "200"),
        (None, "200"),
        (Some("text/plain"), other),
        (Some("application/x-www-form-urlencoded"), other),
        (Some("application/jsonp"), other),
    ] {
        let bare = ping().without("content-type");
        let call = bare.headers("content-type", content_type.as_slice());
        app.expect(outcome, call).await;
    }
    let large = raw(&" ".repeat(320 * 1024 + 1));
    app.expect("413 payload_too_large", large).await;
    // The longest conversation allowed, every character an escape.
    let content = "\\ud83d\\ude00".repeat(2000);
    let messages = vec![format!(r#"{{"role":"user","content":"{content}"}}"#); 12].join(",");
    let longest = format!(r#"{{"messages":[{messages}]}}"#);
    let longest = call_raw("ask_assistant", &longest);
    assert_eq!(app.given(longest).await["used"], 1);
}

#[tokio::test]
async fn answers_are_json_whatever_is_accepted() {
    let app = TestApp::new();
    let types =
        "application/json, text/event-stream|application/json|text/event-stream|*/*|text/html;q=0|";
    for accept in types.split('|') {
        let ping = ping().header("accept", accept);
        assert_eq!(app.result(ping).await, json!({}), "{accept}");
    }
    assert_eq!(app.result(ping()).await, json!({}));
}

#[tokio::test]
async fn headers_of_sessions_and_streams_are_ignored() {
    let app = TestApp::new();
    let ping = ping()
        .header("mcp-session-id", "nonsense")
        .header("last-event-id", "7");
    let reply = app.send(ping).await;
    assert_eq!(result(&reply), json!({}));
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn a_bad_credential_is_refused_with_the_way_to_a_good_one() {
    let app = TestApp::new();
    let bad = ping().bearer("nonsense");
    let reply = app.expect("401 invalid_token", bad.clone()).await;
    let challenge = reply.header("www-authenticate").unwrap();
    assert!(challenge.contains("/.well-known/oauth-protected-resource"));
    let two = bad.header("x-api-key", "other");
    app.expect("400 conflicting_credentials", two).await;
}

#[tokio::test]
async fn every_answer_shows_the_rate_limits() {
    let app = TestApp::new();
    for (sent, call) in [
        ping(),
        raw("nonsense"),
        raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        plain("nonsense", &json!({})),
        call("echo", &json!({})),
        Call::get(MCP),
        ping().header("origin", "https://evil.example"),
        Call::post(MCP, "{}").header("content-type", "text/plain"),
    ]
    .into_iter()
    .enumerate()
    {
        let left = format!("default {}", 599 - sent);
        app.expect_left(&left, call).await;
    }
    // The harness checks the headers of protocol errors too.
    app.expect_error("400 -32600", raw("{}")).await;
}
