//! Lines and batches at the ledger's bounds, erasures, and copies.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use landing_api::domain::contact::SignUp;
use landing_api::domain::delivery::{Delivery, DeliveryId, DeliveryKind, Failure, Turn};
use landing_api::ports::{ContactStore, DeliveryQueue, ERASED_MAX, StoreMaintenance as _};

use crate::fixtures::{contents, copy_dir, origin, settled, sign_up_of};
use crate::ledger::faulty;
use crate::prelude::*;

const WORDS: &str = "Please confirm: https://landing.example/newsletter/confirm/0";

/// A sign-up that is to be confirmed, and the mail that asks for it.
fn asked(name: &str, body: &str) -> SignUp {
    let sign_up = sign_up_of(address(name), origin(7, None), START);
    let kind = DeliveryKind::ConfirmationMail;
    let id = DeliveryId::new(kind, &sign_up.leave_token, START);
    let email = Some(sign_up.email.clone());
    SignUp {
        notice: Some(Delivery::new(id, kind, email, body.to_owned(), START)),
        is_to_be_confirmed: true,
        ..sign_up
    }
}

async fn take(opened: &Opened, channel: Channel, most: usize, now: Timestamp) -> Vec<Delivery> {
    let turn = Turn::default();
    let due = opened.store.take_due(channel, most, &turn, now).await;
    due.unwrap()
}

/// The ledger, to be written to by somebody else.
fn writable(house: &House) -> File {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .open(house.file("ledger.jsonl"))
        .unwrap()
}

fn messages(range: std::ops::Range<usize>) -> Vec<Delivery> {
    let message = |number: usize| {
        let kind = DeliveryKind::Subscribed;
        let email = address(&format!("n{number}"));
        let token = sign_up_of(email.clone(), origin(7, None), START).leave_token;
        let id = DeliveryId::new(kind, &token, START);
        Delivery::new(id, kind, Some(email), format!("body {number}"), START)
    };
    range.map(message).collect()
}

/// The most lines of a batch in the ledger.
fn largest_batch(house: &House) -> usize {
    let text = house.ledger_text();
    let left = text.split(",\"left\":").skip(1);
    let left = left.map(|rest| rest.split_once(',').unwrap().0.parse::<usize>());
    left.map(Result::unwrap).max().unwrap() + 1
}

#[tokio::test]
async fn a_line_that_could_not_be_read_again_is_refused_and_no_other() {
    let mails = [
        (WORDS.repeat(10), true),
        ("x".repeat(12_000), true),
        ("x".repeat(16_000), false),
        ("x".repeat(40_000), false),
        ("\"".repeat(6_000), true),
        ("\"".repeat(9_000), false),
        ("\r\n".repeat(2_900), true),
        ("\r\n".repeat(4_000), false),
        // Six bytes each.
        ("\u{1}".repeat(1_900), true),
        ("\u{1}".repeat(3_000), false),
        ("é".repeat(6_000), true),
        ("😀".repeat(4_000), false),
    ];
    let (house, mut opened) = House::opened();
    for (number, (body, is_kept)) in mails.iter().enumerate() {
        let name = format!("n{number}");
        let others = ["o", "p"].map(|other| format!("{other}{number}"));
        let (kept, before, after) = tokio::join!(
            opened.store.sign_up(asked(&name, body)),
            opened.sign_up(&others[0]),
            opened.sign_up(&others[1]),
        );
        assert_eq!(kept.is_ok(), *is_kept, "{number}: {kept:?}");
        assert!(before.is_ok() && after.is_ok(), "{number}");
        assert_eq!(ContactStore::check(&*opened.store), Ok(()));
        assert_eq!(opened.has(&name).await, *is_kept);
        opened.assert_has_all(&others).await;
        opened.store.compact().await.unwrap();
        verify_ledger(&house.path).unwrap();
        opened.end(number % 2 == 0);
        opened = house.open();
    }
}

