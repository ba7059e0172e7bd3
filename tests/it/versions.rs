//! Versions of the API: the one that a request asks for, and operations that will be removed.

use hyper::{Method, StatusCode};
use landing_api::domain::deprecation::Deprecation;
use landing_api::http::endpoint::Endpoint;
use landing_api::http::endpoints::ENDPOINTS;
use landing_api::site::DeprecatedOperation;
use serde_json::Value;

use crate::harness::{Call, NOW, Reply, Setup, TestApp};

const ADA: &str = r#"{"email":"ada@example.com"}"#;
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
const VERSION: &str = "service-api-version";

#[tokio::test]
async fn the_version_is_confirmed_to_who_asks_for_it_whatever_the_answer() {
    let app = Setup::default().limit("newsletter", "1/1h").start();
    for (call, status) in [
        (Call::get("/api/v1/health"), 200),
        (Call::new(Method::HEAD, "/api/v1/health"), 200),
        (Call::get("/api/openapi.yaml"), 200),
        (Call::post("/api/v1/keys", ""), 201),
        (Call::post("/api/newsletter", ADA), 200),
        (Call::post("/api/v1/newsletter", ADA), 429),
        (Call::post("/api/v1/newsletter", "{}"), 400),
        (Call::get("/api/v1/health").bearer("nonsense"), 401),
        (Call::get("/api/nothing"), 404),
        (Call::new(Method::PUT, "/api/v1/keys"), 405),
        (
            Call::post("/api/v1/assistant/chat", HELLO).header("accept", "text/event-stream"),
            200,
        ),
    ] {
        let reply = app.send(call.clone().header(VERSION, "v1")).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.header(VERSION), Some("v1"), "{status}");
        assert_eq!(app.send(call).await.header(VERSION), None, "{status}");
    }
}

#[tokio::test]
async fn a_version_that_does_not_exist_is_a_problem_of_its_own_and_does_nothing() {
    let app = TestApp::new();
    for values in [
        &[&b"v2"[..]][..],
        &[b"V1"],
        &[b"v1.0"],
        &[b"1"],
        &[b""],
        &[b"v1, v1"],
        &[b"\"v1\""],
        &[b"v\xff1"],
        &[b"v1", b"v1"],
        &[b"v1", b"v2"],
    ] {
        for (method, path, body) in [
            (Method::GET, "/api/v1/health", ""),
            (Method::POST, "/api/v1/keys", ""),
            (Method::POST, "/api/newsletter", ADA),
            (Method::POST, "/api/v1/assistant/chat", HELLO),
            (Method::GET, "/api/openapi.yaml", ""),
        ] {
            let mut call = match method {
                Method::POST => Call::post(path, body),
                _ => Call::get(path),
            };
            for value in values {
                call = call.header(VERSION, value);
            }
            let reply = app.send(call).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{path} {values:?}");
            assert_eq!(reply.code(), "unsupported_api_version");
            assert_eq!(reply.header(VERSION), None);
        }
    }
    assert_eq!(app.contacts.len(), 0);
    let quota = app.send(Call::get("/api/v1/assistant/chat")).await;
    assert_eq!(quota.json()["used"], 0);
}

#[tokio::test]
async fn a_request_for_another_version_counts_at_the_door_as_any_other() {
    let app = Setup::default().limit("default", "3/60s").start();
    let other = || Call::get("/api/v1/health").header(VERSION, "v2");
    for remaining in [2, 1, 0] {
        let reply = app.send(other()).await;
        assert_eq!((reply.status.as_u16(), reply.remaining()), (400, remaining));
    }
    let refused = app.send(other()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn what_is_wrong_with_credential_path_or_method_is_told_first() {
    let app = TestApp::new();
    for (call, status) in [
        (Call::get("/api/v1/health").bearer("nonsense"), 401),
        (Call::get("/api/v2/health"), 404),
        (Call::new(Method::DELETE, "/api/v1/health"), 405),
    ] {
        let reply = app.send(call.header(VERSION, "v2")).await;
        assert_eq!(reply.status, status);
    }
}

#[tokio::test]
async fn outside_the_api_the_header_means_nothing() {
    let app = TestApp::new();
    for value in ["v1", "v2"] {
        for path in ["/docs", "/openapi.json", "/problems/not_found"] {
            let reply = app.send(Call::get(path).header(VERSION, value)).await;
            assert_eq!(reply.status, StatusCode::OK, "{path}");
            assert_eq!(reply.header(VERSION), None, "{path}");
        }
    }
}

/// The notice of an answer: `Deprecation` and `Sunset`.
fn notice(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("deprecation"), reply.header("sunset"))
}

/// The endpoints, with notice of the sign-up's old path, given on the day the tests begin, a hundred
/// days ahead.
pub(crate) fn endpoints_with_notice() -> &'static [&'static Endpoint] {
    const OLD: &str = "/api/newsletter";
    const NEW: &str = "/api/v1/newsletter";
    let mut endpoints = ENDPOINTS.to_vec();
    let at = endpoints.iter().position(|it| it.paths == [NEW, OLD]);
    let both = endpoints.remove(at.unwrap());
    let notice = Deprecation {
        replacement: NEW,
        announced: NOW,
        notice_days: 100,
    };
    let mut old = *both;
    (old.paths, old.deprecated) = (&[OLD], Some(notice));
    let mut new = *both;
    new.paths = &[NEW];
    endpoints.extend([&*Box::leak(Box::new(old)), Box::leak(Box::new(new))]);
    endpoints.leak()
}

