//! `/metrics`, `/live` and `/ready`.

use http_body_util::BodyExt as _;
use landing_api::operator::exposition;

use crate::hung_disk::{hang, runtime, within};
use crate::prelude::*;

/// Status, media type and text of an answer.
type Told = (u16, String, String);

async fn ask(app: &TestApp, method: Method, path: &str, accept: &str) -> Option<Told> {
    let mut request = Request::builder().method(method).uri(path);
    if !accept.is_empty() {
        request = request.header("accept", accept);
    }
    let (head, ()) = request.body(()).unwrap().into_parts();
    let response = exposition::respond(&app.app, &head).await?;
    let (head, body) = response.into_parts();
    assert_eq!(head.headers["cache-control"], "no-store");
    let media_type = head.headers["content-type"].to_str().unwrap().to_owned();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Some((head.status.as_u16(), media_type, text))
}

async fn metrics(app: &TestApp, accept: &str) -> (String, String) {
    let (status, media_type, text) = ask(app, Method::GET, "/metrics", accept).await.unwrap();
    assert_eq!(status, 200);
    (media_type, text)
}

#[test]
fn a_disk_that_hangs_is_not_known_and_not_waited_for() {
    runtime().block_on(async {
        let app = TestApp::new();
        let _disk = hang();
        let asked = ask(&app, Method::GET, "/metrics", "");
        let (_, _, text) = within(Duration::from_secs(2), asked).await.unwrap();
        assert!(!text.contains("\nlanding_api_disk"), "{text}");
    });
}

fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name, value.parse().unwrap())
    });
    let lines: Vec<_> = samples.collect();
    let count = lines.len();
    let samples: BTreeMap<_, _> = lines.into_iter().collect();
    assert_eq!(samples.len(), count, "a sample came twice");
    samples
}

/// Samples after a look at the health, a sign-up, one that is refused, and a commit of 4 ms.
const COUNTED: &str = r#"
landing_api_requests_total{endpoint="health",status="2xx"} 1
landing_api_requests_total{endpoint="newsletter.subscribe",status="4xx"} 1
landing_api_requests_total{endpoint="unknown",status="none"} 0
landing_api_charges_total{policy="newsletter",decision="refused"} 1
landing_api_charges_total{policy="ip",decision="admitted"} 3
landing_api_sign_ups_total 1
landing_api_keys_issued_total 0
landing_api_chat_turns_total{outcome="answered"} 0
landing_api_chat_turns_total{outcome="unanswered"} 0
landing_api_model_available 1
landing_api_store_available 1
landing_api_ledger_commit_duration_seconds_bucket{le="0.00005"} 0
landing_api_ledger_commit_duration_seconds_bucket{le="0.0001"} 0
landing_api_ledger_commit_duration_seconds_bucket{le="0.00025"} 0
landing_api_ledger_commit_duration_seconds_bucket{le="0.0025"} 0
landing_api_ledger_commit_duration_seconds_bucket{le="0.005"} 1
landing_api_ledger_commit_duration_seconds_bucket{le="+Inf"} 1
landing_api_ledger_commit_duration_seconds_sum 0.004
landing_api_ledger_changes_total 3
landing_api_request_duration_seconds_count{endpoint="health"} 1
landing_api_build_info{version="0.1.0"} 1
"#;

#[tokio::test]
async fn numbers_are_those_that_were_counted() {
    let app = Setup::default().limit("newsletter", "1/60s").start();
    app.send(Call::health()).await;
    for _ in 0..2 {
        app.send(Call::sign_up("ada@example.com")).await;
    }
    app.metrics.ledger.changes.add(3);
    let commits = &app.metrics.ledger.durations;
    commits.record(Duration::from_millis(4));
    let (_, text) = metrics(&app, "").await;
    let samples = samples(&text);
    for line in COUNTED.trim().lines() {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        assert_eq!(samples.get(name), Some(&value), "{name}");
    }
    for name in ["resident_memory_bytes", "start_time_seconds", "open_fds"] {
        assert!(samples[&*format!("process_{name}")] > 0.0, "{name}");
    }
    assert!(!text.contains("ada") && !text.contains("192.0.2"), "{text}");
}

/// Else whoever signs an address up and reads the numbers learns whether it is a contact.
#[tokio::test]
async fn a_known_address_changes_the_numbers_as_a_new_one_does() {
    let app = TestApp::new();
    app.send(Call::sign_up("ada@example.com")).await;
    let grown = async |sign_up: Call, ledger_bytes| {
        let (_, before) = metrics(&app, "").await;
        app.expect("200", sign_up).await;
        // As long as the lines of both.
        *app.metrics.ledger.bytes.lock() = Some(ledger_bytes);
        let (_, after) = metrics(&app, "").await;
        let (before, after) = (samples(&before), samples(&after));
        let names = after.keys().filter(|name| !name.contains("_duration_"));
        let own = names.filter(|name| name.starts_with("landing_api_"));
        let grown = own.map(|name| ((*name).to_owned(), after[name] - before[name]));
        grown.filter(|(_, by)| *by != 0.0).collect::<Vec<_>>()
    };
    *app.metrics.ledger.bytes.lock() = Some(1000);
    let new = grown(Call::sign_up("bob@example.com").from("198.51.100.7"), 1120).await;
    assert!(new.contains(&("landing_api_sign_ups_total".to_owned(), 1.0)));
    let known = grown(Call::sign_up("ada@example.com").from("203.0.113.9"), 1275).await;
    assert_eq!(known, new);
}

