//! A service that no longer has the file at the ledger's path open acknowledges nothing.

use landing_api::ports::{ContactStore, KeyIssuer};

use super::faults::faulty;
use crate::fixtures::eventually;
use crate::prelude::*;

/// What somebody does to a running service's ledger, and undoes.
type Act = fn(&House);

fn aside(house: &House) -> PathBuf {
    house.path.with_extension("aside")
}

const ACTS: [(&str, Act, Act); 5] = [
    (
        "moved away",
        |house| fs::rename(house.file("ledger.jsonl"), aside(house)).unwrap(),
        |house| fs::rename(aside(house), house.file("ledger.jsonl")).unwrap(),
    ),
    (
        "replaced by a copy",
        |house| {
            fs::rename(house.file("ledger.jsonl"), aside(house)).unwrap();
            fs::copy(aside(house), house.file("ledger.jsonl")).unwrap();
        },
        |house| fs::rename(aside(house), house.file("ledger.jsonl")).unwrap(),
    ),
    (
        "the directory moved away",
        |house| fs::rename(&house.path, aside(house)).unwrap(),
        |house| fs::rename(aside(house), &house.path).unwrap(),
    ),
    (
        "emptied",
        |house| {
            fs::copy(house.file("ledger.jsonl"), aside(house)).unwrap();
            house.write_ledger(b"");
        },
        |house| house.write_ledger(&fs::read(aside(house)).unwrap()),
    ),
    (
        "edited",
        |house| house.write_ledger(&[house.ledger(), b"\n".to_vec()].concat()),
        |house| {
            let bytes = house.ledger();
            house.write_ledger(&bytes[..bytes.len() - 1]);
        },
    ),
];

async fn assert_displaced(opened: &Opened) {
    let record = key_record(1, None);
    for refused in [
        opened.sign_up("ada").await.map(drop),
        opened.forget("ada").await.map(drop),
        opened.store.issue(record).await,
        ContactStore::check(&*opened.store),
        KeyIssuer::check(&*opened.store),
    ] {
        assert_is_displaced(refused);
    }
}

fn assert_is_displaced(answer: Result<(), StoreError>) {
    match answer {
        Err(StoreError::Displaced(reason)) => assert!(reason.contains("put back"), "{reason}"),
        other => panic!("expected Displaced, got {other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_until_the_right_file_is_back() {
    for (name, act, undo) in ACTS {
        let (house, opened) = House::opened_with(["ada"]).await;
        act(&house);
        assert_displaced(&opened).await;
        // What is not there any more is no answer.
        match ContactStore::find(&*opened.store, &address("ada")).await {
            Err(StoreError::Unavailable(_)) => assert_eq!(name, "emptied"),
            found => assert!(found.unwrap().is_some() && name != "emptied", "{name}"),
        }
        undo(&house);
        opened.recovers().await;
        opened.sign_up("bob").await.unwrap();
        opened.stop();
        house.open_quietly().assert_has_all(["ada", "bob"]).await;
    }
}

#[tokio::test]
async fn a_file_replaced_while_a_batch_is_synced_acknowledges_nothing_of_it() {
    let (house, files, opened) = faulty(["ada"]).await;
    let (_, act, undo) = ACTS[1];
    let hold = files.hold_next_sync();
    let bob = opened.spawn_sign_up("bob");
    tokio::task::yield_now().await;
    let release = hold.wait();
    act(&house);
    release.send(()).unwrap();
    assert_is_displaced(bob.await.unwrap().map(drop));
    undo(&house);
    opened.recovers().await;
    opened.assert_has(&["ada"], &["bob"]).await;
}

#[tokio::test]
async fn health_alone_finds_a_file_of_another_inode() {
    let (house, opened) = House::opened_with(["ada"]).await;
    let (_, act, _) = ACTS[1];
    act(&house);
    let is_displaced = || {
        let refused = ContactStore::check(&*opened.store);
        matches!(refused, Err(StoreError::Displaced(_)))
    };
    eventually("health", is_displaced).await;
}

#[tokio::test]
async fn a_stop_on_another_file_is_no_clean_one() {
    for (_, act, undo) in ACTS {
        let (house, opened) = House::opened_with(["ada"]).await;
        act(&house);
        assert_is_displaced(opened.store.close());
        drop(opened);
        undo(&house);
        house.open().assert_has(&["ada"], &[]).await;
    }
}

#[tokio::test]
async fn a_ledger_written_anew_replaces_no_file_but_its_own() {
    let (house, files, opened) = faulty(["ada"]).await;
    let (compaction, released) = files.hold_compaction(&opened).await;
    fs::write(house.file("theirs"), "their file\n").unwrap();
    fs::rename(house.file("theirs"), house.file("ledger.jsonl")).unwrap();
    released.send(()).unwrap();
    compaction.await.unwrap().unwrap_err();
    assert_displaced(&opened).await;
    drop(opened);
    assert_eq!(house.ledger(), b"their file\n");
    assert!(!house.file("ledger.jsonl.new").exists());
}

fn problem(program: &Program, method: &str, path: &str, body: &str) -> String {
    let (status, body) = program.send(method, path, "", body);
    assert_eq!(status, 503, "{body}");
    body["detail"].as_str().unwrap().to_owned()
}

/// Ends the program. It fails, with one line that tells what to do.
fn check_end(program: Program) {
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(1), "{log}");
    let last = log.lines().last().unwrap();
    let is_told = last.starts_with("error: ") && last.contains("put back");
    assert!(is_told, "{log}");
    assert_eq!(log.matches("ERROR").count(), 1, "{log}");
    assert!(!log.contains("example.com"), "{log}");
}

#[test]
fn a_ledger_replaced_under_the_program_costs_no_acknowledged_sign_up() {
    for is_moved in [true, false] {
        let house = House::new();
        let ledger = house.file("ledger.jsonl");
        let program = Program::start(&mut command(&house.path));
        let key = program.mint();
        program.sign_up("ada@example.com");
        // As an editor saves, or rsync writes.
        fs::copy(&ledger, house.file("copy")).unwrap();
        if is_moved {
            fs::rename(&ledger, aside(&house)).unwrap();
        } else {
            fs::rename(house.file("copy"), &ledger).unwrap();
        }
        let body = json!({ "email": "bob@example.com" }).to_string();
        problem(&program, "POST", "/api/v1/newsletter", &body);
        problem(&program, "POST", "/api/v1/keys", "{}");
        let why = problem(&program, "GET", "/api/v1/health", "");
        assert!(why.contains("replaced"), "{why}");
        assert_eq!(program.health(&key), 503);
        check_end(program);
        if is_moved {
            fs::rename(aside(&house), &ledger).unwrap();
        }
        let program = Program::start(&mut command(&house.path));
        assert_eq!(program.health(&key), 200);
        assert_eq!(program.stop(Signal::TERM).0, Some(0));
        let text = house.ledger_text();
        assert!(text.contains("ada@") && !text.contains("bob@"), "{text}");
    }
}

#[test]
fn a_removed_lock_file_lets_no_second_program_in() {
    let house = House::new();
    let program = Program::start(&mut command(&house.path));
    program.sign_up("ada@example.com");
    for name in ["lock", "secret"] {
        fs::remove_file(house.file(name)).unwrap();
        check_second(&house.path);
    }
    // Nor does a directory that is moved.
    fs::rename(&house.path, aside(&house)).unwrap();
    check_second(&aside(&house));
}

fn check_second(path: &Path) {
    Ran::of(&mut command(path)).refused_in_a_line(1, "in use by another process");
}
