//! `landing-api contacts`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::{Ran, alike, feed, private_dir, run};
use crate::program::{Program, command};

/// Runs `check` beside a running service, and again on the stopped directory.
fn running_and_stopped(check: impl Fn(&Path)) {
    let dir = tempdir().unwrap();
    let service = Program::start(&mut command(&dir.path().join("running")));
    check(&dir.path().join("running"));
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let stopped = dir.path().join("stopped");
    let service = Program::start(&mut command(&stopped));
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    check(&stopped);
}

/// A directory with two contacts, and its service.
fn with_two() -> (TempDir, Program) {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    service.sign_up("ada@example.com");
    service.sign_up("=bob@example.com");
    (dir, service)
}

#[test]
fn a_contact_is_shown() {
    let (dir, service) = with_two();
    let ran = alike(
        dir.path(),
        service,
        &[
            &["contacts", "show", "ada@example.com", "--json"],
            &["contacts", "show", "ada@example.com"],
            &["contacts", "show", "eve@example.com"],
        ],
    );
    let contact = ran[0].json();
    assert_eq!(contact["email"], json!("ada@example.com"));
    assert_eq!(contact["subscribed_at"], contact["last_seen_at"]);
    assert!(
        ran[1].out.starts_with("Address    ada@example.com\n"),
        "{ran:?}"
    );
    assert_eq!(ran[2].status, Some(1));
    assert_eq!(ran[2].err, "error: no contact has this address\n");
}

#[test]
fn contacts_are_listed_and_counted() {
    let (dir, service) = with_two();
    let ran = alike(
        dir.path(),
        service,
        &[
            &["contacts", "list"],
            &["contacts", "list", "--json"],
            &["contacts", "list", "--since", "2100-01-01"],
            &["contacts", "count"],
            &["contacts", "count", "--json"],
            &["contacts", "count", "--until", "2020-01-01"],
            &[
                "contacts",
                "count",
                "--since",
                "2020-01-01",
                "--until",
                "2100-01-01T00:00:00Z",
            ],
        ],
    );
    let lines: Vec<_> = ran[0].out.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0],
        "Signed up (UTC)      Last seen            Address"
    );
    assert!(lines[1].ends_with("  ada@example.com"), "{lines:?}");
    assert!(lines[2].ends_with("  =bob@example.com"), "{lines:?}");
    let rows: Vec<Value> = ran[1]
        .out
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let emails: Vec<_> = rows
        .iter()
        .map(|row| row["email"].as_str().unwrap())
        .collect();
    assert_eq!(emails, ["ada@example.com", "=bob@example.com"]);
    assert_eq!(ran[2].out.lines().count(), 1);
    assert_eq!(ran[3].out, "2\n");
    assert_eq!(ran[4].json(), json!({"contacts": 2}));
    assert_eq!(ran[5].out, "0\n");
    assert_eq!(ran[6].out, "2\n");
}

#[test]
fn exports_are_private_and_replace_nothing_unless_told() {
    let (dir, service) = with_two();
    let csv = dir.path().join("out.csv");
    let jsonl = dir.path().join("out.jsonl");
    let [csv_name, jsonl_name] = [&csv, &jsonl].map(|path| path.to_str().unwrap());
    let ran = run(&["contacts", "export", "-o", csv_name], dir.path());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(ran.err, format!("note: 2 contacts are in {csv_name}\n"));
    assert_eq!(
        fs::metadata(&csv).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = fs::read_to_string(&csv).unwrap();
    assert!(
        text.starts_with("email,subscribed_at,last_seen_at\r\nada@example.com,20"),
        "{text}"
    );
    assert!(text.contains("\r\n'=bob@example.com,20"), "{text}");
    assert!(text.ends_with("Z\r\n"), "{text}");
    let refused = run(&["contacts", "export", "-o", csv_name], dir.path());
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("--force"), "{refused:?}");
    let directory = dir.path().to_str().unwrap();
    let refused = run(
        &["contacts", "export", "--force", "-o", directory],
        dir.path(),
    );
    assert!(refused.err.contains("is no regular file"), "{refused:?}");
    let ran = run(
        &["contacts", "export", "-o", csv_name, "--force"],
        dir.path(),
    );
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let ran = run(&["contacts", "export", "-o", jsonl_name], dir.path());
    assert_eq!(ran.err, format!("note: 2 contacts are in {jsonl_name}\n"));
    let same = alike(
        dir.path(),
        service,
        &[
            &["contacts", "export"],
            &["contacts", "export", "--format", "jsonl"],
        ],
    );
    assert_eq!(same[0].out, text);
    assert_eq!(same[1].out, fs::read_to_string(&jsonl).unwrap());
    assert!(!dir.path().join("out.csv.part").exists());
}

