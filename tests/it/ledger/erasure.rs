//! A forgotten address is in no file any more when the answer comes, whatever happens meanwhile.

use landing_api::domain::contact::{Erasure, ImportOutcome};
use landing_api::ports::{ContactStore, ERASED_MAX, StoreMaintenance as _};

use super::contents;
use super::faults::{FaultyFiles, faulty, set};
use crate::fixtures::{imported, sign_up};
use crate::prelude::*;

/// The files of the house that hold one of these texts.
pub(super) fn holders(house: &House, texts: &[&str]) -> Vec<PathBuf> {
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    contents(&house.path)
        .into_iter()
        .filter(|(_, bytes)| texts.iter().any(|text| has(bytes, text)))
        .map(|(path, _)| path)
        .collect()
}

async fn forget(opened: &Opened, names: &[&str]) -> Erasure {
    let names: Vec<_> = names.iter().map(|name| address(name)).collect();
    opened.store.forget(&names, START).await.unwrap()
}

/// Names that are written in several ways.
const SPELLINGS: [&str; 4] = ["zoe@ex", "z/oe@ex", "z\\/oe@ex", "\\u007aoe@ex"];

/// What a repair may have kept beside the ledger.
const KEPT: &str = r#"{"crc":"0","event":{"created":{"contact":{"email":"zoe@example.com"}}}}
    "z\/oe@example.com" "\u007aoe@example.com" "zoe@exa"#;

fn write_kept(house: &House) {
    fs::write(house.file("ledger.damaged"), KEPT).unwrap();
}

#[tokio::test]
async fn a_forgotten_address_is_in_no_file_when_the_answer_comes() {
    let (house, opened) = House::opened_with(["ada", "zoe", "z/oe", "zoe", "xzoe"]).await;
    write_kept(&house);
    assert_eq!(holders(&house, &SPELLINGS).len(), 2);
    let erasure = forget(&opened, &["zoe", "z/oe", "nobody"]).await;
    assert_eq!(erasure.was_known, [true, true, false]);
    assert_eq!(erasure.remaining, None);
    for text in SPELLINGS {
        let text = ["\"", text].concat();
        assert_eq!(holders(&house, &[&text, "\tczoe@"]), [] as [PathBuf; 0]);
    }
    assert!(holders(&house, &["nobody"]).is_empty());
    assert_eq!(house.kept(), None);
    let mut opened = opened;
    for is_crash in [true, false, false] {
        opened.assert_has(&["ada", "xzoe"], &["zoe", "z/oe"]).await;
        let again = opened.store.import(vec![imported("zoe", START)], false);
        assert_eq!(again.await, Ok(vec![ImportOutcome::Forgotten]));
        opened.end(is_crash);
        opened = house.open();
    }
    opened.sign_up("zoe").await.unwrap();
    opened.assert_has(&["zoe"], &[]).await;
}

#[tokio::test]
async fn what_a_killed_erasure_left_of_a_forgotten_address_goes_at_the_start() {
    let house = House::stopped_with(["ada", "zoe"]).await;
    // Killed before the compaction, it only recorded that the address is forgotten.
    let line = ",\"seq\":3,\"batch\":3,\"left\":0,\"event\":\
                {\"removed\":{\"contact\":\"zoe@example.com\"}}}";
    let crc = crc32fast::hash(line.as_bytes());
    let text = house.ledger_text() + &format!("{{\"crc\":\"{crc:08x}\"{line}\n");
    house.write_ledger(text.as_bytes());
    write_kept(&house);
    let opened = house.open();
    opened.assert_has(&["ada"], &["zoe"]).await;
    assert!(holders(&house, &["zoe@", "\\u007aoe@"]).is_empty());
    assert_eq!(house.kept(), None);
    // Nor when the ledger was damaged meanwhile: what the repair keeps goes, too.
    opened.stop();
    house.write_ledger(text.replacen("ada@", "adb@", 1).as_bytes());
    fs::remove_file(house.file("mark")).unwrap();
    house.refusal();
    house.repair();
    assert!(house.kept().is_some());
    house.open().assert_has(&[], &["ada", "zoe"]).await;
    assert!(holders(&house, &["zoe@"]).is_empty());
    assert_eq!(house.kept(), None);
}

#[tokio::test]
async fn what_cannot_be_written_anew_is_named_and_goes_later() {
    for is_restarted in [false, true] {
        let (house, files, opened) = faulty(["ada", "zoe"]).await;
        files.fail_renames(true);
        let erasure = forget(&opened, &["zoe"]).await;
        assert_eq!(erasure.was_known, [true]);
        let reason = erasure.remaining.unwrap();
        assert!(reason.starts_with("ledger.jsonl may still"), "{reason}");
        assert!(reason.contains("ledger compact"), "{reason}");
        assert!(!reason.contains("zoe"), "{reason}");
        opened.assert_has(&["ada"], &["zoe"]).await;
        assert!(holders(&house, &["\"zoe@"]).contains(&house.file("ledger.jsonl")));
        files.fail_renames(false);
        if is_restarted {
            opened.stop();
            let opened = house.open();
            opened.assert_has(&["ada"], &["zoe"]).await;
        } else {
            let erasure = forget(&opened, &["zoe"]).await;
            assert_eq!(erasure.was_known, [false]);
            assert_eq!(erasure.remaining, None);
        }
        assert!(holders(&house, &["zoe@"]).is_empty());
    }
}

