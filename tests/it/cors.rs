//! Pages of other origins.

use std::collections::BTreeSet;

use hyper::{Method, StatusCode};
use landing_api::ports::StoreError;

use crate::harness::{Call, Reply, Setup, TestApp};
use crate::versions::endpoints_with_notice;

const SHOP: &str = "https://shop.example";
const EVIL: &str = "https://evil.example";
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

fn setup() -> Setup {
    Setup {
        allowed_origins: &[SHOP, "http://127.0.0.1:3000"],
        ..Setup::default()
    }
}

fn preflight(path: &str, origin: &str) -> Call {
    Call::new(Method::OPTIONS, path)
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type")
}

fn cors_headers(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.keys().map(hyper::header::HeaderName::as_str);
    names
        .filter(|name| name.starts_with("access-control-"))
        .collect()
}

/// An answer that a page of `origin` may read.
fn check_readable(reply: &Reply, origin: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    assert_eq!(
        reply.header("access-control-allow-credentials"),
        Some("true")
    );
    assert!(reply.header("access-control-expose-headers").is_some());
    assert_eq!(cors_headers(reply).len(), 3);
    assert_eq!(reply.header("vary"), Some("Origin"));
}

/// Calls with an answer of every kind and status that the API has.
fn calls() -> Vec<(Call, u16)> {
    vec![
        (Call::get("/api/v1/health"), 200),
        (Call::new(Method::HEAD, "/api/v1/health"), 200),
        (
            Call::get("/api/v1/keys").header("service-api-version", "v1"),
            200,
        ),
        (Call::post("/api/v1/keys", "{}"), 201),
        (Call::get("/api/v1/sandbox/echo"), 200),
        (
            Call::post("/api/v1/sandbox/echo", r#"{"message":"m"}"#),
            200,
        ),
        (Call::get("/api/v1/assistant/chat"), 200),
        (Call::post("/api/v1/assistant/chat", HELLO), 200),
        (
            Call::post("/api/v1/assistant/chat", HELLO).header("accept", "text/event-stream"),
            200,
        ),
        (Call::post("/api/assistant/chat", HELLO), 200),
        (
            Call::post("/api/newsletter", r#"{"email":"ada@example.com"}"#),
            200,
        ),
        (Call::post("/api/v1/newsletter", "{}"), 400),
        (Call::post("/agent/auth", r#"{"type":"anonymous"}"#), 201),
        (Call::form("/agent/auth/revoke", "token=nonsense"), 200),
        (Call::post("/agent/auth/claim", "{}"), 400),
        (
            Call::form("/oauth2/token", "grant_type=client_credentials"),
            401,
        ),
        (Call::get("/oauth2/authorize"), 400),
        (Call::get("/oauth2/nothing"), 404),
        (Call::get("/api/v1/health").bearer("nonsense"), 401),
        (Call::get("/api/v1/nothing"), 404),
        (Call::new(Method::DELETE, "/api/v1/keys"), 405),
        (Call::new(Method::OPTIONS, "/api/v1/keys"), 405),
        (Call::post("/api/v1/sandbox/echo", vec![b' '; 100_000]), 413),
        (
            Call::post("/api/v1/newsletter", "{}")
                .without("content-type")
                .header("content-type", "text/plain"),
            415,
        ),
    ]
}

#[tokio::test]
async fn an_allowed_origin_may_read_every_answer_and_exactly_the_headers_that_are_sent() {
    let app = Setup {
        endpoints: endpoints_with_notice(),
        ..setup()
    }
    .limit("default", "100/60s")
    .start();
    let mut sent = BTreeSet::from(["date".to_owned()]);
    let mut exposed = BTreeSet::new();
    let mut note = |reply: &Reply| {
        check_readable(reply, SHOP);
        let names = reply.headers.keys().map(ToString::to_string);
        sent.extend(names.filter(|name| !name.starts_with("access-control-")));
        let list = reply.header("access-control-expose-headers").unwrap();
        exposed.extend(list.split(", ").map(str::to_owned));
    };
    for (call, status) in calls() {
        let reply = app.send(call.header("origin", SHOP)).await;
        assert_eq!(reply.status, status);
        note(&reply);
    }
    app.contacts
        .fail_with(Some(StoreError::Unavailable("disk on fire".to_owned())));
    let reply = app
        .send(Call::get("/api/v1/health").header("origin", SHOP))
        .await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    note(&reply);
    while app.send(Call::get("/api/v1/health")).await.remaining() > 0 {}
    let reply = app
        .send(Call::get("/api/v1/health").header("origin", SHOP))
        .await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    note(&reply);

    for readable_anyway in ["cache-control", "content-length", "content-type", "pragma"] {
        assert!(sent.remove(readable_anyway));
    }
    assert!(sent.remove("set-cookie"), "no script may read it");
    assert_eq!(exposed, sent);
}

#[tokio::test]
async fn other_origins_are_served_and_told_nothing() {
    let app = setup().start();
    for origin in [
        EVIL,
        "null",
        "*",
        "",
        "http://shop.example",
        "https://shop.example:444",
        "https://shop.example.evil.example",
        "https://evil-shop.example",
        "https://shop.example/",
        "https://SHOP.example",
        "https://shop.example https://evil.example",
        "https://shop.example, https://evil.example",
    ] {
        let call = Call::get("/api/v1/health").header("origin", origin);
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(cors_headers(&reply), Vec::<&str>::new(), "{origin}");
        assert_eq!(reply.header("vary"), Some("Origin"), "{origin}");
        let reply = app.send(preflight("/api/v1/health", origin)).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT);
        assert_eq!(cors_headers(&reply), Vec::<&str>::new(), "{origin}");
    }
    let two = Call::get("/api/v1/health")
        .header("origin", SHOP)
        .header("origin", SHOP);
    assert_eq!(cors_headers(&app.send(two).await), Vec::<&str>::new());
    let none = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(cors_headers(&none), Vec::<&str>::new());
    assert_eq!(none.header("vary"), Some("Origin"));
}

#[tokio::test]
async fn any_page_may_read_a_document_and_what_goes_wrong_with_it() {
    for origins in [&[SHOP][..], &[]] {
        let app = Setup {
            allowed_origins: origins,
            ..Setup::default()
        };
        let app = app.limit("default", "8/60s").start();
        for (call, status) in [
            (Call::get("/docs"), 200),
            (Call::get("/openapi.json"), 200),
            (Call::new(Method::HEAD, "/index.md"), 200),
            (Call::get("/problems/not_found"), 200),
            (Call::get("/docs").header("if-none-match", "*"), 304),
            (Call::get("/docs").bearer("nonsense"), 200),
            (Call::post("/docs", "{}"), 405),
            (Call::new(Method::OPTIONS, "/docs"), 405),
            (Call::get("/docs"), 429),
        ] {
            for origin in [SHOP, EVIL] {
                // Preflights are free.
                let reply = app.send(preflight("/docs", origin)).await;
                assert_eq!(reply.status, StatusCode::NO_CONTENT);
                for (name, value) in [
                    ("access-control-allow-origin", "*"),
                    ("access-control-allow-methods", "GET, HEAD"),
                    (
                        "access-control-allow-headers",
                        "accept, content-type, if-none-match, service-api-version",
                    ),
                    ("access-control-max-age", "7200"),
                ] {
                    assert_eq!(reply.header(name), Some(value));
                }
                assert_eq!(cors_headers(&reply).len(), 4);
            }
            let reply = app.send(call.header("origin", EVIL)).await;
            assert_eq!(reply.status, status);
            assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
            assert_eq!(cors_headers(&reply).len(), 2);
            let list = reply.header("access-control-expose-headers").unwrap();
            let exposed: Vec<_> = list.split(", ").collect();
            for name in reply.headers.keys().map(hyper::header::HeaderName::as_str) {
                let is_readable = exposed.contains(&name)
                    || [
                        "cache-control",
                        "content-language",
                        "content-length",
                        "content-type",
                    ]
                    .contains(&name)
                    || name.starts_with("access-control-");
                assert!(is_readable, "{name}");
            }
        }
        for path in ["/nothing", "/.well-known/nothing", "/problems/nothing"] {
            let reply = app.send(preflight(path, SHOP).from("192.0.2.9")).await;
            assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(cors_headers(&reply), Vec::<&str>::new(), "{path}");
        }
    }
}

#[tokio::test]
async fn a_preflight_is_told_what_the_path_takes() {
    let app = setup().start();
    for (path, methods) in [
        ("/api/v1/health", "GET, HEAD"),
        ("/api/v1/keys", "GET, HEAD, POST"),
        ("/api/v1/sandbox/echo", "GET, HEAD, POST"),
        ("/api/v1/newsletter", "POST"),
        ("/api/newsletter", "POST"),
        ("/api/v1/assistant/chat?x", "GET, HEAD, POST"),
        ("/api/assistant/chat", "GET, HEAD, POST"),
        ("/agent/auth", "POST"),
        ("/agent/auth/revoke", "POST"),
        ("/oauth2/token", "POST"),
    ] {
        let reply = app.send(preflight(path, SHOP)).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{path}");
        for (name, value) in [
            ("access-control-allow-origin", SHOP),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", methods),
            (
                "access-control-allow-headers",
                "accept, authorization, content-type, service-api-version, x-api-key",
            ),
            ("access-control-max-age", "7200"),
            (
                "vary",
                "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
            ),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path}");
        }
        assert_eq!(cors_headers(&reply).len(), 5);
    }
}

#[tokio::test]
async fn preflights_are_free_even_when_nothing_is_left() {
    let app = setup().limit("default", "2/60s").start();
    for _ in 0..50 {
        for origin in [SHOP, EVIL] {
            let reply = app.send(preflight("/api/v1/newsletter", origin)).await;
            assert_eq!(reply.status, StatusCode::NO_CONTENT);
        }
    }
    for remaining in [1, 0] {
        let reply = app.send(Call::get("/api/v1/health")).await;
        assert_eq!(reply.remaining(), remaining);
    }
    let reply = app.send(preflight("/api/v1/newsletter", SHOP)).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
}

/// Sends a request that is no preflight and expects it to be counted.
async fn check_counted(app: &TestApp, call: Call, status: StatusCode) {
    let before = app.send(Call::get("/api/v1/health")).await.remaining();
    let reply = app.send(call).await;
    assert_eq!(reply.status, status);
    assert_eq!(reply.remaining(), before - 1);
}

#[tokio::test]
async fn what_is_no_preflight_is_counted_as_ever() {
    let app = setup().start();
    let plain = Call::new(Method::OPTIONS, "/api/v1/keys");
    let wrong = StatusCode::METHOD_NOT_ALLOWED;
    check_counted(&app, plain.clone(), wrong).await;
    check_counted(&app, plain.clone().header("origin", SHOP), wrong).await;
    let without_origin = plain.header("access-control-request-method", "POST");
    check_counted(&app, without_origin, wrong).await;
    let unknown = preflight("/api/v1/nothing", SHOP);
    check_counted(&app, unknown, StatusCode::NOT_FOUND).await;
    let other_method = Call::get("/api/v1/keys")
        .header("origin", SHOP)
        .header("access-control-request-method", "POST");
    check_counted(&app, other_method, StatusCode::OK).await;
}

#[tokio::test]
async fn without_allowed_origins_there_is_no_cors() {
    let app = TestApp::new();
    let call = Call::get("/api/v1/health").header("origin", SHOP);
    let reply = app.send(call).await;
    assert_eq!(cors_headers(&reply), Vec::<&str>::new());
    assert_eq!(reply.header("vary"), None);
    let reply = app.send(preflight("/api/v1/health", SHOP)).await;
    assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(cors_headers(&reply), Vec::<&str>::new());
}

#[tokio::test]
async fn a_body_without_a_type_is_taken_from_allowed_origins_only() {
    let app = setup().start();
    for (origin, status) in [
        (SHOP, StatusCode::OK),
        (EVIL, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("null", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let call = Call::post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#)
            .without("content-type")
            .header("origin", origin);
        assert_eq!(app.send(call).await.status, status, "{origin}");
    }
}
