//! What the log tells of requests, of the start, and of failures.

use landing_api::ports::{BlockList as _, LimiterError};

use crate::prelude::*;
use crate::program::json_lines;

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
    let secret_method = Method::from_bytes(b"SECRET").unwrap();
    let health = "/api/v1/health";
    for (call, method, route) in [
        (Call::get("/api/v1/health?secret=1"), "GET", Some(health)),
        (Call::new(Method::HEAD, health), "HEAD", Some(health)),
        (alias, "POST", Some("/api/newsletter")),
        (Call::get("/?secret=1"), "GET", Some("/")),
        (Call::get("/favicon.ico"), "GET", Some("/favicon.ico")),
        (Call::new(Method::PUT, "/docs"), "PUT", None),
        (Call::get("/secret/path"), "GET", None),
        (Call::new(Method::PUT, health), "PUT", None),
        (Call::new(secret_method, "/"), "other", None),
    ] {
        let log = log_of(&app, call).await;
        assert_eq!(field(&log, "method"), Some(method), "{log}");
        assert_eq!(field(&log, "route"), route, "{log}");
        for personal in ["secret", "SECRET", "ada", "192.0.2"] {
            assert!(!log.contains(personal), "{log}");
        }
    }
}

/// Those that are free, not served, refused by a limit or of a blocked network. All others have a line each.
#[tokio::test(start_paused = true)]
async fn requests_that_no_policy_limits_have_a_thousand_lines_a_second() {
    let app = Setup::default().limit("default", "100/1h").start();
    let blocked = app.blocks.add(network("203.0.113.0/24"), NOW);
    assert_eq!(blocked.await, Ok(true));
    let requests = async {
        for (further, call) in [
            (100, Call::get("/livez")),
            (20, Call::preflight("/api/v1/keys", "https://a.example")),
            (70, Call::health()),
            (0, Call::get("/docs").from("203.0.113.7")),
        ] {
            let address = format!("198.51.100.{further}");
            let unknown = Call::get("/nothing").from(&format!("192.0.2.{further}"));
            let paid = Call::health().from(&address);
            let call = if further > 0 {
                call.from(&address)
            } else {
                call
            };
            for (count, call) in [(100, paid), (100, unknown), (900 + further, call)] {
                for _ in 0..count {
                    app.send(call.clone()).await;
                }
            }
            advance(Duration::from_secs(1)).await;
        }
    };
    let ((), log) = logged_async(requests).await;
    for (part, count) in [
        (": request ", 4400),
        ("code=\"not_found\"", 400),
        ("code=\"rate_limited\"", 900),
        ("code=\"network_blocked\"", 900),
        ("203.0.113", 0),
    ] {
        assert_eq!(log.matches(part).count(), count, "{part}");
    }
    for further in [100, 20, 70] {
        let told = format!("further requests were refused, free or not served count={further}\n");
        assert!(log.contains(&told), "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_store_has_as_many_and_a_fault_with_a_cause_has_its_line() {
    let setup = Setup::with_model(Arc::new(PanickingModelClient));
    let setup = setup.limit("ip", "2000/60s").limit("default", "2000/60s");
    let app = setup.start();
    let full = StoreError::Full("no room".to_owned());
    app.contacts.fail_with(Some(full));
    let requests = async {
        for _ in 0..1100 {
            app.expect("503", Call::health()).await;
        }
        app.expect("500", Call::chat()).await;
        advance(Duration::from_secs(1)).await;
        app.expect("503", Call::health()).await;
    };
    let ((), log) = logged_async(requests).await;
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    assert_eq!(count("code=\"store_unavailable\""), 1001);
    assert_eq!(count("code=\"internal_error\""), 1);
    assert_eq!(count("not served count=100"), 1, "{log}");
}

#[tokio::test]
async fn whatever_fails_no_line_names_whom_it_was_for() {
    let app = TestApp::new();
    let failure = StoreError::Unavailable("disk on fire".to_owned());
    app.contacts.fail_with(Some(failure));
    let limiter = FaultyRateLimiter::new(|call| match call {
        "refund" => Err(LimiterError("away".to_owned())),
        _ => Ok(()),
    });
    let limited = Setup::with_limiter(Arc::new(limiter)).start();
    limited.contacts.fail_with(Some(StoreError::Overloaded));
    let refuser = ScriptedWebhookSender::default();
    refuser.fail_with([failed("refused")]);
    let passing_on = Setup::with_provider(Arc::new(refuser)).start();
    for app in [app, limited, passing_on] {
        // The log is searched for addresses when it ends.
        let log = log_of(&app, Call::sign_up("ada@example.com")).await;
        assert!(log.contains("status=503"), "{log}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_set_up_is_warned_of_once_and_in_the_right_words() {
    const TRUST: &str = "list its network in --trusted-proxy";
    const CONFIGURE: &str = "have the proxy send X-Forwarded-For";
    let (health, docs) = ("/api/v1/health", "/docs");
    let forwarded = ("x-forwarded-for", "198.51.100.7");
    let other = ("forwarded", "for=198.51.100.8");
    let real = ("x-real-ip", "198.51.100.7");
    let trusted = &["127.0.0.0/8"][..];
    for (trusted_proxies, path, headers, warned) in [
        (&[][..], health, &[forwarded][..], Some(TRUST)),
        (&[], health, &[], None),
        (trusted, health, &[forwarded], None),
        (trusted, health, &[real], Some(CONFIGURE)),
        (trusted, health, &[forwarded, other], None),
        (trusted, docs, &[], Some(CONFIGURE)),
        (trusted, health, &[], None),
    ] {
        let app = Setup::default().behind(trusted_proxies).start();
        let call = Call::get(path).from("127.0.0.1");
        let with = |call: Call, (name, value): &(&str, &str)| call.header(name, value);
        let call = headers.iter().fold(call, with);
        let requests = async {
            for _ in 0..3 {
                app.send(call.clone()).await;
            }
        };
        let ((), log) = logged_async(requests).await;
        for text in [TRUST, CONFIGURE] {
            let times = usize::from(warned == Some(text));
            assert_eq!(log.matches(text).count(), times, "{headers:?}: {log}");
        }
        assert!(!log.contains("198.51") && !log.contains("127.0"), "{log}");
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

/// The log of one event, which names it by this id.
fn check_event(log: &str, event: &str, id: &str) {
    for part in [event, id] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[tokio::test]
async fn keys_and_agents_are_logged_by_their_public_names() {
    let app = TestApp::new();
    let revoke = async |token: &str| {
        let form = format!("token={token}");
        let log = log_of(&app, Call::form("/agent/auth/revoke", form)).await;
        assert!(!log.contains(&token[12..]), "{log}");
        log
    };
    let issue = app.send(Call::post("/api/v1/keys", "{}"));
    let (reply, log) = logged_async(issue).await;
    let key = reply.json()["api_key"].as_str().unwrap().to_owned();
    let id = format!("key.id=\"{}\"", &key[4..12]);
    check_event(&log, "a key was issued", &id);
    check_event(&revoke(&key).await, "a key was revoked", &id);
    let log = revoke(&key).await;
    assert!(!log.contains("revoked"), "once: {log}");

    let register = Call::post("/agent/auth", json!({"type": "anonymous"}).to_string());
    let (reply, log) = logged_async(app.send(register)).await;
    let agent = reply.json();
    let id = format!("agent.client_id={}", agent["client_id"]);
    check_event(&log, "an agent registered", &id);
    let token = agent["access_token"].as_str().unwrap();
    check_event(&revoke(token).await, "an agent was revoked", &id);
}

#[test]
fn a_start_tells_the_version_and_the_flags() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(dir.path());
    command
        .args(["--log-format", "json", "--hsts", "365d"])
        .args(["--limit", "keys=off,agents=1/2h"])
        .args(["--newsletter-webhook", "http://127.0.0.1:9/hunter2?token=1"])
        .env("LANDING_SERVICE_NAME", "Ada's");
    let log = Program::start(&mut command).stopped();
    let lines = json_lines(&log);
    let mut starts = lines.iter().filter(|line| line["message"] == "starting");
    let start = starts.next().unwrap();
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    let flags = start["flags"].as_str().unwrap();
    let limits = "--limit=keys=off --limit=agents=1/2h";
    let others = "--newsletter-webhook=(hidden) --log-format=json --listen=127.0.0.1:0";
    let others = others.split(' ').chain(["--service-name=Ada's", limits]);
    for flag in others {
        assert!(flags.contains(flag), "{flag}: {flags}");
    }
    for absent in ["hunter2", "token", "log-level", "hsts"] {
        assert!(!flags.contains(absent), "{flags}");
    }
}

#[test]
fn a_failed_start_is_a_line_of_the_wanted_form() {
    let (dir, _first) = Program::fresh(&[]);
    let ran = Ran::of(command(dir.path()).args(["--log-format", "json"]));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let [line] = <[Value; 1]>::try_from(json_lines(&ran.err)).unwrap();
    assert_eq!(line["level"], "ERROR");
    let message = line["message"].as_str().unwrap();
    assert!(message.contains("in use"), "{line}");
}
