//! The HTTP side of `/mcp`: methods, origins, media types, bodies, credentials.

use hyper::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Call, Setup, TestApp};

use super::{MCP, call, error, given, plain, raw, result};

const SHOP: &str = "https://shop.example";

#[tokio::test]
async fn only_post_is_taken() {
    let app = TestApp::new();
    for method in [
        Method::GET,
        Method::HEAD,
        Method::DELETE,
        Method::PUT,
        Method::PATCH,
        Method::OPTIONS,
    ] {
        let call = Call::new(method.clone(), MCP).header("accept", "text/event-stream");
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(reply.header("allow"), Some("POST"));
    }
    for path in ["/mcp/", "/MCP", "/mcp/x"] {
        let reply = app.send(Call::post(path, "{}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn pages_of_foreign_origins_call_nothing() {
    let app = Setup {
        allowed_origins: &[SHOP],
        ..Setup::default()
    }
    .start();
    let subscribe = || call("subscribe_newsletter", &json!({ "email": "a@example.com" }));
    for origins in [
        &["https://evil.example"][..],
        &["null"],
        &[""],
        &["https://landing.example"],
        &["http://landing.example:8080"],
        &["http://landing.example/"],
        &["HTTP://LANDING.EXAMPLE"],
        &["http://landing.example", "https://evil.example"],
        &[SHOP, SHOP],
    ] {
        let mut call = subscribe();
        for origin in origins {
            call = call.header("origin", origin);
        }
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{origins:?}");
        assert_eq!(reply.code(), "origin_not_allowed");
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    assert!(app.contacts.is_empty());
    for origin in [None, Some("http://landing.example"), Some(SHOP)] {
        let mut call = subscribe();
        if let Some(origin) = origin {
            call = call.header("origin", origin);
        }
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
    let ping = plain("ping", &json!({})).without("host");
    let ping = ping.header("host", "evil.example");
    assert_eq!(result(&app.send(ping).await), json!({}));
}

#[tokio::test]
async fn allowed_pages_may_send_the_headers_of_the_protocol() {
    let app = Setup {
        allowed_origins: &[SHOP],
        ..Setup::default()
    }
    .start();
    let preflight = |origin: &str| {
        Call::new(Method::OPTIONS, MCP)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "mcp-protocol-version")
    };
    let reply = app.send(preflight(SHOP)).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    assert_eq!(reply.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(
        reply.header("access-control-allow-headers"),
        Some(
            "accept, authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, \
             x-api-key"
        )
    );
    let reply = app.send(preflight("https://evil.example")).await;
    assert_eq!(reply.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn bodies_are_json_and_bounded() {
    let app = TestApp::new();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (content_type, is_taken) in [
        (Some("application/json"), true),
        (Some("application/json; charset=utf-8"), true),
        (None, true),
        (Some("text/plain"), false),
        (Some("application/x-www-form-urlencoded"), false),
        (Some("application/jsonp"), false),
    ] {
        let mut call = raw(ping).without("content-type");
        if let Some(content_type) = content_type {
            call = call.header("content-type", content_type);
        }
        let reply = app.send(call).await;
        if is_taken {
            assert_eq!(result(&reply), json!({}), "{content_type:?}");
        } else {
            assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
            assert_eq!(reply.code(), "unsupported_media_type");
        }
    }
    let reply = app.send(raw(&" ".repeat(320 * 1024 + 1))).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(reply.code(), "payload_too_large");
    // The longest conversation allowed, every character an escape.
    let content = "\\ud83d\\ude00".repeat(2000);
    let message = format!(r#"{{"role":"user","content":"{content}"}}"#);
    let messages = vec![message; 12].join(",");
    let longest = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask_assistant","arguments":{{"messages":[{messages}]}}}}}}"#
    );
    assert_eq!(given(&app.send(raw(&longest)).await)["used"], 1);
}

#[tokio::test]
async fn answers_are_json_whatever_is_accepted() {
    let app = TestApp::new();
    for accept in [
        "application/json, text/event-stream",
        "application/json",
        "text/event-stream",
        "*/*",
        "text/html;q=0",
        "",
    ] {
        let ping = plain("ping", &json!({})).header("accept", accept);
        assert_eq!(result(&app.send(ping).await), json!({}), "{accept}");
    }
    assert_eq!(
        result(&app.send(plain("ping", &json!({}))).await),
        json!({})
    );
}

#[tokio::test]
async fn headers_of_sessions_and_streams_are_ignored() {
    let app = TestApp::new();
    let ping = plain("ping", &json!({}))
        .header("mcp-session-id", "nonsense")
        .header("last-event-id", "7");
    let reply = app.send(ping).await;
    assert_eq!(result(&reply), json!({}));
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn a_bad_credential_is_refused_with_the_way_to_a_good_one() {
    let app = TestApp::new();
    let reply = app.send(plain("ping", &json!({})).bearer("nonsense")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reply.code(), "invalid_token");
    assert!(
        reply
            .header("www-authenticate")
            .unwrap()
            .contains("/.well-known/oauth-protected-resource")
    );
    let two = plain("ping", &json!({}))
        .bearer("nonsense")
        .header("x-api-key", "other");
    let reply = app.send(two).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.code(), "conflicting_credentials");
}

#[tokio::test]
async fn every_answer_shows_the_rate_limits() {
    let app = TestApp::new();
    for (sent, call) in [
        plain("ping", &json!({})),
        raw("nonsense"),
        raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        plain("nonsense", &json!({})),
        call("echo", &json!({})),
        Call::get(MCP),
        plain("ping", &json!({})).header("origin", "https://evil.example"),
        Call::post(MCP, "{}").header("content-type", "text/plain"),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = app.send(call).await;
        assert_eq!(reply.policy(), "default");
        assert_eq!(reply.remaining(), 599 - u32::try_from(sent).unwrap());
    }
    // The harness checks the headers of protocol errors too.
    assert_eq!(error(&app.send(raw("{}")).await), (400, -32600));
}
