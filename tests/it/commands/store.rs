//! `landing-api backup`, `restore` and `ledger`.

use super::{alike, run};
use crate::prelude::*;

#[test]
fn a_backup_of_a_running_service_is_restored_elsewhere() {
    let dir = private_dir();
    let [var, other, tar] = ["var", "other", "backup.tar"].map(|name| dir.path().join(name));
    let service = Program::on(&var);
    service.sign_up("ada@example.com");
    let key = service.mint();
    let [backup, restore] = ["backup", "restore"].map(|word| format!("{word} {}", tar.display()));
    let ran = run(&backup, &var).done();
    assert!(ran.out.contains("\nEntries  2\n"), "{ran:?}");
    let mode = fs::metadata(&tar).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    run(&backup, &var).refused(1, "give --force");
    let again = run(&format!("{backup} --force --json"), &var);
    assert_eq!(again.json()["entries"], 2);
    run(&restore, &var).refused(1, "in use");
    drop(service);
    run(&restore, &var).refused(1, "already contains ledger.jsonl");
    let ran = run(&restore, &other).done();
    assert!(ran.out.starts_with("Entries  2\n"), "{ran:?}");
    let service = Program::on(&other);
    assert_eq!(service.health(&key), 200);
    assert_eq!(run("contacts count", &other).out, "1\n");
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let dir = private_dir();
    let var = dir.path().join("var");
    let file = dir.path().join("no.tar");
    fs::write(&file, "no tar").unwrap();
    run(&format!("restore {}", file.display()), &var).refused(1, "nothing was restored");
    assert!(!var.join("ledger.jsonl").exists());
    run("restore missing.tar", &var).refused(1, "error: cannot read missing.tar: ");
}

#[test]
fn a_ledger_is_verified_and_compacted() {
    let (dir, service) = Program::fresh(&[]);
    for _ in 0..3 {
        service.sign_up("ada@example.com");
    }
    let verified = run("ledger verify --json", dir.path()).json();
    let found = ["contacts", "entries"].map(|name| verified[name].clone());
    assert_eq!(found, [json!(1), json!(3)]);
    let compacted = run("ledger compact --json", dir.path()).json();
    let entries = ["entries_before", "entries_after"].map(|name| compacted[name].clone());
    assert_eq!(entries, [json!(3), json!(1)]);
    let ran = alike(dir.path(), service, &["ledger verify"]);
    assert!(ran[0].out.contains("\nContacts     1\n"), "{ran:?}");
    run("ledger compact", dir.path()).done();
    let repaired = run("ledger repair --yes", dir.path()).done();
    assert_eq!(repaired.out, "Result  no damage found\n");
}

#[test]
fn a_damaged_ledger_is_named_and_repaired() {
    let (dir, service) = Program::fresh(&[]);
    for email in ["ada@example.com", "bob@example.com", "cid@example.com"] {
        service.sign_up(email);
    }
    run("ledger repair --yes", dir.path()).refused(1, "in use");
    service.stopped();
    let ledger = dir.path().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replace("bob@", "bo_@")).unwrap();
    let verified = run("ledger verify", dir.path());
    assert_eq!(verified.status, Some(1));
    let shown = dir.path().display();
    let repair = format!("`landing-api ledger repair --data-dir {shown}`");
    for refused in [
        verified,
        run("contacts count", dir.path()),
        Ran::of(&mut command(dir.path())),
    ] {
        assert_eq!(refused.status, Some(1), "{refused:?}");
        assert_present(&refused.err, &["error: ", &repair]);
    }
    let repaired = run("ledger repair --yes", dir.path()).done();
    assert!(repaired.out.contains("ledger.damaged\n"), "{repaired:?}");
    let damage = "Damage         line 3: ";
    assert!(repaired.out.starts_with(damage), "{repaired:?}");
    assert!(!repaired.out.contains("repair"), "{repaired:?}");
    assert_eq!(run("contacts count", dir.path()).out, "2\n");
}
