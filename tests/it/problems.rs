//! Errors of every kind: the same shape, a true status, a page that explains it.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::{Method, StatusCode};
use landing_api::domain::time::Timestamp;
use landing_api::http::answer::problem::Code;
use landing_api::ports::{Clock, LimiterError};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::fixtures::{Delayed, FaultyRateLimiter, limiter_in_memory, logged};
use crate::harness::{Call, PanickingModelClient, Setup, TestApp};

#[tokio::test]
async fn unknown_paths_are_404_problems_with_rate_limits() {
    let app = TestApp::new();
    for path in [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/health/",
        "/api/v1/Health",
        "/api/v2/health",
        "/api//v1/health",
        "/api/v1/newsletter/",
        "/API/v1/health",
        "/nothing",
        "/problems/nothing",
        "/.well-known/nothing",
        "/agent",
        "/agent/auth/",
        "/agent/auth/claim/",
        "/oauth2",
        "/oauth2/Token",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let reply = app.send(Call::new(method, path)).await;
            assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(reply.code(), "not_found");
        }
    }
}

#[tokio::test]
async fn a_query_changes_nothing() {
    let app = TestApp::new();
    let reply = app.send(Call::get("/api/v1/health?x=%00&y")).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones() {
    let app = TestApp::new();
    for (method, path, allow) in [
        (Method::POST, "/api/v1/health", "GET, HEAD"),
        (Method::DELETE, "/api/v1/keys", "GET, HEAD, POST"),
        (Method::GET, "/api/v1/newsletter", "POST"),
        (Method::HEAD, "/api/newsletter", "POST"),
        (Method::PATCH, "/api/assistant/chat", "GET, HEAD, POST"),
        (Method::OPTIONS, "/api/v1/sandbox/echo", "GET, HEAD, POST"),
        (Method::GET, "/agent/auth", "POST"),
        (Method::GET, "/agent/auth/claim", "POST"),
        (Method::DELETE, "/agent/auth/revoke", "POST"),
        (Method::HEAD, "/oauth2/token", "POST"),
        (Method::POST, "/oauth2/authorize", "GET, HEAD"),
        (Method::PUT, "/docs", "GET, HEAD"),
    ] {
        let reply = app.send(Call::new(method.clone(), path)).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(reply.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn every_code_has_a_page() {
    let app = TestApp::new();
    let guide = app.send(Call::get("/docs")).await;
    let guide = String::from_utf8(guide.body.to_vec()).unwrap();
    assert!(guide.contains("id=\"errors-and-problem-details\""));
    for code in Code::ALL {
        let kind = code.kind();
        let reply = app
            .send(Call::get(&format!("/problems/{}", kind.name)))
            .await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(
            reply.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let page = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(page.contains(kind.title), "{}", kind.name);
        assert!(page.contains(kind.name));
        assert!(page.contains("What to do"));
        assert!(page.contains("/docs#errors-and-problem-details"));
    }
}

#[tokio::test]
async fn what_is_not_json_is_said_to_be_so() {
    let app = TestApp::new();
    for (path, body, detail) in [
        ("/api/v1/newsletter", &b""[..], "no body"),
        ("/api/v1/sandbox/echo", b"message=hi", "not JSON"),
        ("/api/v1/sandbox/echo", b"{\"message\":\"hi\"", "not JSON"),
        (
            "/api/v1/sandbox/echo",
            b"{\"message\":\"hi\"}{}",
            "not JSON",
        ),
        (
            "/api/v1/sandbox/echo",
            b"{\"message\":\"\xff\"}",
            "not UTF-8",
        ),
        ("/api/v1/keys", b"{", "not JSON"),
        ("/api/v1/assistant/chat", b"[1,2", "not JSON"),
    ] {
        let reply = app.send(Call::post(path, body.to_vec())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.code(), "malformed_json");
        let problem = reply.json();
        assert!(
            problem["detail"].as_str().unwrap().contains(detail),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn deep_nesting_is_refused_or_ignored_but_never_fatal() {
    let app = TestApp::new();
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let echo = format!(r#"{{"message":{deep}}}"#);
    let reply = app.send(Call::post("/api/v1/sandbox/echo", echo)).await;
    assert_eq!(reply.code(), "validation_failed");
    let chat = format!(r#"{{"messages":[{{"role":"user","content":"hi"}}],"x":{deep}}}"#);
    let reply = app.send(Call::post("/api/v1/assistant/chat", chat)).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn bodies_that_are_too_large_are_413() {
    let app = TestApp::new();
    for (path, bytes) in [
        ("/api/v1/keys", 9_000),
        ("/api/v1/newsletter", 9_000),
        ("/api/newsletter", 9_000),
        ("/api/v1/sandbox/echo", 70_000),
        ("/api/v1/assistant/chat", 330_000),
        ("/agent/auth", 70_000),
        ("/agent/auth", 1_000_000),
        ("/agent/auth/revoke", 9_000),
        ("/oauth2/token", 9_000),
        ("/oauth2/token", 1_000_000),
    ] {
        let reply = app.send(Call::post(path, vec![b' '; bytes])).await;
        assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert_eq!(reply.code(), "payload_too_large");
        let shown = if path.ends_with("chat") {
            "assistant"
        } else {
            "default"
        };
        assert_eq!(reply.policy(), shown);
    }
}

#[tokio::test]
async fn bodies_of_other_media_types_are_415() {
    let app = TestApp::new();
    let echo = Call::post("/api/v1/sandbox/echo", r#"{"message":"m"}"#);
    let bare = echo.clone().without("content-type");
    for (call, status) in [
        (bare.clone(), StatusCode::OK),
        (
            bare.clone().header("origin", "http://landing.example"),
            StatusCode::OK,
        ),
        (
            bare.clone().header("origin", "https://elsewhere.example"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            bare.clone().header("content-type", "text/plain"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            bare.header("content-type", "application/json; charset=utf-8"),
            StatusCode::OK,
        ),
        (
            echo.header("origin", "https://elsewhere.example"),
            StatusCode::OK,
        ),
    ] {
        assert_eq!(app.send(call).await.status, status);
    }
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let app = Setup {
        model: Arc::new(PanickingModelClient),
        ..Setup::default()
    }
    .start();
    let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let reply = app.send(Call::post("/api/v1/assistant/chat", body)).await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.code(), "internal_error");
    assert_eq!(reply.policy(), "assistant");
    assert!(!String::from_utf8_lossy(&reply.body).contains("secret cause"));
    let reply = app.send(Call::get("/api/v1/health")).await;
    assert_eq!(reply.status, StatusCode::OK);
}

/// A limiter on a network that is down, or one with a bug.
pub(crate) fn broken_limiter(panics: bool) -> Arc<FaultyRateLimiter> {
    fn panic(_call: &str) -> Result<(), LimiterError> {
        panic!("the secret cause");
    }
    fn fail(_call: &str) -> Result<(), LimiterError> {
        Err(LimiterError("the secret cause".to_owned()))
    }
    Arc::new(FaultyRateLimiter::new(if panics { panic } else { fail }))
}

#[tokio::test]
async fn a_handler_that_panics_leaves_the_limits_in_its_answer() {
    let app = Setup {
        limiter: Arc::new(FaultyRateLimiter::new(|call| {
            assert_ne!(call, "peek", "the secret cause");
            Ok(())
        })),
        ..Setup::default()
    }
    .start();
    let reply = app.send(Call::get("/api/v1/assistant/chat")).await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        (reply.policy().as_str(), reply.remaining()),
        ("default", 599)
    );
}

#[tokio::test]
async fn without_a_limiter_nothing_is_served() {
    for (panics, status) in [
        (false, StatusCode::SERVICE_UNAVAILABLE),
        (true, StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let app = Setup {
            limiter: broken_limiter(panics),
            ..Setup::default()
        }
        .start();
        // There are no numbers to show, so this goes past the harness's checks.
        let request = hyper::Request::get("/api/v1/health")
            .header("host", "a")
            .body(String::new())
            .unwrap();
        let peer = "192.0.2.1".parse().unwrap();
        let response = app.service.respond(peer, request).await;
        assert_eq!(response.status(), status);
        assert!(!response.headers().contains_key("ratelimit"));
    }
}

#[tokio::test]
async fn a_distant_limiter_counts_each_request_once() {
    let app = Setup {
        limiter: Arc::new(Delayed(limiter_in_memory())),
        ..Setup::default()
    }
    .start();
    let first = app.send(Call::get("/api/v1/health")).await.remaining();
    for (path, left) in [("/api/v1/health", 1), ("/api/v1/keys", 2), ("/api/v1", 3)] {
        assert_eq!(
            app.send(Call::get(path)).await.remaining(),
            first - left,
            "{path}"
        );
    }
}

/// A clock with a bug.
struct PanickingClock;

impl Clock for PanickingClock {
    fn now(&self) -> Timestamp {
        panic!("the secret cause")
    }
}

#[tokio::test]
async fn what_panics_before_the_door_is_a_problem_too() {
    let app = Setup {
        clock: Some(Arc::new(PanickingClock)),
        ..Setup::default()
    }
    .start();
    let request = hyper::Request::get("/api/v1/health").header("host", "a");
    let request = request.body(String::new()).unwrap();
    let peer = "192.0.2.1".parse().unwrap();
    let response = app.service.respond(peer, request).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(response.headers().contains_key("x-request-id"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["code"], "internal_error");
    assert!(!problem.to_string().contains("secret cause"));
}

/// A log that breaks at the line about a request, and takes the one about a panic.
struct PanickingLog;

impl Subscriber for PanickingLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        assert_ne!(*event.metadata().level(), Level::INFO, "the secret cause");
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn what_panics_behind_the_operation_is_a_problem_too() {
    let app = TestApp::new();
    let _log = tracing::subscriber::set_default(PanickingLog);
    // One that is answered at once, and one whose body is awaited; HEAD has no body.
    for (method, path, has_body) in [
        (Method::GET, "/api/v1/health", true),
        (Method::HEAD, "/api/v1/health", false),
        (Method::POST, "/api/v1/sandbox/echo", true),
    ] {
        let request = hyper::Request::builder().method(method).uri(path);
        let request = request.header("host", "a");
        let request = request.header("content-type", "application/json");
        let request = request.body(r#"{"message":"hello"}"#.to_owned()).unwrap();
        let peer = "192.0.2.1".parse().unwrap();
        let response = app.service.respond(peer, request).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.headers().contains_key("x-request-id"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(!body.is_empty(), has_body, "{path}");
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert_eq!(body.contains("internal_error"), has_body, "{path}");
        assert!(!body.contains("secret cause"));
    }
}

/// The messages of the lines, and the number that the last one tells.
fn messages(log: &str) -> (usize, Option<usize>) {
    let count = |line: &str| line.rsplit_once("count=")?.1.trim().parse().ok();
    (
        log.matches(": request ").count(),
        log.lines().find_map(count),
    )
}

#[test]
fn refused_and_free_requests_write_a_thousand_lines_a_second_and_a_number() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let app = runtime.block_on(async {
        Setup {
            allowed_origins: &["https://a.example"],
            ..Setup::default()
        }
        .limit("default", "1200/60s")
        .start()
    });
    let send = |calls: Vec<Call>| {
        let all = async {
            for call in calls {
                app.send(call).await;
            }
        };
        messages(&logged(|| runtime.block_on(all)).1)
    };
    let paid = || Call::get("/api/v1/health");
    let unknown = || Call::get("/api/v1/nothing");
    let preflight = || {
        Call::new(Method::OPTIONS, "/api/v1/keys")
            .header("origin", "https://a.example")
            .header("access-control-request-method", "POST")
    };
    assert_eq!(send(vec![unknown(); 600]), (600, None));
    assert_eq!(send(vec![preflight(); 500]), (400, None));
    // What is paid for is written, whatever else there is.
    assert_eq!(send(vec![paid(); 600]), (600, None));
    let refused = paid;
    assert_eq!(send(vec![refused(); 50]), (0, None));
    runtime.block_on(tokio::time::advance(std::time::Duration::from_secs(1)));
    assert_eq!(send(vec![refused()]), (1, Some(150)));
    assert_eq!(send(vec![preflight(); 1100]), (999, None));
    runtime.block_on(tokio::time::advance(std::time::Duration::from_secs(60)));
    app.clock.advance_ms(60_000);
    assert_eq!(send(vec![paid(); 2]), (2, Some(101)));
}