#[tokio::test]
async fn whatever_the_other_side_says_a_delivery_can_be_settled() {
    for (body, error) in [
        (12_900, "\u{1}".repeat(998)),
        (12_500, "\"".repeat(40_000)),
        (12_500, "\u{9b}\u{202e}é".repeat(4_000)),
        (12_500, "😀".repeat(4_000)),
        (10, String::new()),
    ] {
        let (house, opened) = House::opened();
        let kept = opened.store.sign_up(asked("ada", &"x".repeat(body))).await;
        // The largest that is taken has room left.
        if kept.is_err() {
            continue;
        }
        let mut taken = take(&opened, Channel::Mail, 9, START).await;
        taken[0].fail(Failure::Final(error), 0, START);
        let failed = settled(Vec::new(), taken.clone());
        opened.store.settle(failed, START).await.unwrap();
        opened.store.compact().await.unwrap();
        opened.crash();
        let opened = house.open();
        let found = DeliveryQueue::find(&*opened.store, taken[0].id).await;
        let error = found.unwrap().unwrap().last_error.unwrap();
        assert!(error.chars().count() <= 400 && !error.contains(char::is_control));
    }
}

#[tokio::test]
async fn an_unreadable_line_fails_the_change_that_needs_it_and_no_other() {
    let (house, files, opened) = faulty(["ada", "bob"]).await;
    let place = house.ledger_text().find("ada@").unwrap();
    writable(&house).write_all_at(b"X", place as u64).unwrap();
    let gathered = files.gather(&opened, &["cy", "ada", "bob", "ada", "dan"]);
    let answers = gathered.await.answers().await;
    let is_kept: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(is_kept, [true, true, false, true, false, true]);
    for refused in [&answers[2], &answers[4]] {
        let Err(StoreError::Unavailable(reason)) = refused else {
            panic!("{refused:?}");
        };
        assert!(reason.contains("byte") && !reason.contains('@'), "{reason}");
    }
    assert_eq!(ContactStore::check(&*opened.store), Ok(()));
    opened.assert_has(&["bob", "cy", "dan"], &[]).await;
}

#[tokio::test]
async fn an_unreadable_delivery_is_in_no_other_ones_way() {
    let (house, opened) = House::opened();
    opened.store.sign_up(asked("ada", "to ada")).await.unwrap();
    opened.store.sign_up(asked("bob", "to bob")).await.unwrap();
    opened.store.add(messages(0..3)).await.unwrap();
    let ledger = writable(&house);
    let spoil = |text: &str| {
        let place = house.ledger_text().rfind(text).unwrap();
        ledger.write_all_at(b"X", place as u64).unwrap();
    };
    spoil("to ada");
    spoil("body 1");
    let take = async |channel| take(&opened, channel, 1, START).await.pop();
    let mut taken = Vec::new();
    for _ in 0..2 {
        taken.extend(take(Channel::Mail).await);
    }
    for _ in 0..3 {
        taken.extend(take(Channel::Webhook).await);
    }
    let bodies: Vec<_> = taken.iter().map(|it| it.body.as_str()).collect();
    assert_eq!(bodies, ["to bob", "body 0", "body 2"]);
    // One that becomes unreadable while it is tried does not keep the others from being settled.
    spoil("body 0");
    let ids = taken.iter().map(|delivery| delivery.id).collect();
    let settled = opened.store.settle(settled(ids, Vec::new()), START).await;
    assert_eq!(settled, Ok(()));
    opened.store.release(Channel::Webhook);
    assert_eq!(take(Channel::Mail).await, None);
    for _ in 0..3 {
        assert_eq!(take(Channel::Webhook).await, None);
    }
    assert_eq!(ContactStore::check(&*opened.store), Ok(()));
}

/// How an address leaves the list.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Forgotten,
    Refused,
    Expired,
}

async fn leave(opened: &Opened, path: Path) {
    let (store, sign_up) = (&opened.store, asked("zoe", ""));
    match path {
        Path::Forgotten => {
            let erasure = store.forget(&[address("zoe")], START).await.unwrap();
            assert_eq!(erasure.remaining, None);
        }
        Path::Refused => assert_eq!(store.refuse(&sign_up.leave_token, START).await, Ok(true)),
        Path::Expired => {
            let expired = store.expire(vec![sign_up.leave_token], START).await;
            assert_eq!(expired, Ok(1));
        }
    }
}

