//! `landing-api queue`.

use serde_json::{Value, json};

use super::run;
use crate::program::{Program, closed_address, json_lines};

/// A service with a webhook that is away, whose queue has one message that failed, and its id.
fn with_one() -> (tempfile::TempDir, Program, String) {
    let url = format!("--newsletter-webhook=http://{}/hook", closed_address());
    let (dir, service) = Program::fresh(&[&url]);
    service.sign_up("ada@example.com");
    // A message is tried within a second.
    for _ in 0..2000 {
        let rows = json_lines(&run("queue list --json", dir.path()).done().out);
        let [row] = &*rows else {
            panic!("{rows:?}");
        };
        if row["attempts"] == json!(1) {
            return (dir, service, row["id"].as_str().unwrap().to_owned());
        }
        std::thread::yield_now();
    }
    panic!("the message is not tried");
}

fn queue_of(status: &Value) -> &Value {
    &status["queues"][0]
}

#[test]
fn what_waits_is_listed_shown_held_and_dropped() {
    let (dir, service, id) = with_one();
    let run = |words: &str| run(words, dir.path());
    let listed = run("queue list").done().out;
    let told = "newsletter.subscribed    cannot connect: Connection refused (os error 111)\n";
    assert!(listed.ends_with(told) && listed.contains(&id), "{listed}");
    let shown = run(&format!("queue show {id} --json")).json();
    let of = [&shown["state"], &shown["email"]];
    assert_eq!(of, ["pending", "ada@example.com"]);
    let body: Value = serde_json::from_str(shown["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["type"], "newsletter.subscribed");

    run("queue hold").done();
    let status = run("status --json").json();
    assert_eq!(queue_of(&status)["waiting"], 1);
    assert_eq!(queue_of(&status)["is_held"], true);
    let lines = run("status").done().out;
    let told = "\nDeliveries  webhook: 1 pending";
    assert!(lines.contains(told), "{lines}");
    // Nothing is tried, and it stays so over a restart.
    let retried = run(&format!("queue retry {id} --json")).json();
    assert_eq!(retried["retried"], 1);
    service.stopped();
    assert!(dir.path().join("held-webhook").exists());
    run("queue release").done();
    assert!(!dir.path().join("held-webhook").exists());

    // Without a service the commands work on the directory itself.
    assert_eq!(run("queue retry --all --json").json()["retried"], 0);
    run(&format!("queue drop {id}")).refused(2, "--yes");
    run(&format!("queue drop {id} --yes")).done();
    run(&format!("queue drop {id} --yes")).refused(1, "no delivery has this ID");
    assert_eq!(run("queue list --json").done().out, "");
}

#[test]
fn what_is_no_id_is_refused() {
    let (dir, service) = Program::fresh(&[]);
    let run = |words: &str| run(words, dir.path());
    let unknown = format!("msg_{}", "0".repeat(32));
    for words in ["show", "retry"] {
        run(&format!("queue {words} x")).refused(2, "not a delivery ID");
        run(&format!("queue {words} {unknown}")).refused(1, "no delivery has this ID");
    }
    run("queue drop x --yes").refused(2, "not a delivery ID");
    drop(service);
}

#[test]
fn a_restore_holds_what_waits() {
    let (dir, service, id) = with_one();
    let tar = dir.path().join("backup.tar");
    run(&format!("backup {}", tar.display()), dir.path()).done();
    service.stopped();
    let other = dir.path().join("other");
    run(&format!("restore {}", tar.display()), &other).done();
    let rows = json_lines(&run("queue list --json", &other).done().out);
    assert_eq!(rows[0]["id"], json!(id));
    assert!(other.join("held-webhook").exists());
    assert!(!other.join("held-mail").exists());
    run("queue release", &other).done();
}
