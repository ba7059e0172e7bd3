//! `landing-api contacts`.

use super::{House, alike, feed, run};
use crate::prelude::*;
use crate::program::json_lines;

const IMPORT: &str = "contacts import -";
const COUNT: &str = "contacts count";

/// Runs `check` beside a running service, or on a stopped directory.
fn on_a_directory(is_running: bool, check: impl FnOnce(&Path)) {
    let house = House::stopped();
    let service = is_running.then(|| Program::on(&house.path));
    check(&house.path);
    if let Some(service) = service {
        service.stopped();
    }
}

fn with_two() -> (TempDir, Program) {
    let (dir, service) = Program::fresh(&[]);
    service.sign_up("ada@example.com");
    service.sign_up("=bob@example.com");
    (dir, service)
}

#[test]
fn a_contact_is_shown() {
    let (dir, service) = with_two();
    let commands = [
        "contacts show ada@example.com --json",
        "contacts show ada@example.com",
        "contacts show eve@example.com",
    ];
    let [row, shown, unknown] = <[_; 3]>::try_from(alike(dir.path(), service, &commands)).unwrap();
    let contact = row.json();
    assert_eq!(contact["email"], json!("ada@example.com"));
    assert_eq!(contact["subscribed_at"], contact["last_seen_at"]);
    let head = "Address    ada@example.com\n";
    assert!(shown.out.starts_with(head), "{shown:?}");
    let unknown = unknown.refused(1, "no contact has this address");
    assert_eq!(unknown.err, "error: no contact has this address\n");
}

#[test]
fn contacts_are_listed_and_counted() {
    let (dir, service) = with_two();
    let commands = [
        "contacts list",
        "contacts list --json",
        "contacts list --since 2100-01-01",
        "contacts count",
        "contacts count --json",
        "contacts count --until 2020-01-01",
        "contacts count --since 2020-01-01 --until 2100-01-01T00:00:00Z",
    ];
    let ran = alike(dir.path(), service, &commands);
    let lines: Vec<_> = ran[0].out.lines().collect();
    let [head, ada, bob] = lines[..] else {
        panic!("{lines:?}");
    };
    // README and handbook show the columns.
    let readme = include_str!("../../../README.md");
    let handbook = include_str!("../../../data/handbook/contacts.md");
    assert!(
        [readme, handbook].iter().all(|text| text.contains(head)),
        "{head}"
    );
    assert!(ada.ends_with("  ada@example.com"), "{ada}");
    assert!(bob.ends_with("  =bob@example.com"), "{bob}");
    let rows = json_lines(&ran[1].out);
    let emails: Vec<_> = rows.iter().map(|row| &row["email"]).collect();
    assert_eq!(emails, ["ada@example.com", "=bob@example.com"]);
    assert_eq!(ran[2].out.lines().count(), 1);
    let counts: Vec<_> = ran[3..].iter().map(|ran| &*ran.out).collect();
    assert_eq!(counts, ["2\n", "{\"contacts\":2}\n", "0\n", "2\n"]);
}

#[test]
fn exports_are_private_and_replace_nothing_unless_told() {
    let (dir, service) = with_two();
    let [csv, jsonl] = ["out.csv", "out.jsonl"].map(|name| dir.path().join(name));
    let export = |path: &Path, flag: &str| {
        let words = format!("contacts export {flag} -o {}", path.display());
        run(&words, dir.path())
    };
    let is_told = |path: &Path| format!("note: exported 2 contacts to {}\n", path.display());
    assert_eq!(export(&csv, "").done().err, is_told(&csv));
    let mode = fs::metadata(&csv).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&csv).unwrap();
    let head = "email,subscribed_at,last_seen_at,status,confirmed_at,source,consent_text,unsubscribe_url\r\nada@example.com,20";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("\r\n'=bob@example.com,20"), "{text}");
    assert!(text.ends_with("Z,subscribed,,,,\r\n"), "{text}");
    export(&csv, "").refused(1, "--force");
    export(dir.path(), "--force").refused(1, "is not a regular file");
    export(&csv, "--force").done();
    assert_eq!(export(&jsonl, "").err, is_told(&jsonl));
    let commands = ["contacts export", "contacts export --json"];
    let same = alike(dir.path(), service, &commands);
    assert_eq!(same[0].out, text);
    assert_eq!(same[1].out, fs::read_to_string(&jsonl).unwrap());
    assert!(!dir.path().join("out.csv.part").exists());
}