#[tokio::test]
async fn an_erased_address_is_in_no_file_of_the_directory() {
    // Also where another word runs into it, as in the bodies of mails and messages.
    let bodies = [
        "To: zoe@example.com\r\nSubject: x",
        "{\"email\":\"zoe@example.com\"}",
        "\\zoe@example.com\\\t",
        "<a href='x?zoe%40example.com'>\u{1}zoe@example.com\u{1}",
    ];
    for path in [Path::Forgotten, Path::Refused, Path::Expired] {
        for end in ["daily", "stop", "crash"] {
            let (house, mut opened) = House::opened();
            opened.sign_up_all(["ada"]).await;
            for (number, body) in bodies.iter().enumerate() {
                let mut sign_up = asked("zoe", body);
                let mut notice = sign_up.notice.take().unwrap();
                notice.id = DeliveryId::from_bytes([u8::try_from(number).unwrap(); 16]);
                if number % 2 == 1 {
                    notice.kind = DeliveryKind::Subscribed;
                }
                sign_up.notice = Some(notice);
                opened.store.sign_up(sign_up).await.unwrap();
            }
            let mut tried = take(&opened, Channel::Mail, 1, START).await;
            tried[0].fail(Failure::Final("no".to_owned()), 0, START);
            let failed = settled(Vec::new(), tried);
            opened.store.settle(failed, START).await.unwrap();
            // What a repair kept has all of that.
            fs::write(house.file("ledger.damaged"), house.ledger()).unwrap();
            leave(&opened, path).await;
            if end == "daily" {
                opened.store.finish_erasures().await.unwrap();
            } else {
                // The mark tells where it was, and the start finishes what was not.
                opened.end(end == "crash");
                opened = house.open();
            }
            for (file, bytes) in contents(&house.path) {
                let text = String::from_utf8_lossy(&bytes).to_lowercase();
                assert!(!text.contains("zo"), "{path:?} {end}: {}", file.display());
            }
            opened.assert_has(&["ada"], &["zoe"]).await;
        }
    }
}

#[tokio::test]
async fn an_erasure_whose_kept_files_stay_is_not_complete() {
    let (house, files, opened) = faulty(["zoe"]).await;
    fs::write(house.file("ledger.damaged"), "zoe@example.com").unwrap();
    files.fail_directory_syncs(true);
    let erasure = opened.store.forget(&[address("zoe")], START).await.unwrap();
    assert!(erasure.remaining.is_some());
    files.fail_directory_syncs(false);
    opened.recovers().await;
    let again = opened.store.forget(&[address("zoe")], START).await.unwrap();
    assert_eq!(again.remaining, None);
    assert!(!house.file("ledger.damaged").exists());
}

#[tokio::test]
async fn an_unknown_address_is_erased_from_kept_files_though_a_compaction_runs() {
    let (house, files, opened) = faulty(["ada"]).await;
    let (compacting, release) = files.hold_compaction(&opened).await;
    fs::write(house.file("ledger.damaged"), "zoe@example.com").unwrap();
    let store = Arc::clone(&opened.store);
    let erasing = tokio::spawn(async move { store.forget(&[address("zoe")], START).await });
    // It is recorded in the tail.
    crate::fixtures::eventually("it", || house.ledger_text().contains("zoe@")).await;
    release.send(()).unwrap();
    compacting.await.unwrap().unwrap();
    assert_eq!(erasing.await.unwrap().unwrap().remaining, None);
    assert!(!house.file("ledger.damaged").exists());
    assert!(!house.ledger_text().contains("zoe@"));
}

