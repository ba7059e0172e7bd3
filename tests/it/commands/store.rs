//! `landing-api backup`, `restore` and `ledger`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::json;

use super::{alike, private_dir, run};
use crate::program::{Program, command};

#[test]
fn a_backup_of_a_running_service_is_restored_elsewhere() {
    let dir = private_dir();
    let var = dir.path().join("var");
    let service = Program::start(&mut command(&var));
    service.sign_up("ada@example.com");
    let key = service.mint();
    let tar = dir.path().join("backup.tar");
    let tar = tar.to_str().unwrap();
    let ran = run(&["backup", tar], &var);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.contains("\nEntries  2\n"), "{ran:?}");
    assert_eq!(
        fs::metadata(tar).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let refused = run(&["backup", tar], &var);
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("give --force"), "{refused:?}");
    assert_eq!(
        run(&["backup", "--force", tar, "--json"], &var).json()["entries"],
        2
    );
    let refused = run(&["restore", tar], &var);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    drop(service);
    let refused = run(&["restore", tar], &var);
    assert!(
        refused.err.contains("holds a ledger already"),
        "{refused:?}"
    );
    let other = dir.path().join("other");
    let ran = run(&["restore", tar], &other);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("Entries  2\nFiles    "), "{ran:?}");
    let service = Program::start(&mut command(&other));
    assert_eq!(service.health(&key), 200);
    assert_eq!(run(&["contacts", "count"], &other).out, "1\n");
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let dir = private_dir();
    let var = dir.path().join("var");
    let file = dir.path().join("no.tar");
    fs::write(&file, "no tar").unwrap();
    let refused = run(&["restore", file.to_str().unwrap()], &var);
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("nothing was restored"), "{refused:?}");
    assert!(!var.join("ledger.jsonl").exists());
    let missing = run(&["restore", "missing.tar"], &var);
    assert!(
        missing.err.starts_with("error: cannot read missing.tar: "),
        "{missing:?}"
    );
}

#[test]
fn a_ledger_is_verified_and_compacted() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    for _ in 0..3 {
        service.sign_up("ada@example.com");
    }
    let verified = run(&["ledger", "verify", "--json"], dir.path()).json();
    assert_eq!(
        (
            &verified["contacts"],
            &verified["damage"],
            &verified["entries"]
        ),
        (&json!(1), &json!(null), &json!(3))
    );
    let compacted = run(&["ledger", "compact", "--json"], dir.path()).json();
    assert_eq!(
        (&compacted["entries_before"], &compacted["entries_after"]),
        (&json!(3), &json!(1))
    );
    let ran = alike(dir.path(), service, &[&["ledger", "verify"]]);
    assert!(ran[0].out.contains("\nContacts      1\n"), "{ran:?}");
    assert_eq!(run(&["ledger", "compact"], dir.path()).status, Some(0));
    let repaired = run(&["ledger", "repair"], dir.path());
    assert_eq!(
        (repaired.status, &*repaired.out),
        (Some(0), "Result  nothing is damaged\n")
    );
}

#[test]
fn a_damaged_ledger_is_named_and_repaired() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    for email in ["ada@example.com", "bob@example.com", "cid@example.com"] {
        service.sign_up(email);
    }
    let refused = run(&["ledger", "repair"], dir.path());
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("in use"), "{refused:?}");
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let ledger = dir.path().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replace("bob@", "bo_@")).unwrap();
    let verified = run(&["ledger", "verify"], dir.path());
    assert_eq!(verified.status, Some(1));
    assert!(verified.out.contains("\nBad lines     1\n"), "{verified:?}");
    assert!(verified.err.starts_with("error: "), "{verified:?}");
    assert_eq!(run(&["contacts", "count"], dir.path()).status, Some(1));
    let repaired = run(&["ledger", "repair"], dir.path());
    assert_eq!(repaired.status, Some(0), "{repaired:?}");
    assert!(repaired.out.contains("ledger.damaged.1\n"), "{repaired:?}");
    assert_eq!(run(&["contacts", "count"], dir.path()).out, "2\n");
}
