//! `landing-api contacts`.

use rustix::process::Signal;
use serde_json::json;
use tempfile::tempdir;

use super::run;
use crate::program::{Program, command};

#[test]
fn a_contact_is_shown_alike_whether_the_service_runs_or_not() {
    let dir = tempdir().unwrap();
    let var = dir.path().join("var");
    let service = Program::start(&mut command(&var));
    service.sign_up("ada@example.com");
    let show =
        |email: &str, form: &[&str]| run(&[&["contacts", "show", email], form].concat(), &var);
    let running = show("ada@example.com", &["--json"]);
    let contact = running.json();
    assert_eq!(contact["email"], json!("ada@example.com"));
    assert_eq!(contact["subscribed_at"], contact["last_seen_at"]);
    let table = show("ada@example.com", &[]);
    assert!(
        table.out.starts_with("Address    ada@example.com\n"),
        "{table:?}"
    );
    let unknown = show("bob@example.com", &[]);
    assert_eq!(unknown.status, Some(1));
    assert_eq!(unknown.err, "error: no contact has this address\n");
    let (status, _log) = service.stop(Signal::TERM);
    assert_eq!(status, Some(0));
    assert_eq!(show("ada@example.com", &["--json"]), running);
    assert_eq!(show("ada@example.com", &[]), table);
    assert_eq!(show("bob@example.com", &[]), unknown);
}

#[test]
fn what_is_no_address_is_refused_before_anything_is_opened() {
    let dir = tempdir().unwrap();
    let refused = run(&["contacts", "show", "nobody"], dir.path());
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.err.contains("must be an e-mail address"),
        "{refused:?}"
    );
}