#[tokio::test]
async fn no_operation_on_many_is_one_batch() {
    let many = 2 * ERASED_MAX + 200;
    let (house, files, opened) = faulty([""; 0]).await;
    let store = &opened.store;
    let names = (0..many).map(|number| format!("n{number}"));
    for begin in (0..many).step_by(100) {
        let some = messages(begin..(begin + 100).min(many));
        store.add(some).await.unwrap();
    }
    for name in names.clone() {
        store.sign_up(asked(&name, WORDS)).await.unwrap();
    }
    let names: Vec<_> = names.map(|name| address(&name)).collect();
    // Four lines an address: it is forgotten, with two deliveries, and has a tombstone.
    files.fail_renames(true);
    let mut taken = take(&opened, Channel::Webhook, many, START).await;
    for delivery in &mut taken {
        delivery.fail(Failure::Final("no".to_owned()), 0, START);
    }
    for taken in taken.chunks(100) {
        let failed = settled(Vec::new(), taken.to_vec());
        store.settle(failed, START).await.unwrap();
    }
    assert_eq!(store.retry(None, START).await, Ok(many as u64));
    assert!(largest_batch(&house) <= ERASED_MAX);
    let erasure = store.forget(&names, START).await.unwrap();
    assert_eq!(erasure.was_known, vec![true; many]);
    assert!(largest_batch(&house) <= 4 * ERASED_MAX);
    for channel in Channel::ALL {
        assert_eq!(store.standing(channel).await.unwrap().waiting, 0);
    }
    files.fail_renames(false);
    assert_eq!(store.forget(&names, START).await.unwrap().remaining, None);
}

#[tokio::test]
async fn a_copy_with_pending_deliveries_is_held_and_nothing_else_is() {
    /// What is done to the directory while no service runs.
    type Change = fn(&House) -> House;
    let same: Change = |house| House::at(&house.path);
    let copied: Change = |house| {
        let copy = House::new();
        copy_dir(&house.path, &copy.path);
        copy
    };
    let unmarked: Change = |house| {
        fs::remove_file(house.file("mark")).unwrap();
        House::at(&house.path)
    };
    let by_hand: Change = |house| {
        let copy = House::new();
        copy_dir(&house.path, &copy.path);
        fs::remove_file(copy.file("mark")).unwrap();
        copy
    };
    let repaired: Change = |house| {
        let copy = House::new();
        copy_dir(&house.path, &copy.path);
        copy.write_ledger(house.ledger_text().replacen("ada@", "bda@", 1).as_bytes());
        copy.repair();
        copy
    };
    let moved: Change = |house| {
        let moved = house.path.with_extension("moved");
        fs::rename(&house.path, &moved).unwrap();
        House::at(&moved)
    };
    for (what, change, is_waiting, is_held) in [
        ("a restart", same, true, false),
        ("a move", moved, true, false),
        ("a copy", copied, true, true),
        ("a copy without mark", by_hand, true, true),
        ("no mark", unmarked, true, true),
        ("a repaired copy", repaired, true, true),
        ("nothing waits", copied, false, false),
    ] {
        for is_crash in [false, true] {
            let (house, opened) = House::opened();
            if is_waiting {
                opened.store.sign_up(asked("ada", WORDS)).await.unwrap();
            }
            opened.store.compact().await.unwrap();
            opened.sign_up("bob").await.unwrap();
            opened.end(is_crash);
            let house = change(&house);
            for round in 0..3 {
                let (opened, log) = house.open_logged();
                let standing = opened.store.standing(Channel::Mail).await.unwrap();
                // Until it is released.
                assert_eq!(standing.is_held, is_held && round < 2, "{what} {round}");
                assert_eq!(standing.waiting, u64::from(is_waiting));
                let is_logged = is_held && round == 0;
                assert_eq!(log.contains("queue release"), is_logged, "{what}: {log}");
                assert_eq!(ContactStore::check(&*opened.store), Ok(()));
                let due = take(&opened, Channel::Mail, 9, LATER).await;
                assert_eq!(due.is_empty(), standing.is_held || !is_waiting);
                let released = opened.store.hold(Channel::Mail, round == 0 && is_held);
                released.await.unwrap();
                opened.end(is_crash);
            }
        }
    }
}

const LATER: Timestamp = Timestamp::from_ms(START.as_ms() + 60_000);
