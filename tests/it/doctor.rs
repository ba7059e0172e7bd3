//! `check` and `doctor`: what is wrong is named, and nothing is changed.

use std::fs::{Permissions, set_permissions, write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use landing_api::adapters::inspection::inspect;
use serde_json::Value;

use crate::commands;
use crate::openai::upstream::{Script, Upstream};
use crate::program::{Program, command, run, text};

/// Runs it. Returns the exit status and the lines.
fn examine(name: &str, data_dir: &Path, flags: &[&str]) -> (Option<i32>, Vec<String>) {
    let output = run(commands::command(&[name], data_dir).args(flags));
    let lines = text(&output.stdout);
    (
        output.status.code(),
        lines.lines().map(str::to_owned).collect(),
    )
}

/// The one line about `subject`, which begins with `verdict` and contains `told`.
fn check_line(lines: &[String], verdict: &str, subject: &str, told: &str) {
    let about: Vec<_> = lines
        .iter()
        .filter(|line| line.contains(&format!("  {subject}: ")))
        .collect();
    assert_eq!(about.len(), 1, "{subject}: {lines:?}");
    assert!(
        about[0].starts_with(verdict) && about[0].contains(told),
        "{lines:?}"
    );
}

#[test]
fn check_finds_nothing_wrong_with_good_flags_and_starts_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    let (status, lines) = examine("check", &data_dir, &["--listen", "127.0.0.1:0"]);
    assert_eq!(status, Some(0), "{lines:?}");
    assert!(
        lines.iter().all(|line| line.starts_with("ok ")),
        "{lines:?}"
    );
    check_line(&lines, "ok", "data directory", "does not exist");
    assert!(!data_dir.exists());
    // Made by a start.
    let program = Program::start(&mut command(&data_dir));
    let (status, lines) = examine("check", &data_dir, &["--listen", &program.address]);
    assert_eq!(status, Some(0), "{lines:?}");
    check_line(&lines, "ok", "address", "a service runs");
    drop(program);
    let (status, lines) = examine("check", &data_dir, &["--listen", "127.0.0.1:0"]);
    assert_eq!(status, Some(0), "{lines:?}");
    check_line(&lines, "ok", "data directory", "can be read");
}

#[test]
fn a_file_of_another_user_is_named() {
    // Nobody else can give files away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
    let lost = dir.path().join("lost+found");
    let ledger = dir.path().join("ledger.jsonl");
    for (file, verdict, told) in [(lost, "ok", "is private"), (ledger, "failed", "chown -R 0")] {
        write(&file, "").unwrap();
        chown(&file, Some(1), None).unwrap();
        let (_, lines) = examine("check", dir.path(), &["--listen", "127.0.0.1:0"]);
        check_line(&lines, verdict, "data directory", told);
    }
}

#[test]
fn check_names_everything_that_is_wrong_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    std::fs::create_dir(&data_dir).unwrap();
    set_permissions(&data_dir, Permissions::from_mode(0o755)).unwrap();
    let exposed = parent.path().join("exposed");
    write(&exposed, "sk-s3cret").unwrap();
    set_permissions(&exposed, Permissions::from_mode(0o644)).unwrap();
    let site = parent.path().join("site");
    std::fs::create_dir(&site).unwrap();
    write(site.join("about.md"), "no title").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let exposed = exposed.to_str().unwrap();
    let model = ["--model", "m", "--model-url", "http://127.0.0.1:9/v1"];
    let webhook = ["--newsletter-webhook", "http://127.0.0.1:9/"];
    let flags = [
        &model[..],
        &webhook,
        &["--model-key-file", exposed],
        &["--newsletter-webhook-secret-file", "/missing"],
        &["--listen", &taken],
    ]
    .concat();
    let (status, lines) = examine("check", &data_dir, &flags);
    assert_eq!(status, Some(2), "{lines:?}");
    check_line(&lines, "failed", "model", "chmod 600");
    check_line(&lines, "failed", "sign-ups", "/missing");
    check_line(&lines, "warning", "data directory", "chmod 700");
    check_line(&lines, "warning", "address", &taken);
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");

    let site = site.to_str().unwrap();
    let (status, lines) = examine("check", &data_dir, &["--site-dir", site]);
    assert_eq!(status, Some(2), "{lines:?}");
    check_line(&lines, "failed", "site", "about.md");
    let output = run(&mut commands::command(
        &["check", "--limit", "x=1/1h"],
        &data_dir,
    ));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--limit"));
    let none = std::fs::read_dir(&data_dir).unwrap().next();
    assert!(none.is_none(), "the data directory is as it was");
}