#[test]
fn an_export_is_imported_elsewhere_unchanged() {
    let (dir, service) = with_two();
    service.sign_up("'+x@example.com");
    drop(service);
    let export = "contacts export";
    for is_running in [true, false] {
        let exported = run(export, dir.path());
        on_a_directory(is_running, |other| {
            let import = "contacts import - --json";
            let report = feed(import, other, &exported.out);
            let ignored = "last_seen_at confirmed_at source consent_text unsubscribe_url";
            let notes = ignored
                .split(' ')
                .map(|name| format!("note: ignored: {name}\n"));
            assert_eq!(report.err, notes.collect::<String>());
            assert_eq!(report.json()["created"], 3);
            let again = feed(import, other, &exported.out).json();
            assert_eq!((&again["created"], &again["known"]), (&json!(0), &json!(3)));
            assert_eq!(run(export, other).out, exported.out);
        });
    }
}

#[test]
fn bad_rows_are_named_and_the_others_imported() {
    let mut file = "email\n".to_owned();
    for number in 0..150 {
        file += &format!("bad{number}\ngood{number}@example.com\n");
    }
    on_a_directory(true, |dir| {
        let ran = feed(IMPORT, dir, &file);
        assert_eq!(ran.status, Some(3));
        let lines: Vec<_> = ran.out.lines().collect();
        let reason = "the address must be an email address such as name@example.com";
        assert_eq!(lines[0], format!("line 2: {reason}"));
        assert_eq!(lines[99], format!("line 200: {reason}"));
        assert_eq!(lines[100], "... and 50 more");
        let expected = "Added             150\nExisting          0\nUnsubscribed      0\n\
                        Skipped (erased)  0\nBad rows          150";
        assert_eq!(lines[101..].join("\n"), expected);
        assert_eq!(run(COUNT, dir).out, "150\n");
        let file = "email,subscribed_at\na@example.com,2100-01-01\n";
        let future = feed(IMPORT, dir, file);
        assert_eq!(future.status, Some(3));
        let told = "line 2: the time of sign-up is in the future\n";
        assert!(future.out.starts_with(told), "{future:?}");
    });
}

#[test]
fn what_cannot_be_read_is_refused_and_nothing_done() {
    for is_running in [true, false] {
        on_a_directory(is_running, |dir| {
            let no_column = format!("name\n{}", "x\n".repeat(1_000_000));
            feed(IMPORT, dir, no_column).refused(2, "error: line 1: no column is named email.");
        });
    }
    on_a_directory(false, |dir| {
        run("contacts import missing.csv", dir).refused(1, "error: cannot read missing.csv: ");
        run(&format!("contacts import {}", dir.display()), dir).refused(1, "cannot read");
        feed(IMPORT, dir, "ada@example.com").done();
        let forget = "contacts forget --yes --from -";
        feed(forget, dir, "ada@example.com\nnobody\n").refused(2, "error: line 2 of - must be");
        feed(forget, dir, "\n").refused(2, "no address");
        feed(forget, dir, b"\xff\n").refused(1, "cannot read -");
        assert_eq!(run(COUNT, dir).out, "1\n");
    });
}

#[test]
fn forgotten_addresses_are_reported_and_imported_again_if_told() {
    on_a_directory(true, |dir| {
        let list = "ada@example.com\nbob@example.com\ncid@example.com\n";
        feed(IMPORT, dir, list).done();
        let ran = run("contacts forget --yes Ada@example.com eve@example.com", dir);
        assert_eq!(ran.status, Some(3), "{ran:?}");
        let head =
            "Result   Address\nerased   ada@example.com\nunknown  eve@example.com\n\nErasure ";
        assert!(ran.out.starts_with(head), "{}", ran.out);
        let from = "contacts forget --yes --from - --json";
        let report = feed(from, dir, "\nbob@example.com \r\nbob@example.com\n").json();
        let bob = json!([{"email": "bob@example.com", "was_known": true}]);
        assert_eq!(report["addresses"], bob);
        assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
        run("contacts show bob@example.com", dir).refused(1, "no contact");
        let unforget = feed("contacts import --unforget - --json", dir, list);
        assert_eq!(unforget.json()["created"], 2);
        assert_eq!(run(COUNT, dir).out, "3\n");
    });
}