#[test]
fn an_export_is_imported_elsewhere_unchanged() {
    let (dir, service) = with_two();
    service.sign_up("'+x@example.com");
    drop(service);
    for format in ["csv", "jsonl"] {
        let exported = run(&["contacts", "export", "--format", format], dir.path());
        running_and_stopped(|other| {
            let import = ["contacts", "import", "--format", format, "-", "--json"];
            let report = feed(&import, other, exported.out.as_bytes());
            assert_eq!(report.json()["created"], 3, "{report:?}");
            assert_eq!(report.err, "note: not read: last_seen_at\n");
            let again = feed(&import, other, exported.out.as_bytes()).json();
            assert_eq!((&again["created"], &again["known"]), (&json!(0), &json!(3)));
            let there = run(&["contacts", "export", "--format", format], other);
            assert_eq!(there.out, exported.out);
        });
    }
}

#[test]
fn bad_rows_are_named_and_the_others_imported() {
    let mut file = "email\n".to_owned();
    for number in 0..150 {
        file += &format!("bad{number}\ngood{number}@example.com\n");
    }
    running_and_stopped(|dir| {
        let ran = feed(&["contacts", "import", "-"], dir, file.as_bytes());
        assert_eq!(ran.status, Some(3));
        let lines: Vec<_> = ran.out.lines().collect();
        let reason = "the address must be an e-mail address such as name@example.com";
        assert_eq!(lines[0], format!("line 2: {reason}"));
        assert_eq!(lines[99], format!("line 200: {reason}"));
        assert_eq!(lines[100], "... and 50 more");
        assert_eq!(
            lines[101..],
            [
                "Added          150",
                "Known before   0",
                "Erased before  0",
                "Bad rows       150"
            ]
        );
        assert_eq!(run(&["contacts", "count"], dir).out, "150\n");
    });
}

#[test]
fn what_cannot_be_imported_is_refused_with_what_to_do() {
    running_and_stopped(|dir| {
        let import = |file: &str| feed(&["contacts", "import", "-"], dir, file.as_bytes());
        let refused = import(&format!("name\n{}", "x\n".repeat(1_000_000)));
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(
            refused
                .err
                .starts_with("error: line 1: no column is named email."),
            "{refused:?}"
        );
        let missing = run(&["contacts", "import", "missing.csv"], dir);
        assert_eq!(missing.status, Some(1));
        assert!(
            missing.err.starts_with("error: cannot read missing.csv: "),
            "{missing:?}"
        );
        let directory = run(&["contacts", "import", dir.to_str().unwrap()], dir);
        assert_eq!(directory.status, Some(1), "{directory:?}");
        assert_eq!(run(&["contacts", "count"], dir).out, "0\n");
        let future = import("email,subscribed_at\na@example.com,2100-01-01\n");
        assert_eq!(future.status, Some(3));
        assert!(
            future
                .out
                .starts_with("line 2: the time of sign-up is in the future\n"),
            "{future:?}"
        );
    });
}

#[test]
fn forgotten_addresses_are_reported_and_not_imported_again() {
    running_and_stopped(|dir| {
        let list = "ada@example.com\nbob@example.com\ncid@example.com\n";
        assert_eq!(
            feed(&["contacts", "import", "-"], dir, list.as_bytes()).status,
            Some(0)
        );
        let words = ["contacts", "forget", "Ada@example.com", "eve@example.com"];
        let ran = run(&words, dir);
        assert_eq!(ran.status, Some(3), "{ran:?}");
        let head = "Result     Address\nerased     ada@example.com\nnot known  eve@example.com\n\nErasure ";
        assert!(ran.out.starts_with(head), "{}", ran.out);
        let from = ["contacts", "forget", "--from", "-", "--json"];
        let report = feed(&from, dir, b"\nbob@example.com \r\nbob@example.com\n");
        let report: Value = serde_json::from_str(&report.out).unwrap();
        assert_eq!(
            report["addresses"],
            json!([{"email": "bob@example.com", "was_known": true}])
        );
        assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(
            run(&["contacts", "show", "bob@example.com"], dir).status,
            Some(1)
        );
        let again = feed(&["contacts", "import", "-", "--json"], dir, list.as_bytes()).json();
        assert_eq!(
            [&again["created"], &again["known"], &again["forgotten"]],
            [&json!(0), &json!(1), &json!(2)]
        );
        let words = ["contacts", "import", "--unforget", "-", "--json"];
        assert_eq!(feed(&words, dir, list.as_bytes()).json()["created"], 2);
        assert_eq!(run(&["contacts", "count"], dir).out, "3\n");
    });
}