fn with_notice() -> Setup {
    Setup {
        endpoints: endpoints_with_notice(),
        ..Setup::default()
    }
}

#[tokio::test]
async fn an_operation_that_will_be_removed_says_so_in_every_answer() {
    let app = with_notice().limit("newsletter", "1/1h").start();
    let call = |body: &'static str| Call::post("/api/newsletter", body);
    for (call, status) in [
        (call(ADA), 200),
        (call(ADA), 429),
        (call("{}"), 400),
        (call(ADA).bearer("nonsense"), 401),
        (call(ADA).header(VERSION, "v2"), 400),
        (call(ADA).header("content-type", "text/plain"), 415),
    ] {
        let call = if status == 415 {
            call.without("content-type").header("content-type", "a/b")
        } else {
            call
        };
        let reply = app.send(call).await;
        assert_eq!(reply.status, status);
        let expected = (Some("true"), Some("Mon, 01 Mar 2027 12:00:00 GMT"));
        assert_eq!(notice(&reply), expected, "{status}");
    }
    // Neither its other path nor another method of the path is meant.
    for call in [
        Call::post("/api/v1/newsletter", ADA),
        Call::get("/api/newsletter"),
        Call::get("/api/v1/health"),
        Call::get("/docs"),
    ] {
        assert_eq!(notice(&app.send(call).await), (None, None));
    }
}

async fn description(app: &TestApp) -> Value {
    app.send(Call::get("/openapi.json")).await.json()
}

#[tokio::test]
async fn an_operation_that_will_be_removed_is_described_so_in_both_forms() {
    let app = with_notice().start();
    let mut marked = description(&app).await;
    let operation = &mut marked["paths"]["/api/newsletter"]["post"];
    assert_eq!(operation["deprecated"], true);
    let text = operation["description"].as_str().unwrap();
    assert!(text.starts_with(
        "**Deprecated.** Use `/api/v1/newsletter` instead. Until 2027-03-01 this operation stays \
         as it is.\n\nDoes exactly"
    ));
    let yaml = app.send(Call::get("/api/openapi.yaml")).await;
    let yaml = String::from_utf8(yaml.body.to_vec()).unwrap();
    assert_eq!(yaml.matches("deprecated: true").count(), 2, "and `reply`");
    assert_eq!(
        yaml.matches("**Deprecated.** Use `/api/v1/newsletter`")
            .count(),
        1
    );

    // All else is as it was.
    let unmarked = description(&TestApp::new()).await;
    let as_before = &unmarked["paths"]["/api/newsletter"]["post"];
    operation["description"] = as_before["description"].clone();
    operation
        .as_object_mut()
        .unwrap()
        .shift_remove("deprecated");
    assert_eq!(marked, unmarked);
}

#[test]
fn every_operation_of_the_table_can_be_marked_and_described() {
    let described = ENDPOINTS.iter().filter(|endpoint| endpoint.is_described);
    let operations = described.flat_map(|endpoint| {
        let paths = endpoint.paths.iter();
        paths.map(|&path| (endpoint.method.as_str(), path))
    });
    for (method, path) in operations {
        let notice = Deprecation {
            replacement: "/elsewhere",
            announced: NOW,
            notice_days: 0,
        };
        let deprecated = DeprecatedOperation {
            method,
            path,
            notice,
        };
        let facts = landing_api::site::SiteFacts {
            deprecated: vec![deprecated],
            ..crate::site::facts()
        };
        let json = crate::site::document(&facts, "/openapi.json");
        let description: Value = serde_json::from_str(&json).unwrap();
        let operation = &description["paths"][path][method.to_lowercase()];
        assert_eq!(operation["deprecated"], true, "{method} {path}");
        let text = operation["description"].as_str().unwrap();
        assert!(text.contains("`/elsewhere`"), "{method} {path}");
        assert!(text.contains("2027-02-19"), "ninety days at least");
    }
}

#[test]
fn nothing_is_deprecated_at_present() {
    assert!(ENDPOINTS.iter().all(|it| it.deprecated.is_none()));
}