/// Signs addresses up from networks that a proxy names.
fn attacked() -> (TempDir, Program) {
    let (dir, service) = Program::fresh(&["--trusted-proxy", "127.0.0.1"]);
    let of_one = ["x1", "x2", "x3"].map(|name| (name, "203.0.113.7"));
    for (name, network) in of_one.into_iter().chain([("ada", "198.51.100.1")]) {
        let body = json!({"email": format!("{name}@example.com")}).to_string();
        let forwarded = format!("X-Forwarded-For: {network}\r\n");
        let sent = service.send("POST", "/api/v1/newsletter", &forwarded, &body);
        assert_eq!(sent.0, 200);
    }
    (dir, service)
}

#[test]
fn what_a_client_brought_is_listed_and_erased_by_its_name() {
    let (dir, service) = attacked();
    let dir = dir.path();
    let shown = run("limits show --ip 203.0.113.7", dir);
    let (_, name) = shown.out.split_once("\n\nName in the log  ").unwrap();
    let name = name.trim_end();
    let busiest = run("limits show --top 1", dir);
    busiest.check_width();
    assert!(busiest.out.contains(&format!("  {name}\n")), "{busiest:?}");
    let heads = "Client                            Name in the log\n";
    assert!(busiest.out.contains(heads), "{busiest:?}");
    let forget = format!("contacts forget --signed-by {name}");
    let commands = [
        &*format!("contacts list --signed-by {name}"),
        "contacts count --signed-by 203.0.113.7",
        &format!("contacts export --signed-by {name}"),
        &forget,
        "contacts forget --signed-by somebody --yes",
        "contacts forget --until 2026-01-01 --yes",
    ];
    let ran = alike(dir, service, &commands);
    let [listed, counted, exported, forgets @ ..] = &ran[..] else {
        panic!("{ran:?}");
    };
    assert_eq!(listed.out.lines().count(), 4, "{listed:?}");
    assert!(!listed.out.contains("ada"), "{listed:?}");
    assert_eq!(counted.out, "3\n");
    assert_eq!(exported.out.lines().count(), 4, "{exported:?}");
    let asked = "error: there is no terminal to confirm on: pass --yes to erase 3 addresses";
    for (ran, (status, message)) in forgets.iter().zip([
        (2, asked),
        (2, "error: --signed-by must be a client's name in the log"),
        (1, "error: no matching contacts: nothing was"),
    ]) {
        assert_eq!(ran.status, Some(status), "{ran:?}");
        assert!(ran.err.starts_with(message), "{ran:?}");
    }

    let service = Program::on(dir);
    let erased = run(&format!("{forget} --yes --json"), dir).json();
    let addresses = ["x1", "x2", "x3"].map(|name| format!("{name}@example.com"));
    let erased_one = |email| json!({"email": email, "was_known": true});
    let expected = json!(addresses.clone().map(erased_one));
    assert_eq!(erased["addresses"], expected);
    assert_eq!(erased["remaining"], json!(null));
    let ledger = fs::read_to_string(dir.join("ledger.jsonl")).unwrap();
    assert!(addresses.iter().all(|email| !ledger.contains(email)));
    let log = service.stopped();
    let audit = "operator command=\"contacts forget\" contacts.known=3 contacts.unknown=0";
    assert!(log.contains(audit), "{log}");
    assert_eq!(run(COUNT, dir).out, "1\n");
    run("contacts forget --since 2026-01-01 -y", dir).done();
    assert_eq!(run(COUNT, dir).out, "0\n");
}

#[test]
fn an_import_makes_a_new_data_directory_unless_it_has_nothing_to_read() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new");
    run("contacts import missing.csv", &dir).refused(1, "cannot read missing.csv: No such file");
    assert!(!dir.exists());
    run("contacts count", &dir).refused(1, "is not a data directory");
    let ran = feed(IMPORT, &dir, "ada@example.com\n").done();
    let note = format!("note: created the data directory {}\n", dir.display());
    assert_eq!(ran.err, note);
    let mode = fs::metadata(&dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let service = Program::on(&dir);
    assert_eq!(run(COUNT, &dir).out, "1\n");
    service.stopped();
    fs::remove_file(dir.join("ledger.jsonl")).unwrap();
    feed(IMPORT, &dir, "ada@example.com\n").refused(1, "ledger.jsonl is missing");
}

#[test]
fn the_operators_work_is_logged_without_addresses() {
    let (dir, service) = Program::fresh(&[]);
    feed(IMPORT, dir.path(), "ada@example.com\nnobody\n");
    let forget = "contacts forget --yes ada@example.com bob@example.com";
    for words in [forget, "contacts export"] {
        run(words, dir.path());
    }
    let log = service.stopped();
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