#[test]
fn a_wrong_line_among_addresses_to_forget_erases_nothing() {
    running_and_stopped(|dir| {
        assert_eq!(
            feed(&["contacts", "import", "-"], dir, b"ada@example.com").status,
            Some(0)
        );
        let words = ["contacts", "forget", "--from", "-"];
        let ran = feed(&words, dir, b"ada@example.com\nnobody\n");
        assert_eq!(ran.status, Some(2));
        assert!(ran.err.starts_with("error: line 2 of - must be"), "{ran:?}");
        assert_eq!(feed(&words, dir, b"\n").status, Some(2));
        assert_eq!(feed(&words, dir, b"\xff\n").status, Some(1));
        assert_eq!(run(&["contacts", "count"], dir).out, "1\n");
    });
}

#[test]
fn wrong_input_is_refused_before_anything_is_opened() {
    let dir = tempdir().unwrap();
    for (words, message) in [
        (
            &["contacts", "show", "nobody"][..],
            "must be an e-mail address",
        ),
        (&["contacts", "show"], "<ADDRESS>"),
        (&["contacts", "forget"], "<ADDRESS>"),
        (
            &["contacts", "forget", "a@example.com", "nobody"],
            "must be an e-mail address",
        ),
        (
            &["contacts", "list", "--since", "yesterday"],
            "must be a time such as",
        ),
        (
            &["contacts", "count", "--until", "2026-13-01"],
            "must be a time such as",
        ),
        (&["contacts", "export", "--format", "xls"], "csv, jsonl"),
        (&["contacts", "import"], "<FILE>"),
        (&["contacts", "exprot"], "'export'"),
        (&["contacts", "list", "--sicne", "2026-01-01"], "'--since'"),
        (&["contcats", "list"], "'contacts'"),
        (&["contacts"], "requires a subcommand"),
    ] {
        let refused = run(words, dir.path());
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.err.contains(message), "{words:?} {refused:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_operators_work_is_logged_without_addresses() {
    let dir = tempdir().unwrap();
    let service = Program::start(&mut command(dir.path()));
    let list = "ada@example.com\nnobody\n";
    feed(&["contacts", "import", "-"], dir.path(), list.as_bytes());
    run(
        &["contacts", "forget", "ada@example.com", "bob@example.com"],
        dir.path(),
    );
    run(&["contacts", "export"], dir.path());
    let (status, log) = service.stop(Signal::TERM);
    assert_eq!(status, Some(0));
    for line in [
        "operator command=\"contacts import\" contacts.created=1 contacts.known=0 contacts.forgotten=0 \
         rows.bad=1 done=true",
        "operator command=\"contacts forget\" contacts.known=1 contacts.unknown=1",
        "operator command=\"contacts list\"",
    ] {
        assert!(log.contains(line), "{log}");
    }
    assert!(!log.contains("example.com"), "{log}");
}

#[test]
fn a_service_with_a_webhook_says_that_it_keeps_no_contacts() {
    let dir = private_dir();
    let mut command = command(dir.path());
    let service = Program::start(command.arg("--newsletter-webhook=http://127.0.0.1:9/"));
    let counted = run(&["contacts", "count"], dir.path());
    assert_eq!((counted.status, &*counted.out), (Some(0), "0\n"));
    assert!(counted.err.contains("passes sign-ups on"), "{counted:?}");
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let stopped = super::command(&["contacts", "count"], dir.path())
        .env("LANDING_NEWSLETTER_WEBHOOK", "http://127.0.0.1:9/")
        .output();
    assert_eq!(Ran::from(stopped.unwrap()), counted);
}
