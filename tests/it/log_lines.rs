//! What the log tells of requests, of the start, and of failures.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use landing_api::ports::{LimiterError, NotifyError, StoreError};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::advance;

use crate::fixtures::{FaultyRateLimiter, logged_async};
use crate::harness::{Call, Setup, TestApp};
use crate::program::{Program, command, run, text};
use crate::twins::ScriptedSignUps;

/// The value of a field in the one line about a request.
fn field<'a>(log: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = log.lines().filter(|line| line.contains(" request "));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        panic!("{log}");
    };
    let (_, rest) = line.split_once(&format!(" {name}="))?;
    Some(rest.split(' ').next().unwrap().trim_matches('"'))
}

async fn log_of(app: &TestApp, call: Call) -> String {
    logged_async(app.send(call)).await.1
}

#[tokio::test]
async fn a_request_is_logged_with_the_route_and_never_the_path() {
    let app = TestApp::new();
    let alias = Call::post("/api/newsletter?email=ada", "{}");
    for (call, method, route) in [
        (
            Call::get("/api/v1/health?secret=1"),
            "GET",
            Some("/api/v1/health"),
        ),
        (
            Call::new(Method::HEAD, "/api/v1/health"),
            "HEAD",
            Some("/api/v1/health"),
        ),
        (alias, "POST", Some("/api/newsletter")),
        (Call::get("/"), "GET", None),
        (Call::get("/secret/path"), "GET", None),
        (Call::new(Method::PUT, "/api/v1/health"), "PUT", None),
        (
            Call::new(Method::from_bytes(b"SECRET").unwrap(), "/"),
            "other",
            None,
        ),
    ] {
        let log = log_of(&app, call).await;
        assert_eq!(field(&log, "method"), Some(method), "{log}");
        assert_eq!(field(&log, "route"), route, "{log}");
        for personal in ["secret", "SECRET", "ada", "192.0.2"] {
            assert!(!log.contains(personal), "{log}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_no_policy_limits_have_a_thousand_lines_a_second() {
    let app = TestApp::new();
    let requests = async {
        for _ in 0..1100 {
            app.send(Call::get("/livez")).await;
        }
        advance(Duration::from_secs(1)).await;
        app.send(Call::get("/livez")).await;
    };
    let ((), log) = logged_async(requests).await;
    let lines = log
        .lines()
        .filter(|line| line.contains("endpoint=\"livez\""));
    assert_eq!(lines.count(), 1001);
    assert!(
        log.contains("further requests were refused or free count=100\n"),
        "{log}"
    );
}

#[tokio::test]
async fn whatever_fails_no_line_names_whom_it_was_for() {
    let sign_up = || Call::post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#);
    let app = TestApp::new();
    app.contacts
        .fail_with(Some(StoreError::Unavailable("disk on fire".to_owned())));
    let limiter = FaultyRateLimiter::new(|call| match call {
        "refund" => Err(LimiterError("away".to_owned())),
        _ => Ok(()),
    });
    let limited = Setup {
        limiter: Arc::new(limiter),
        ..Setup::default()
    };
    let limited = limited.start();
    limited.contacts.fail_with(Some(StoreError::Overloaded));
    let refuser = ScriptedSignUps::default();
    refuser.fail_with(Some(NotifyError::Failed("refused".to_owned())));
    let passing_on = Setup {
        provider: Some(Arc::new(refuser)),
        ..Setup::default()
    };
    for app in [app, limited, passing_on.start()] {
        // The log is searched for addresses when it ends.
        let log = log_of(&app, sign_up()).await;
        assert!(log.contains("status=503"), "{log}");
    }
}

#[tokio::test]
async fn a_request_is_logged_with_the_size_of_its_answer() {
    let app = TestApp::new();
    let (reply, log) = logged_async(app.send(Call::get("/api/v1/health"))).await;
    let bytes = reply.body.len().to_string();
    assert_eq!(field(&log, "bytes"), Some(&*bytes), "{log}");
    let log = log_of(&app, Call::new(Method::HEAD, "/api/v1/health")).await;
    assert_eq!(field(&log, "bytes"), Some("0"), "{log}");
}

#[tokio::test]
async fn one_who_asks_is_told_from_others_for_a_day() {
    let app = TestApp::new();
    let who = async |address: &str| {
        let log = log_of(&app, Call::get("/api/v1/health").from(address)).await;
        assert!(!log.contains(address), "{log}");
        field(&log, "client").unwrap().to_owned()
    };
    let first = who("192.0.2.7").await;
    assert!(first.len() == 8 && first.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(who("192.0.2.7").await, first);
    assert_ne!(who("192.0.2.8").await, first);
    app.clock.advance_ms(86_400_000);
    assert_ne!(who("192.0.2.7").await, first);
}

#[tokio::test]
async fn keys_and_agents_are_logged_by_their_public_names() {
    let app = TestApp::new();
    let issue = app.send(Call::post("/api/v1/keys", "{}"));
    let (reply, log) = logged_async(issue).await;
    let key = reply.json()["api_key"].as_str().unwrap().to_owned();
    let id = format!("key.id=\"{}\"", &key[4..12]);
    assert!(
        log.contains("a key was issued") && log.contains(&id),
        "{log}"
    );
    let revoke = || Call::form("/agent/auth/revoke", format!("token={key}"));
    let log = log_of(&app, revoke()).await;
    assert!(
        log.contains("a key was revoked") && log.contains(&id),
        "{log}"
    );
    assert!(!log.contains(&key[12..]), "{log}");
    let log = log_of(&app, revoke()).await;
    assert!(!log.contains("revoked"), "once: {log}");
    let register = Call::post("/agent/auth", json!({"type": "anonymous"}).to_string());
    let (reply, log) = logged_async(app.send(register)).await;
    let agent = reply.json();
    let id = format!(
        "agent.client_id=\"{}\"",
        agent["client_id"].as_str().unwrap()
    );
    assert!(
        log.contains("an agent registered") && log.contains(&id),
        "{log}"
    );
    let token = agent["access_token"].as_str().unwrap();
    let log = log_of(
        &app,
        Call::form("/agent/auth/revoke", format!("token={token}")),
    )
    .await;
    assert!(
        log.contains("an agent was revoked") && log.contains(&id),
        "{log}"
    );
    assert!(!log.contains(token), "{log}");
}

fn json_lines(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_start_tells_the_version_and_the_flags() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(dir.path());
    command
        .args([
            "--log-format",
            "json",
            "--limit",
            "keys=off,agents=1/2h",
            "--key-lifetime",
            "90d",
        ])
        .args(["--newsletter-webhook", "http://127.0.0.1:9/hunter2?token=1"])
        .env("LANDING_SERVICE_NAME", "Ada's");
    let program = Program::start(&mut command);
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0), "{log}");
    let lines = json_lines(&log);
    let start = lines
        .iter()
        .find(|line| line["message"] == "starting")
        .unwrap();
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    let flags = start["flags"].as_str().unwrap();
    for flag in [
        "--limit=keys=off,agents=1/2h",
        "--service-name=Ada's",
        "--newsletter-webhook=(hidden)",
        "--log-format=json",
        "--listen=127.0.0.1:0",
    ] {
        assert!(flags.contains(flag), "{flags}");
    }
    for absent in ["hunter2", "token", "key-lifetime", "log-level", "hsts"] {
        assert!(!flags.contains(absent), "{flags}");
    }
}

#[test]
fn a_failed_start_is_a_line_of_the_wanted_form() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Program::start(&mut command(dir.path()));
    let output = run(command(dir.path()).args(["--log-format", "json"]));
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&text(&output.stderr));
    let [last] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(last["level"], "ERROR");
    assert!(
        last["message"].as_str().unwrap().contains("in use"),
        "{last}"
    );
    let output = run(&mut command(dir.path()));
    let log = text(&output.stderr);
    assert!(log.lines().last().unwrap().starts_with("error: "), "{log}");
}