#[tokio::test]
async fn on_a_full_disk_nothing_is_forgotten_and_the_caller_is_told() {
    let (house, files, opened) = faulty(["zoe"]).await;
    write_kept(&house);
    set(files.fault(|faults| &faults.disk_full), true);
    let refused = opened.store.forget(&[address("zoe")], START).await;
    assert!(refused.is_err(), "{refused:?}");
    opened.assert_has(&["zoe"], &[]).await;
    assert_eq!(house.kept(), Some(KEPT.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sign_ups_go_on_while_addresses_are_forgotten() {
    // Generous, for a machine that is busy.
    const LONGEST: Duration = Duration::from_secs(5);
    let names: Vec<_> = (0..2 * ERASED_MAX).map(|n| format!("zoe{n}")).collect();
    let (house, opened) = House::opened_with(&names).await;
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let store = Arc::clone(&opened.store);
            tokio::spawn(async move {
                for round in 0..50 {
                    let name = format!("c{client}r{round}");
                    let signed_up = timeout(LONGEST, sign_up(&store, &name)).await;
                    signed_up.unwrap().unwrap();
                    let found = ContactStore::find(&*store, &address(&name)).await;
                    assert!(found.unwrap().is_some());
                }
            })
        })
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let erasure = forget(&opened, &names).await;
    assert_eq!(erasure.was_known, [true; 2 * ERASED_MAX]);
    assert_eq!(erasure.remaining, None);
    for client in clients {
        client.await.unwrap();
    }
    assert!(holders(&house, &["zoe"]).is_empty());
    let mut opened = opened;
    let all = (0..200).map(|number| format!("c{}r{}", number % 4, number / 4));
    for is_crash in [true, false] {
        opened.assert_has_all(all.clone()).await;
        opened.end(is_crash);
        opened = house.open();
    }
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_forgets_leaves_the_contact_or_nothing_of_it() {
    let house = House::stopped_with(["ada", "zoe", "zoe"]).await;
    write_kept(&house);
    let files = FaultyFiles::default();
    let snapshots = files.snapshots(&house);
    let opened = house.try_open(files.tuning()).unwrap();
    let first = snapshots.count();
    assert_eq!(forget(&opened, &["zoe"]).await.remaining, None);
    let (mut kept, mut forgotten) = (0, 0);
    for number in first..snapshots.count() {
        let left = snapshots.house(number);
        let opened = left.open();
        opened.assert_has(&["ada"], &[]).await;
        if opened.has("zoe").await {
            kept += 1;
            // Nothing is half done.
            let holders = holders(&left, &["\"zoe@"]);
            for name in ["ledger.jsonl", "ledger.damaged"] {
                assert!(holders.contains(&left.file(name)), "{number} {name}");
            }
        } else {
            forgotten += 1;
            assert_eq!(holders(&left, &["zoe@"]), [] as [PathBuf; 0], "{number}");
        }
    }
    assert!(kept > 1 && forgotten > 3, "{kept} {forgotten}");
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_imports_leaves_all_rows_or_none() {
    let house = House::stopped_with(["ada"]).await;
    let files = FaultyFiles::default();
    let snapshots = files.snapshots(&house);
    let opened = house.try_open(files.tuning()).unwrap();
    let first = snapshots.count();
    let names = ["bob", "ada", "cy", "dan", "bob"];
    let rows = || names.map(|name| imported(name, START)).to_vec();
    let outcomes = opened.store.import(rows(), false).await.unwrap();
    let created = |outcomes: &[ImportOutcome]| {
        let created = outcomes.iter().filter(|it| **it == ImportOutcome::Created);
        created.count()
    };
    assert_eq!(created(&outcomes), 3);
    let mut found = Vec::new();
    for number in first..snapshots.count() {
        let left = snapshots.house(number);
        let opened = left.open();
        let again = opened.store.import(rows(), false).await.unwrap();
        found.push(created(&again));
        opened.assert_has_all(names).await;
    }
    found.dedup();
    assert_eq!(found, [3, 0]);
}

#[tokio::test]
async fn a_contact_that_is_imported_again_before_its_erasure_ends_is_listed_once() {
    let (_house, files, opened) = faulty(["ada"]).await;
    let import = || opened.store.import(vec![imported("zoe", START)], true);
    import().await.unwrap();
    files.fail_renames(true);
    for _ in 0..2 {
        assert!(forget(&opened, &["zoe"]).await.remaining.is_some());
        import().await.unwrap();
    }
    files.fail_renames(false);
    opened.sign_up("zoe").await.unwrap();
    for _ in 0..2 {
        let contacts = listed(ContactStore::list(&*opened.store, None, None).await).await;
        let emails = contacts.iter().map(|contact| contact.email.as_str());
        assert!(emails.eq(["ada@example.com", "zoe@example.com"]));
        opened.store.compact().await.unwrap();
    }
}

#[tokio::test]
async fn a_new_sign_up_lifts_the_tombstone() {
    let (_house, opened) = House::opened_with(["ada"]).await;
    opened.forget("ada").await.unwrap();
    assert_eq!(listed(opened.store.tombstones().await).await.len(), 1);
    opened.sign_up("ada").await.unwrap();
    assert_eq!(listed(opened.store.tombstones().await).await.len(), 0);
}
