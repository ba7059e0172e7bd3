//! Whatever the last process was doing when it ended, and however it did, the next one has all that
//! was acknowledged.

use landing_api::adapters::files::Files;
use landing_api::ports::{ContactStore, KeyIssuer};

use super::ends;
use super::faults::{FaultyFiles, faulty, set};
use super::power::{PowerFiles, Then};
use crate::prelude::*;

const LEDGER: &str = "ledger.jsonl";

/// What the end of a process leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    PowerCut,
    /// And the power fails again in the operation of the next start that is behind so many.
    PowerCuts(u64),
    Kill,
}

#[tokio::test]
async fn an_end_in_any_operation_loses_nothing_acknowledged() {
    for operations in (0..30).chain([60, 61, 200, 201, 300, 301]) {
        for end in [End::PowerCut, End::Kill] {
            check_end(&House::new(), operations, end).await;
            // What the clean stop wrote down is not held against what happened since.
            let house = House::stopped_with(["ada"]).await;
            check_end(&house, operations, end).await;
        }
    }
}

#[tokio::test]
async fn an_end_in_any_operation_of_a_recovery_loses_nothing_acknowledged() {
    for operations in [60, 61, 200, 201] {
        for of_recovery in 0..12 {
            check_end(&House::new(), operations, End::PowerCuts(of_recovery)).await;
        }
    }
}

/// Signs addresses up until there is no power in the operation behind so many, and looks what the
/// next start has.
async fn check_end(house: &House, operations: u64, end: End) {
    let files = PowerFiles::new(operations);
    files.fail_after(operations);
    let mut acknowledged = Vec::new();
    if let Ok(opened) = house.try_open(files.tuning()) {
        acknowledged = sign_up(&opened, &files, "x").await;
    }
    match end {
        End::PowerCut | End::PowerCuts(_) => files.cut(),
        End::Kill => {}
    }
    if let End::PowerCuts(of_recovery) = end {
        let files = PowerFiles::new(operations + of_recovery);
        files.fail_after(of_recovery);
        if let Ok(opened) = house.try_open(files.tuning()) {
            acknowledged.extend(sign_up(&opened, &files, "y").await);
        }
        files.cut();
    }
    let opened = house.open();
    for name in &acknowledged {
        assert!(opened.has(name).await, "{operations}, {end:?}: {name}");
    }
    let unknown = format!("x{}", acknowledged.len() + 1);
    assert!(!opened.has(&unknown).await, "{operations}, {end:?}");
}

/// Signs addresses up while there is power. Hands out those that were acknowledged.
async fn sign_up(opened: &Opened, files: &PowerFiles, prefix: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    while files.is_on() {
        let name = format!("{prefix}{}", acknowledged.len());
        if opened.sign_up(&name).await.is_ok() {
            acknowledged.push(name);
        }
    }
    acknowledged
}

#[tokio::test]
async fn a_sync_that_loses_what_was_written_loses_nothing_acknowledged() {
    for syncs in [0, 1, 20, 63] {
        let house = House::stopped();
        let files = PowerFiles::new(syncs);
        let opened = house.try_open(files.tuning()).unwrap();
        files.fail_sync_after(LEDGER, syncs, Then::GoOn);
        let mut acknowledged = Vec::new();
        for number in 0..100 {
            let name = format!("x{number}");
            if opened.sign_up(&name).await.is_ok() {
                acknowledged.push(name);
            }
        }
        assert_eq!(acknowledged.len(), 99, "{syncs}");
        opened.crash();
        files.cut();
        house.open().assert_has_all(acknowledged).await;
    }
}

#[tokio::test]
async fn what_a_failed_sync_lost_is_written_again_by_the_next_process() {
    for syncs in [0, 1, 20, 63] {
        for late in [&[][..], &["late", "later"]] {
            let house = House::stopped();
            let files = PowerFiles::new(syncs);
            let opened = house.try_open(files.tuning()).unwrap();
            files.fail_sync_after(LEDGER, syncs, Then::Kill);
            let mut acknowledged = sign_up(&opened, &files, "x").await;
            opened.crash();
            files.restart();
            let opened = house.try_open(files.tuning()).unwrap();
            for name in late {
                opened.sign_up(name).await.unwrap();
                acknowledged.push((*name).to_owned());
            }
            opened.crash();
            files.cut();
            house.open_quietly().assert_has_all(acknowledged).await;
        }
    }
}

#[tokio::test]
async fn a_start_is_not_refused_for_a_failure_that_nobody_was_told_of_before() {
    let house = House::new();
    let files = PowerFiles::new(1);
    let opened = house.try_open(files.tuning()).unwrap();
    let names = (0..100).map(|number| format!("x{number}"));
    opened.sign_up_all(names.clone()).await;
    opened.crash();
    // What the last process wrote was lost behind its back, and the first sync tells.
    files.fail_sync_after(LEDGER, 0, Then::GoOn);
    house.try_open(files.tuning()).unwrap().crash();
    files.cut();
    house.open_quietly().assert_has_all(names).await;
}

#[tokio::test]
async fn what_a_failed_sync_lost_is_written_again_even_behind_a_clean_stop() {
    for seed in 0..8 {
        let house = House::stopped_with(["ada", "bob"]).await;
        // Somebody has put the ledger back since, and the disk does not have all of it.
        let whole = house.ledger();
        let last = ends(&whole)[1];
        let files = PowerFiles::new(seed);
        let mut file = files.open(&house.file(LEDGER)).unwrap();
        file.truncate(last.try_into().unwrap()).unwrap();
        file.append(&whole[last..]).unwrap();
        files.fail_sync_after(LEDGER, 0, Then::GoOn);
        let (opened, log) = logged(|| house.try_open(files.tuning()));
        assert!(log.contains("retrying once"), "{log}");
        opened.unwrap().crash();
        files.cut();
        house.open_quietly().assert_has_all(["ada", "bob"]).await;
    }
}