#[tokio::test]
async fn the_format_is_the_one_that_every_scraper_reads() {
    let app = TestApp::new();
    let newer = "application/openmetrics-text;version=1.0.0,*/*;q=0.1";
    for accept in ["", "text/html", newer] {
        let (media_type, text) = metrics(&app, accept).await;
        assert_eq!(media_type, "text/plain; version=0.0.4; charset=utf-8");
        assert_present(&text, &["# TYPE landing_api_requests_total counter\n"]);
    }
}

/// Each family has a help and a type before its samples, which stand together.
#[tokio::test]
async fn families_are_whole() {
    let app = TestApp::new();
    let (_, text) = metrics(&app, "").await;
    let (mut seen, mut family) = (BTreeSet::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.ends_with('.'), "{line}");
            assert!(seen.insert(name.to_owned()), "{name} came twice");
            name.clone_into(&mut family);
            let kind = lines.next().unwrap();
            assert!(kind.starts_with(&format!("# TYPE {name} ")), "{kind}");
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap();
        let suffix = name.strip_prefix(family.as_str());
        let suffixes = ["", "_sum", "_count", "_bucket"].map(Some);
        assert!(suffixes.contains(&suffix), "{line}");
        assert!(!line.contains("{}"), "{line}");
    }
}

#[tokio::test]
async fn readiness_follows_the_stores_and_the_stop() {
    let app = TestApp::new();
    let status = async |path| ask(&app, Method::GET, path, "").await.unwrap().0;
    assert_eq!((status("/live").await, status("/ready").await), (200, 200));
    let failure = StoreError::Unavailable("the secret cause".to_owned());
    app.keys.fail_with(Some(failure.clone()));
    assert_eq!((status("/live").await, status("/ready").await), (200, 503));
    let (_, text) = metrics(&app, "").await;
    assert!(text.contains("\nlanding_api_store_available 0\n"));
    app.keys.fail_with(None);
    app.contacts.fail_with(Some(failure));
    assert_eq!(status("/ready").await, 503);
    // Counted here, not in the store.
    let (_, text) = metrics(&app, "").await;
    let sample = r#"landing_api_delivery_attempts_total{channel="mail",outcome="made"}"#;
    assert_eq!(samples(&text)[sample], 0.0);
    assert!(!text.contains("\nlanding_api_deliveries_"), "{text}");
    app.contacts.fail_with(None);
    assert_eq!(status("/ready").await, 200);
    app.metrics.stopping.cancel();
    assert_eq!((status("/live").await, status("/ready").await), (200, 503));
    let (_, _, text) = ask(&app, Method::GET, "/ready", "").await.unwrap();
    assert_eq!(text, "stopping\n");
}

#[tokio::test]
async fn other_paths_and_methods_are_not_answered() {
    let app = TestApp::new();
    for path in ["/", "/metrics/", "/Metrics", "/healthz", "/ready/x"] {
        assert_eq!(ask(&app, Method::GET, path, "").await, None, "{path}");
    }
    for path in ["/metrics", "/live", "/ready"] {
        assert_eq!(ask(&app, Method::POST, path, "").await, None, "{path}");
        assert!(ask(&app, Method::HEAD, path, "").await.is_some(), "{path}");
    }
}

fn admin_address(data_dir: &Path) -> String {
    let link = commands::run("admin link --json", data_dir).json();
    let url = link["url"].as_str().unwrap();
    url.split('/').nth(2).unwrap().to_owned()
}

#[test]
fn the_program_serves_them_to_the_operator_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(&dir.path().join("data"));
    let program = Program::start(command.arg("--admin-listen=127.0.0.1:0"));
    for path in ["/metrics", "/live", "/ready"] {
        assert_eq!(program.send("GET", path, "", "").0, 404, "{path}");
    }
    let address = admin_address(&dir.path().join("data"));
    let head = "Host: localhost\r\nConnection: close";
    let ask = |path| exchange(&address, &format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n"));
    assert!(ask("/live").starts_with("HTTP/1.1 200 "));
    assert!(ask("/ready").ends_with("ready\n"));
    let answer = ask("/metrics");
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.filter_map(|line| line.split(' ').next());
    let own = names.filter(|name| name.starts_with("landing_api_"));
    let own: BTreeSet<_> = own.map(str::to_owned).collect();
    assert_eq!(crate::handbook::metrics(), own);
    let samples = samples(text);
    for name in ["disk_free_bytes", "ledger_bytes", "limiter_windows"] {
        assert!(samples[&*format!("landing_api_{name}")] > 0.0, "{name}");
    }
    let unknown = r#"landing_api_requests_total{endpoint="unknown",status="4xx"}"#;
    assert_eq!(samples[unknown], 3.0);
    check_watched(text);
}

/// The dashboard and the alerts name metrics, labels and values that are in `text`. What a program without
/// TLS has no samples of is declared there.
fn check_watched(text: &str) {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/deploy");
    let mut found = 0;
    for file in ["alerts.yml", "grafana-dashboard.json"] {
        let watched = fs::read_to_string(deploy.join(file)).unwrap();
        for name in watched.split(|c| !word(c)) {
            if name.starts_with("landing_api_") || name.starts_with("process_") {
                found += 1;
                let mut lines = text.lines();
                let exists = lines.any(|line| {
                    let line = line.strip_prefix("# TYPE ").unwrap_or(line);
                    line.split(['{', ' ']).next() == Some(name)
                });
                assert!(exists, "{file}: {name}");
            }
        }
        // Exact matches, such as `status="5xx"`, escaped in JSON.
        for part in watched.replace('\\', "").split('{').skip(1) {
            let matchers = part.split('}').next().unwrap().split(',');
            for matcher in matchers.filter(|it| it.contains("=\"") && !it.starts_with("job=")) {
                assert!(text.contains(matcher), "{file}: {matcher}");
            }
        }
    }
    assert!(found > 20, "{found}");
    let dashboard = fs::read(deploy.join("grafana-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_slice(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 10);
}
