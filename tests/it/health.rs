//! `GET /api/v1/health`.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use landing_api::ports::{LimiterError, StoreError};
use serde_json::json;

use crate::fixtures::FaultyRateLimiter;
use crate::harness::{Call, Setup, TestApp};

#[tokio::test]
async fn health_tells_the_service_and_where_to_read_on() {
    let app = TestApp::new();
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(
        reply.json(),
        json!({
            "ok": true,
            "service": "Landing API",
            "version": "v1",
            "documentation": "http://landing.example/docs",
            "openapi": "http://landing.example/openapi.json",
        })
    );
}

#[tokio::test]
async fn the_addresses_that_health_names_answer() {
    let app = TestApp::new();
    let health = app.send(Call::get("/api/v1/health")).await.json();
    for name in ["documentation", "openapi"] {
        let url = health[name].as_str().unwrap();
        let path = url.strip_prefix(app.base_url).unwrap();
        let reply = app.send(Call::get(path)).await;
        assert_eq!(reply.status, StatusCode::OK, "{url}");
    }
}

#[tokio::test]
async fn health_is_503_while_the_store_takes_no_writes() {
    let app = TestApp::new();
    let failure = StoreError::Unavailable("disk on fire".to_owned());
    app.contacts.fail_with(Some(failure));
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "store_unavailable");
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    assert!(!text.contains("fire"), "the cause is for the log alone");

    app.contacts.fail_with(None);
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn everybody_who_asks_is_told_that_the_disk_is_full() {
    let app = TestApp::new();
    let failure = || Some(StoreError::Full("/secret/place".to_owned()));
    app.contacts.fail_with(failure());
    app.keys.fail_with(failure());
    let email = json!({ "email": "ada@example.com" }).to_string();
    for (call, code) in [
        (Call::get("/api/v1/health"), "store_unavailable"),
        (Call::post("/api/v1/keys", "{}"), "store_unavailable"),
        (
            Call::post("/api/v1/newsletter", email),
            "newsletter_unavailable",
        ),
    ] {
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.code(), code);
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with("The disk is full"), "{detail}");
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(!text.contains("place"), "the cause is for the log alone");
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let app = TestApp::new();
    let get = app.send(Call::get("/api/v1/health")).await;
    let head = app.send(Call::new(Method::HEAD, "/api/v1/health")).await;
    assert_eq!(head.status, get.status);
    for name in ["content-type", "content-length", "ratelimit-policy"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
}

#[tokio::test]
async fn health_is_503_while_the_limiter_is_away() {
    let app = Setup {
        limiter: Arc::new(FaultyRateLimiter::new(|call| match call {
            "check" => Err(LimiterError("connection refused".to_owned())),
            _ => Ok(()),
        })),
        ..Setup::default()
    }
    .start();
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "limiter_unavailable");
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    assert!(!text.contains("refused"), "the cause is for the log alone");
}

#[tokio::test]
async fn load_balancers_are_told_of_a_stop_and_of_nothing_else() {
    let setup = Setup::default().limit("ip", "1/60s");
    let app = setup.start();
    app.contacts
        .fail_with(Some(StoreError::Unavailable("gone".to_owned())));
    for _ in 0..3 {
        let probe = Call::get("/livez").bearer("lak_nothing");
        let reply = app.send(probe).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.json(), json!({"live": true}));
        assert_eq!(reply.header("ratelimit-limit"), None);
    }
    // Nothing was counted.
    assert_eq!(app.send(Call::get("/docs")).await.status, StatusCode::OK);
    app.metrics.stopping.cancel();
    let reply = app.send(Call::new(Method::HEAD, "/livez")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    let reply = app.send(Call::get("/livez")).await;
    assert_eq!(reply.code(), "stopping");
}