#[tokio::test]
async fn damage_that_shows_when_a_start_tries_once_more_is_refused() {
    let (house, opened) = House::opened_with(["ada", "bob", "cy"]).await;
    opened.crash();
    let whole = house.ledger();
    let mut rotten = whole.clone();
    rotten[ends(&whole)[1] + 30] ^= 1;
    let files = PowerFiles::new(1);
    files.fail_open_and_hold(&rotten);
    let refusal = house.try_open(files.tuning()).err().unwrap().to_string();
    assert!(refusal.contains("damaged at line 3"), "{refusal}");
    assert_eq!(house.ledger(), rotten);
    house.repair();
    house.open().assert_has(&["ada", "cy"], &["bob"]).await;
}

#[tokio::test]
async fn ledger_and_secret_are_a_whole_copy_at_any_time() {
    let (house, opened) = House::opened();
    for name in ["ada", "bob", "cy"] {
        opened.sign_up(name).await.unwrap();
        let copy = House::stopped();
        for file in ["ledger.jsonl", "secret"] {
            fs::copy(house.file(file), copy.file(file)).unwrap();
        }
        let restored = copy.open_quietly();
        restored.assert_has(&["ada", name], &["dan"]).await;
    }
}

#[tokio::test]
async fn a_start_writes_nothing_to_a_ledger_that_is_marked_to_its_end() {
    let house = House::new();
    let files = FaultyFiles::default();
    for is_crash in [false, true] {
        let opened = house.open();
        opened.sign_up("ada").await.unwrap();
        opened.end(is_crash);
        set(files.fault(|faults| &faults.overwrite), true);
        let opened = house.try_open(files.tuning()).unwrap();
        opened.assert_has(&["ada"], &[]).await;
        opened.crash();
    }
    // It has to write what may not be on the disk.
    house.cut_power(&house.ledger());
    assert!(house.try_open(files.tuning()).is_err());
}

#[tokio::test]
async fn a_start_on_a_full_disk_has_everything_and_recovers_alone() {
    let (house, files, opened) = faulty(["ada"]).await;
    opened.store.issue(key_record(1, None)).await.unwrap();
    // To drop an address takes room.
    opened.sign_up("bob").await.unwrap();
    files.fail_renames(true);
    opened.forget("bob").await.unwrap();
    files.fail_renames(false);
    opened.crash();
    let before = house.ledger();

    set(files.fault(|faults| &faults.disk_full), true);
    let (opened, log) = logged(|| house.try_open(files.tuning()).unwrap());
    assert!(log.contains("ERROR"), "{log}");
    let is_full = |answer| matches!(answer, Err(StoreError::Full(_)));
    for _ in 0..2 {
        assert!(is_full(ContactStore::check(&*opened.store)));
        assert!(is_full(opened.sign_up("cy").await.map(drop)));
        opened.assert_has(&["ada"], &["bob", "cy"]).await;
        let key = KeyIssuer::find(&*opened.store, &key_record(1, None).fingerprint).await;
        assert_eq!(key, Ok(Some(key_record(1, None))));
        assert_eq!(house.ledger(), before);
    }
    set(files.fault(|faults| &faults.disk_full), false);
    opened.recovers().await;
    opened.sign_up("cy").await.unwrap();
    opened.crash();
    assert!(house.ledger_text().contains("bob@"));
    house.open().assert_has(&["ada", "cy"], &["bob"]).await;
    assert!(!house.ledger_text().contains("bob@"));
}

#[tokio::test]
async fn a_start_that_cannot_write_the_ledger_anew_is_refused_unless_it_only_lacks_room() {
    for (lacks_room, is_new_secret, is_refused) in [
        (true, false, false),
        (true, true, true),
        (false, false, true),
    ] {
        let (house, files, opened) = faulty(["ada", "zoe"]).await;
        files.fail_renames(true);
        opened.forget("zoe").await.unwrap();
        opened.crash();
        if lacks_room {
            files.fail_renames(false);
            set(files.fault(|faults| &faults.disk_full), true);
        }
        if is_new_secret {
            fs::write(house.file("secret"), [5; 32]).unwrap();
            fs::write(house.file("accept-new-secret"), "").unwrap();
        }
        let started = house.try_open(files.tuning());
        assert_eq!(started.is_err(), is_refused, "{lacks_room} {is_new_secret}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_logged_once_a_minute_with_the_number_of_failures() {
    let (_house, files, opened) = faulty(["ada"]).await;
    let full = files.fault(|faults| &faults.disk_full);
    let (_, log) = logged_async(async {
        set(full, true);
        for _ in 0..50 {
            opened.sign_up("bob").await.unwrap_err();
        }
        advance(Duration::from_secs(60)).await;
        opened.sign_up("bob").await.unwrap_err();
        // A disk that now and then takes something does not fill the log either.
        for _ in 0..50 {
            set(full, false);
            opened.sign_up("bob").await.unwrap();
            set(full, true);
            opened.sign_up("bob").await.unwrap_err();
        }
    })
    .await;
    let warnings: Vec<_> = log.lines().collect();
    assert_eq!(warnings.len(), 2, "{log}");
    assert!(warnings[0].contains("store.failures=1"), "{log}");
    assert!(warnings[1].contains("store.failures=50"), "{log}");
}
