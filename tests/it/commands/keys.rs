//! `landing-api keys` and `landing-api agents`.

use serde_json::json;

use super::{House, alike, feed, run};
use crate::program::{Program, assert_absent, json_lines};

#[test]
fn keys_are_listed_and_checked_by_their_public_ids() {
    let (dir, service) = Program::fresh(&[]);
    let keys = [service.mint(), service.mint()];
    let ids = keys.each_ref().map(|key| key[4..12].to_owned());
    let commands = [
        "keys list",
        "keys list --json",
        &format!("keys check {} {} --json", ids[0], keys[1]),
        &format!("keys check {}", ids[0]),
        &format!("keys check {} 00000000", ids[0]),
        "keys check 00000000",
        "keys check no-key",
    ];
    let ran = alike(dir.path(), service, &commands);
    for (key, id) in json_lines(&ran[1].out).iter().zip(&ids) {
        assert_eq!((&key["id"], &key["state"]), (&json!(id), &json!("active")));
        let row = format!("\n{id}         active   20");
        assert!(ran[0].out.contains(&row), "{}", ran[0].out);
    }
    for key in &keys {
        let is_told = |text: &String| text.contains(key);
        assert!(!ran.iter().any(|ran| is_told(&ran.out) || is_told(&ran.err)));
    }
    let checked = json_lines(&ran[2].out);
    assert_eq!(checked[0]["result"], "active");
    assert_eq!(checked[1]["id"], json!(ids[1]));
    let statuses: Vec<_> = ran[3..].iter().map(|ran| ran.status.unwrap()).collect();
    assert_eq!(statuses, [0, 3, 1, 2]);
    for (ran, told) in ran[5..].iter().zip([
        "error: no such key: `keys list` shows",
        "error: not a key: give the 8 characters",
    ]) {
        assert!(ran.err.starts_with(told), "{ran:?}");
    }
}

#[test]
fn a_revoked_key_is_refused_at_once_and_after_a_restart() {
    let (dir, service) = Program::fresh(&[]);
    let [by_id, by_itself, later] = [(); 3].map(|()| service.mint());
    let id = &by_id[4..12];
    let healths = |service: &Program| [&by_id, &by_itself, &later].map(|key| service.health(key));
    let ran = run(&format!("keys revoke --yes {id}"), dir.path()).done();
    let row = format!("{id}         revoked         20");
    assert!(ran.out.contains(&row), "{ran:?}");
    feed("keys revoke --yes -", dir.path(), format!("{by_itself}\n")).done();
    assert_eq!(healths(&service), [401, 401, 200]);
    let again = run(&format!("keys revoke --yes {id} --json"), dir.path());
    assert_eq!(again.json()["result"], "revoked before");
    let log = service.stopped();
    let line = format!("command=\"keys revoke\" key.id=\"{id}\"");
    assert!(log.contains(&line), "{log}");
    assert_absent(&log, &[&by_itself, &by_id]);
    run(&format!("keys revoke --yes {later}"), dir.path()).done();
    assert_eq!(healths(&Program::on(dir.path())), [401; 3]);
}

#[test]
fn an_empty_list_of_keys_is_refused() {
    let ran = feed("keys revoke --yes -", &House::stopped().path, "\n\n");
    ran.refused_in_a_line(2, "error: no key was given\n");
}

#[test]
fn a_registration_is_revoked_with_its_tokens() {
    let (dir, service) = Program::fresh(&[]);
    let (status, agent) = service.post("/agent/auth", r#"{"type":"anonymous"}"#);
    assert_eq!(status, 201, "{agent}");
    let client_id = agent["client_id"].as_str().unwrap();
    let revoke = format!("agents revoke --yes {client_id} --json");
    assert_eq!(run(&revoke, dir.path()).json()["result"], "revoked");
    let commands = [
        &*revoke,
        "agents list-revoked",
        "agents list-revoked --json",
        "agents revoke --yes reg_nobody",
    ];
    let ran = alike(dir.path(), service, &commands);
    let [again, listed, row, nobody] = <[_; 4]>::try_from(ran).unwrap();
    let before = json!({"client_id": client_id, "result": "revoked before"});
    assert_eq!(again.json(), before);
    assert!(listed.out.ends_with(&format!("  {client_id}\n")));
    assert_eq!(row.json()["client_id"], json!(client_id));
    nobody.refused(2, "error: not a client ID");
}
