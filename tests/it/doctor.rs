//! `check` and `doctor`: what is wrong is named, and nothing is changed.

use std::fs::write;
use std::net::TcpListener;

use crate::openai::upstream::{Script, Upstream};
use crate::prelude::*;

/// Runs it, which ends with this status. Returns the lines.
fn examine(name: &str, data_dir: &Path, flags: &[&str], status: i32) -> Vec<String> {
    let ran = Ran::of(commands::command(name, data_dir).args(flags));
    assert_eq!(ran.status, Some(status), "{ran:?}");
    ran.out.lines().map(str::to_owned).collect()
}

/// The one line about `subject`, which begins with `verdict` and contains `told`.
fn check_line(lines: &[String], verdict: &str, subject: &str, told: &str) {
    let subject = format!("  {subject}: ");
    let mut about = lines.iter().filter(|line| line.contains(&subject));
    let (Some(line), None) = (about.next(), about.next()) else {
        panic!("{subject}: {lines:?}");
    };
    let is_told = line.starts_with(verdict) && line.contains(told);
    assert!(is_told, "{verdict} {told}: {line}");
}

#[test]
fn check_finds_nothing_wrong_with_good_flags_and_starts_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    let check = |address: &str| examine("check", &data_dir, &["--listen", address], 0);
    let lines = check("127.0.0.1:0");
    let is_ok = |line: &String| line.starts_with("ok ");
    assert!(lines.iter().all(is_ok), "{lines:?}");
    check_line(&lines, "ok", "data directory", "does not exist");
    assert!(!data_dir.exists());
    // Made by a start.
    let program = Program::on(&data_dir);
    check_line(&check(&program.address), "ok", "address", "is in use, and");
    drop(program);
    check_line(&check("127.0.0.1:0"), "ok", "data directory", "readable");
}

#[test]
fn check_names_everything_that_is_wrong_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    set_permissions(&data_dir, Permissions::from_mode(0o755)).unwrap();
    let exposed = parent.path().join("exposed");
    write(&exposed, "sk-s3cret").unwrap();
    set_permissions(&exposed, Permissions::from_mode(0o644)).unwrap();
    let site = parent.path().join("site");
    fs::create_dir(&site).unwrap();
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
    let lines = examine("check", &data_dir, &flags, 2);
    check_line(&lines, "failed", "model", "chmod 600");
    check_line(&lines, "failed", "sign-ups", "/missing");
    check_line(&lines, "ok", "data directory", "it is empty");
    check_line(&lines, "warning", "address", &taken);
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");

    let site = site.to_str().unwrap();
    let lines = examine("check", &data_dir, &["--site-dir", site], 2);
    check_line(&lines, "failed", "site", "about.md");
    commands::run("check --limit x=1/1h", &data_dir).refused(2, "--limit");
    let none = fs::read_dir(&data_dir).unwrap().next();
    assert!(none.is_none(), "the data directory is as it was");
}

#[test]
fn doctor_says_that_no_service_runs() {
    let house = House::stopped();
    let lines = examine("doctor", &house.path, &[], 0);
    check_line(&lines, "warning", "service", "start it");
}

#[test]
fn doctor_knows_its_service_from_another_behind_the_base_url() {
    let (data_dir, program) = Program::fresh(&[]);
    let (_other_dir, other) = Program::fresh(&[]);
    let with_base = |base: &str, status| {
        let base = format!("http://{base}");
        let flags = ["--listen", &program.address, "--base-url", &base];
        examine("doctor", data_dir.path(), &flags, status)
    };
    let lines = with_base(&program.address, 0);
    check_line(&lines, "ok", "service", "is running");
    check_line(&lines, "note", "base URL", "on this machine only");
    // There is no proxy between, so both requests count as one client's.
    check_line(&lines, "note", "proxy", "none");
    // Another way to the same listener, which does not look like one on this machine.
    let lines = with_base(&program.address.replace("127.0.0.1", "0.0.0.0"), 0);
    check_line(&lines, "warning", "base URL", "unencrypted");
    check_line(&lines, "warning", "proxy", "--trusted-proxy");

    let lines = with_base(&other.address, 1);
    check_line(&lines, "failed", "proxy", "another process");
    let gone = other.address.clone();
    drop(other);
    let told = "check DNS, firewall and proxy";
    check_line(&with_base(&gone, 1), "failed", "base URL", told);
}

