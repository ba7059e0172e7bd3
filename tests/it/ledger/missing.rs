//! A ledger that is lost is never replaced by an empty one behind the operator's back.

use landing_api::adapters::files::data_dir::DataDir;

use super::contents;
use crate::prelude::*;

#[tokio::test]
async fn a_missing_or_empty_ledger_is_refused_beside_anything_that_tells_of_one() {
    for kept in [&["secret", "mark"][..], &["secret"], &["mark"]] {
        for is_missing in [true, false] {
            let house = House::stopped_with(["ada"]).await;
            if is_missing {
                fs::remove_file(house.file("ledger.jsonl")).unwrap();
            } else {
                house.write_ledger(b"");
            }
            for name in ["secret", "mark"] {
                if !kept.contains(&name) {
                    fs::remove_file(house.file(name)).unwrap();
                }
            }
            let before = contents(&house.path);
            let refusal = house.refusal();
            let missing = "ledger.jsonl is missing or empty";
            for words in [missing, kept[0], "from a backup", "secret and mark away"] {
                assert!(refusal.contains(words), "no {words}: {refusal}");
            }
            assert_eq!(contents(&house.path), before, "something was changed");
        }
    }
}

#[tokio::test]
async fn without_what_tells_of_it_a_start_begins_with_an_empty_one() {
    let house = House::stopped_with(["ada"]).await;
    for name in ["ledger.jsonl", "secret", "mark"] {
        fs::remove_file(house.file(name)).unwrap();
    }
    let opened = house.open();
    opened.assert_has(&[], &["ada"]).await;
    opened.sign_up("bob").await.unwrap();
    opened.stop();
    house.open().assert_has(&["bob"], &["ada"]).await;
}

#[tokio::test]
async fn a_first_start_that_ended_half_way_needs_nobody() {
    // The ledger is made first, then the secret.
    for files in [
        &[][..],
        &["lock"],
        &["lock", "ledger.jsonl"],
        &["lock", "ledger.jsonl", "secret"],
    ] {
        let first = House::new();
        DataDir::open(&first.path, &SeededEntropy::default()).unwrap();
        let house = House::new();
        fs::create_dir(&house.path).unwrap();
        for file in files {
            fs::copy(first.file(file), house.file(file)).unwrap();
        }
        // Halves that a rename was to put in place.
        for half in ["ledger.jsonl.new", "secret.new"] {
            fs::write(house.file(half), "half").unwrap();
            set_permissions(house.file(half), Permissions::from_mode(0o600)).unwrap();
        }
        let opened = house.open();
        opened.sign_up("ada").await.unwrap();
        opened.stop();
        house.open().assert_has(&["ada"], &[]).await;
    }
}

#[tokio::test]
async fn a_ledger_that_others_may_read_is_closed_with_a_warning() {
    let house = House::stopped_with(["ada"]).await;
    for (mode, is_warned) in [(0o600, false), (0o640, true), (0o604, true)] {
        let permissions = Permissions::from_mode(mode);
        set_permissions(house.file("ledger.jsonl"), permissions).unwrap();
        let (opened, log) = logged(|| house.open());
        opened.stop();
        let count = log.matches("was accessible to other users").count();
        assert_eq!(count, usize::from(is_warned), "{mode:o}: {log}");
        let mode = fs::metadata(house.file("ledger.jsonl"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
