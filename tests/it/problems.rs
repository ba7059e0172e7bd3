//! Errors of every kind: the same shape, a true status, a page that explains it.

use landing_api::ports::{Clock, LimiterError};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::prelude::*;

/// Which path leads where, the tests of `http::router` say.
#[tokio::test]
async fn unknown_paths_are_404_problems_with_rate_limits() {
    let app = TestApp::new();
    let paths =
        "/api /api/v1/health/ /nothing /problems/nothing /agent /agent/auth/claim/ /oauth2/Token";
    for path in paths.split(' ') {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            app.expect("404 not_found", Call::new(method, path)).await;
        }
    }
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones() {
    let call = Call::new(Method::PUT, "/api/v1/sandbox/echo?x=%00&y");
    let reply = TestApp::new().expect("405", call).await;
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"));
}

#[tokio::test]
async fn every_code_has_a_page() {
    let app = TestApp::new();
    let guide = app.send(Call::get("/docs")).await;
    let place = "handle-errors";
    assert!(guide.text().contains(&format!("id=\"{place}\"")));
    for code in Code::ALL {
        let path = format!("/problems/{}", code.as_str());
        let reply = app.expect("200", Call::get(&path)).await;
        assert!(reply.is_html());
        let link = format!("/docs#{place}");
        for part in [code.page().title, code.as_str(), "What to do", &link] {
            assert!(reply.text().contains(part), "{path}: {part}");
        }
        let markdown = app.send(Call::get(&format!("{path}.md"))).await;
        let code_member = format!("\n  \"code\": \"{}\",\n", code.as_str());
        // A wrong method is no operation, so the description has no example of it.
        let has_example = code != Code::MethodNotAllowed;
        let is_shown = markdown.text().contains(&code_member);
        assert_eq!(is_shown, has_example, "{path}");
    }
    let page = app.send(Call::get("/problems/rate_limited")).await;
    assert!(page.text().contains("<code>Retry-After</code>"));
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let app = Setup::with_model(Arc::new(PanickingModelClient)).start();
    let reply = app.expect("500 internal_error", Call::chat()).await;
    assert_eq!(reply.policy(), "assistant");
    reply.check_silent_on("secret cause");
    app.expect("200", Call::health()).await;
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
    // One that is waited for, and one that is answered at once.
    for (broken, path) in [
        ("peek", "/api/v1/assistant/chat"),
        ("check", "/api/v1/health"),
    ] {
        let limiter = FaultyRateLimiter::new(move |call| {
            assert_ne!(call, broken, "the secret cause");
            Ok(())
        });
        let app = Setup::with_limiter(Arc::new(limiter)).start();
        let reply = app.expect("500", Call::get(path)).await;
        assert_eq!(reply.shown(), "default 599");
        reply.check_silent_on("secret cause");
    }
}

#[tokio::test]
async fn a_distant_limiter_counts_each_request_once() {
    let app = Setup::with_limiter(Arc::new(FaultyRateLimiter::distant())).start();
    let first = app.send(Call::health()).await.remaining();
    for (path, left) in [("/api/v1/health", 1), ("/api/v1/keys", 2), ("/api/v1", 3)] {
        let reply = app.send(Call::get(path)).await;
        assert_eq!(reply.remaining(), first - left, "{path}");
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
async fn what_fails_before_the_door_is_a_problem_without_limits_too() {
    let clock = Setup {
        clock: Some(Arc::new(PanickingClock)),
        ..Setup::default()
    };
    let [away, panicking] = [false, true].map(|panics| Setup::with_limiter(broken_limiter(panics)));
    for (setup, outcome) in [
        (away, "503 limiter_unavailable"),
        (panicking, "500 internal_error"),
        (clock, "500 internal_error"),
    ] {
        let reply = setup.start().send_unchecked(Call::health()).await;
        assert_eq!(reply.outcome(), outcome);
        assert_eq!(reply.header("ratelimit"), None);
        assert!(reply.header("x-request-id").is_some());
        reply.check_silent_on("secret cause");
    }
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
    for (call, has_body) in [
        (Call::health(), true),
        (Call::head("/api/v1/health"), false),
        (Call::echo(), true),
    ] {
        let reply = app.send_unchecked(call).await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(reply.header("x-request-id").is_some());
        assert_eq!(!reply.body.is_empty(), has_body);
        assert_eq!(reply.outcome() == "500 internal_error", has_body);
        reply.check_silent_on("secret cause");
    }
}