#[test]
fn a_file_that_goes_meanwhile_is_nothing_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.jsonl.new");
    let is_over = AtomicBool::new(false);
    let failed = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                write(&file, "").unwrap();
                std::fs::remove_file(&file).unwrap();
            }
        });
        let failed = (0..10_000).find_map(|_| inspect(dir.path()).err());
        is_over.store(true, Relaxed);
        failed
    });
    assert!(failed.is_none(), "{failed:?}");
}

#[test]
fn a_ledger_from_the_future_shows_that_the_clock_is_wrong() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    drop(Program::start(&mut command(&data_dir)));
    let (_, lines) = examine("doctor", &data_dir, &[]);
    check_line(&lines, "ok", "clock", "");
    check_line(&lines, "ok", "disk", "MiB");
    check_line(&lines, "warning", "service", "start it");
    let ledger = std::fs::File::options()
        .append(true)
        .open(data_dir.join("ledger.jsonl"))
        .unwrap();
    let written = ledger.metadata().unwrap().modified().unwrap();
    let later = written + std::time::Duration::from_secs(3600);
    ledger.set_modified(later).unwrap();
    let (status, lines) = examine("doctor", &data_dir, &[]);
    assert_eq!(status, Some(1), "{lines:?}");
    check_line(&lines, "failed", "clock", "behind the newest event");
}

#[test]
fn doctor_knows_its_service_from_another_behind_the_base_url() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    let program = Program::start(&mut command(&data_dir));
    let other = Program::start(&mut command(&parent.path().join("other")));
    let flags = |base: &str| {
        let base = format!("http://{base}");
        examine(
            "doctor",
            &data_dir,
            &["--listen", &program.address, "--base-url", &base],
        )
    };
    let (status, lines) = flags(&program.address);
    assert_eq!(status, Some(0), "{lines:?}");
    check_line(&lines, "ok", "service", "runs");
    check_line(&lines, "ok", "base URL", "reaches this service");
    check_line(&lines, "warning", "https", "in the open");
    // There is no proxy between, so both requests count as one client's.
    check_line(&lines, "warning", "proxy", "--trusted-proxy");

    let (status, lines) = flags(&other.address);
    assert_eq!(status, Some(1), "{lines:?}");
    check_line(&lines, "failed", "base URL", "another process");
    let gone = other.address.clone();
    drop(other);
    let (status, lines) = flags(&gone);
    assert_eq!(status, Some(1), "{lines:?}");
    check_line(
        &lines,
        "failed",
        "base URL",
        "check DNS, firewall and proxy",
    );
}

#[test]
fn doctor_finds_out_that_addresses_can_be_forged() {
    let data_dir = tempfile::tempdir().unwrap();
    set_permissions(data_dir.path(), Permissions::from_mode(0o700)).unwrap();
    // What a proxy that passes on what clients write looks like.
    let trusting = ["--trusted-proxy", "127.0.0.1"];
    let program = Program::start(command(data_dir.path()).args(trusting));
    let base = format!("http://{}", program.address);
    let flags = ["--listen", &program.address, "--base-url", &base];
    let (status, lines) = examine("doctor", data_dir.path(), &flags);
    assert_eq!(status, Some(1), "{lines:?}");
    check_line(&lines, "failed", "proxy", "is believed");
}

#[tokio::test]
async fn doctor_asks_the_model_and_reaches_the_webhook_without_posting() {
    let data_dir = tempfile::tempdir().unwrap();
    let upstream = Upstream::start([Script::saying("It sells bicycles.")]).await;
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = format!("http://{}/s3cret", provider.local_addr().unwrap());
    let flags = [
        "--model",
        "m",
        "--model-url",
        &upstream.base_url(),
        "--newsletter-webhook",
        &hook,
        "--json",
    ]
    .map(str::to_owned);
    let path = data_dir.path().to_owned();
    let (status, lines) = tokio::task::spawn_blocking(move || {
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        examine("doctor", &path, &flags)
    })
    .await
    .unwrap();
    assert_eq!(status, Some(0), "{lines:?}");
    assert_eq!(upstream.asked().len(), 1);
    let findings: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let about = |subject: &str| findings.iter().find(|it| it["subject"] == subject).unwrap();
    assert_eq!(about("model")["verdict"], "ok");
    assert!(
        about("model")["text"]
            .as_str()
            .unwrap()
            .contains("18 characters")
    );
    assert_eq!(about("webhook")["verdict"], "ok");
    provider.set_nonblocking(true).unwrap();
    let (mut connection, _) = provider.accept().unwrap();
    let mut sent = String::new();
    std::io::Read::read_to_string(&mut connection, &mut sent).unwrap();
    assert_eq!(sent, "", "nothing was posted");
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");
}