#[test]
fn doctor_takes_the_flags_of_the_running_service_unless_it_is_given_some() {
    let dir = private_dir();
    let mut service = command(dir.path());
    let service = service.args(["--service-name", "Its name", "--log-level", "info"]);
    // A path that begins where the service was started.
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("pages")).unwrap();
    write(home.path().join("pages/about.md"), "# About\n\nUs.\n").unwrap();
    let service = service.args(["--site-dir", "pages"]).current_dir(&home);
    let hook = format!("http://{}/s3cret", closed_address());
    let _service = Program::start(service.env("LANDING_NEWSLETTER_WEBHOOK", &hook));
    let lines = examine("doctor", dir.path(), &[], 1);
    check_line(&lines, "ok", "flags", "the running service's flags");
    let told = "cannot connect: Connection refused (os error 111)";
    check_line(&lines, "failed", "webhook", told);
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");
    check_line(&lines, "ok", "site", "pages are valid");
    let lines = examine("check", dir.path(), &[], 0);
    check_line(&lines, "ok", "flags", "the running service's flags");
    check_line(&lines, "ok", "sign-ups", "is notified");
    let mut json = commands::command("doctor --json", dir.path());
    assert!(Ran::of(&mut json).out.starts_with("{\"verdict\":"));
    let lines = examine("doctor", dir.path(), &["--service-name", "Mine"], 0);
    check_line(&lines, "ok", "flags", "this command's flags");
    check_line(&lines, "ok", "webhook", "none");
}

#[test]
fn doctor_finds_out_that_addresses_can_be_forged() {
    // What a proxy that passes on what clients write looks like.
    let (data_dir, program) = Program::fresh(&["--trusted-proxy", "127.0.0.1"]);
    let base = format!("http://{}", program.address);
    let flags = ["--listen", &program.address, "--base-url", &base];
    let lines = examine("doctor", data_dir.path(), &flags, 1);
    check_line(&lines, "failed", "proxy", "can forge");
}

#[tokio::test]
async fn doctor_asks_the_model_and_reaches_the_webhook_without_posting() {
    let data_dir = tempfile::tempdir().unwrap();
    let upstream = Upstream::start([Script::saying("It sells bicycles.")]).await;
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = format!("http://{}/s3cret", provider.local_addr().unwrap());
    let mut doctor = commands::command("doctor --json --model m", data_dir.path());
    doctor
        .args(["--model-url", &upstream.base_url()])
        .args(["--newsletter-webhook", &hook]);
    let ran = tokio::task::spawn_blocking(move || Ran::of(&mut doctor));
    let ran = ran.await.unwrap();
    assert!(!ran.out.contains("s3cret"), "{ran:?}");
    let findings = ran.json_lines();
    assert_eq!(upstream.requests().len(), 1);
    let about = |subject: &str| findings.iter().find(|it| it["subject"] == subject).unwrap();
    assert_eq!(about("model")["verdict"], "ok");
    let text = about("model")["text"].as_str().unwrap();
    assert!(text.contains("18 characters"), "{text}");
    assert_eq!(about("webhook")["verdict"], "ok");
    provider.set_nonblocking(true).unwrap();
    let (mut connection, _) = provider.accept().unwrap();
    let mut sent = String::new();
    std::io::Read::read_to_string(&mut connection, &mut sent).unwrap();
    assert_eq!(sent, "", "nothing was posted");
}
