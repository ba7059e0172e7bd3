//! `landing-api keys` and `landing-api agents`.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{alike, feed, private_dir, run};
use crate::program::{Program, command};

#[test]
fn keys_are_listed_and_checked_by_their_public_ids() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    let keys = [service.mint(), service.mint()];
    let ids = keys.each_ref().map(|key| key[4..12].to_owned());
    let ran = alike(
        dir.path(),
        service,
        &[
            &["keys", "list"],
            &["keys", "list", "--json"],
            &["keys", "check", &ids[0], &keys[1], "--json"],
            &["keys", "check", &ids[0]],
            &["keys", "check", &ids[0], "00000000"],
            &["keys", "check", "00000000"],
            &["keys", "check", "no-key"],
        ],
    );
    let listed: Vec<Value> = ran[1]
        .out
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for (key, id) in listed.iter().zip(&ids) {
        assert_eq!((&key["id"], &key["state"]), (&json!(id), &json!("active")));
        assert!(
            ran[0].out.contains(&format!("\n{id}         active   20")),
            "{}",
            ran[0].out
        );
    }
    for ran in &ran {
        assert!(
            keys.iter()
                .all(|key| !ran.out.contains(key) && !ran.err.contains(key))
        );
    }
    let checked: Vec<Value> = ran[2]
        .out
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(checked[0]["result"], "active");
    assert_eq!(checked[1]["id"], json!(ids[1]));
    let statuses: Vec<_> = ran[3..].iter().map(|ran| ran.status.unwrap()).collect();
    assert_eq!(statuses, [0, 3, 1, 2]);
    assert!(
        ran[5]
            .err
            .starts_with("error: no key has this name: keys list shows"),
        "{ran:?}"
    );
    assert!(
        ran[6]
            .err
            .starts_with("error: not a key: give the 8 characters"),
        "{ran:?}"
    );
}

#[test]
fn a_revoked_key_is_refused_at_once_and_after_a_restart() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    let [by_id, by_itself, later] = [(); 3].map(|()| service.mint());
    let ran = run(&["keys", "revoke", &by_id[4..12]], dir.path());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(
        ran.out.contains(&format!("{}  revoked  20", &by_id[4..12])),
        "{ran:?}"
    );
    let ran = feed(
        &["keys", "revoke", "-"],
        dir.path(),
        format!("{by_itself}\n").as_bytes(),
    );
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(
        [&by_id, &by_itself, &later].map(|key| service.health(key)),
        [401, 401, 200]
    );
    let again = run(&["keys", "revoke", &by_id[4..12], "--json"], dir.path());
    assert_eq!(again.json()["result"], "revoked before");
    let (_, log) = service.stop(Signal::TERM);
    assert!(
        log.contains(&format!(
            "command=\"keys revoke\" key.id=\"{}\"",
            &by_id[4..12]
        )),
        "{log}"
    );
    assert!(!log.contains(&by_itself) && !log.contains(&by_id), "{log}");
    assert_eq!(run(&["keys", "revoke", &later], dir.path()).status, Some(0));
    let service = Program::start(&mut command(dir.path()));
    assert_eq!(
        [&by_id, &by_itself, &later].map(|key| service.health(key)),
        [401; 3]
    );
}

#[test]
fn an_empty_list_of_keys_is_refused() {
    let dir = private_dir();
    drop(Program::start(&mut command(dir.path())));
    let ran = feed(&["keys", "revoke", "-"], dir.path(), b"\n\n");
    assert_eq!(
        (ran.status, &*ran.err),
        (Some(2), "error: no key was given\n")
    );
    assert_eq!(run(&["keys", "revoke"], dir.path()).status, Some(2));
}

#[test]
fn a_registration_is_revoked_with_its_tokens() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    let (status, agent) = service.send("POST", "/agent/auth", "", r#"{"type":"anonymous"}"#);
    assert_eq!(status, 201, "{agent}");
    let client_id = agent["client_id"].as_str().unwrap();
    let revoke = ["agents", "revoke", client_id, "--json"];
    assert_eq!(run(&revoke, dir.path()).json()["result"], "revoked");
    let ran = alike(
        dir.path(),
        service,
        &[
            &revoke,
            &["agents", "list-revoked"],
            &["agents", "list-revoked", "--json"],
            &["agents", "revoke", "reg_nobody"],
        ],
    );
    assert_eq!(
        ran[0].json(),
        json!({"client_id": client_id, "result": "revoked before"})
    );
    assert!(ran[1].out.ends_with(&format!("  {client_id}\n")), "{ran:?}");
    assert_eq!(ran[2].json()["client_id"], json!(client_id));
    assert_eq!(ran[3].status, Some(2));
    assert!(ran[3].err.starts_with("error: not a client id"), "{ran:?}");
}
