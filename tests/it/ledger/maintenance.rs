//! Verifying, compacting and repairing a ledger, as the operator asks for it.

use landing_api::adapters::files::{Files, OpenError, SystemFiles};
use landing_api::adapters::ledger::{LedgerRepair, LedgerReport, repair_ledger, verify_ledger};
use landing_api::ports::{ContactStore, KeyIssuer, StoreMaintenance};

use super::erasure::holders;
use super::faults::{FaultyFiles, WRITE_FAULTS, faulty, set};
use super::{contents, ends};
use crate::fixtures::imported;
use crate::prelude::*;

async fn opened_with_entries() -> (House, Opened) {
    let (house, opened) = House::opened_with(["ada", "bob", "ada", "zoe"]).await;
    let rows = vec![imported("cy", START), imported("dan", START)];
    opened.store.import(rows, false).await.unwrap();
    opened.store.issue(key_record(1, None)).await.unwrap();
    (house, opened)
}

/// The same after a stop.
async fn stopped_with_entries() -> House {
    let (house, opened) = opened_with_entries().await;
    opened.stop();
    house
}

#[tokio::test]
async fn a_ledger_is_verified_beside_a_running_service_and_left_as_it_is() {
    let (house, opened) = opened_with_entries().await;
    let before = contents(&house.path);
    let report = verify_ledger(&house.path).unwrap();
    let expected = LedgerReport {
        format: 7,
        generation: 1,
        entries: 7,
        contacts: 5,
        bytes: house.ledger().len() as u64,
    };
    assert_eq!(report, expected);
    assert_eq!(contents(&house.path), before);
    opened.stop();
    // What was never acknowledged is no damage.
    house.write_ledger(&[house.ledger(), b"{\"crc\":".to_vec()].concat());
    let report = verify_ledger(&house.path).unwrap();
    assert_eq!((report.entries, report.contacts), (7, 5));
}

fn repair(path: &Path) -> Result<Option<LedgerRepair>, OpenError> {
    repair_ledger(&(Arc::new(SystemFiles) as Arc<dyn Files>), path)
}

/// What becomes of verifying and repairing the ledger in this directory.
pub(super) fn refusals(path: &Path) -> [Result<(), OpenError>; 2] {
    [verify_ledger(path).map(drop), repair(path).map(drop)]
}

#[tokio::test]
async fn a_directory_without_a_ledger_is_refused() {
    let house = House::new();
    for path in [house.path.clone(), house.path.join("missing")] {
        for refused in refusals(&path) {
            let is_none = matches!(refused, Err(OpenError::NoDataDir(_)));
            assert!(is_none, "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_repair_keeps_what_is_whole_and_the_file_as_it_was() {
    let house = stopped_with_entries().await;
    assert_eq!(repair(&house.path).unwrap(), None);
    let whole = house.ledger();
    let mut damaged = whole.clone();
    damaged[ends(&whole)[1] + 30] ^= 1;
    house.write_ledger(&damaged);
    let repaired = repair(&house.path).unwrap().unwrap();
    assert!(repaired.damage.contains("line 3"), "{repaired:?}");
    assert_eq!(repaired.entries, 6);
    let kept = repaired.kept;
    assert_eq!(kept, house.file("ledger.damaged"));
    assert_eq!(fs::read(&kept).unwrap(), damaged);
    assert_eq!(repair(&house.path).unwrap(), None);
    let (opened, names) = (house.open(), ["ada", "cy", "dan", "zoe"]);
    opened.assert_has(&names, &["bob"]).await;
    // Not beside a service.
    let refused = repair(&house.path);
    assert!(matches!(refused, Err(OpenError::InUse(_))), "{refused:?}");
    opened.stop();
    // What an earlier repair kept is not replaced.
    house.write_ledger(&damaged);
    let refused = repair(&house.path).unwrap_err().to_string();
    assert!(refused.contains("move it away"), "{refused}");
    assert_eq!(house.ledger(), damaged);
    fs::remove_file(house.file("ledger.damaged")).unwrap();
    assert!(repair(&house.path).unwrap().is_some());
}

#[tokio::test]
async fn a_repair_that_fails_changes_nothing_and_can_be_repeated() {
    let house = stopped_with_entries().await;
    let mut damaged = house.ledger();
    let place = ends(&damaged)[1] + 30;
    damaged[place] ^= 1;
    house.write_ledger(&damaged);
    let files = FaultyFiles::default();
    let tuning = files.tuning();
    let before = contents(&house.path);
    let assert_fails = |name| {
        let refused = repair_ledger(&tuning.files, &house.path).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("ledger.jsonl"), "{name}: {refused}");
        assert_eq!(contents(&house.path), before, "{name}");
    };
    for (name, fault) in WRITE_FAULTS {
        set(files.fault(fault), true);
        assert_fails(name);
        set(files.fault(fault), false);
    }
    files.fail_renames(true);
    assert_fails("failed rename");
    assert!(repair(&house.path).unwrap().is_some());
    assert_eq!(house.kept(), Some(damaged));
}

#[tokio::test]
async fn a_repair_that_needs_another_decision_accepts_nothing() {
    let house = stopped_with_entries().await;
    let secret = house.file("secret");
    fs::write(&secret, [1; 32]).unwrap();
    set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let before = house.ledger();
    let refused = repair(&house.path);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("is not the secret of"), "{refused}");
    assert_eq!(house.ledger(), before);
}

#[tokio::test]
async fn a_ledger_is_compacted_when_the_operator_asks() {
    let (house, opened) = opened_with_entries().await;
    opened.sign_up_all(["bob"; 10]).await;
    let before = house.ledger().len() as u64;
    let done = opened.store.compact().await.unwrap();
    // The key expired long before the last sign-up.
    assert_eq!((done.entries_before, done.entries_after), (17, 5));
    assert_eq!(
        (done.bytes_before, done.bytes_after),
        (before, house.ledger().len() as u64)
    );
    opened.sign_up("eve").await.unwrap();
    opened.stop();
    let all = ["ada", "bob", "cy", "dan", "eve", "zoe"];
    house.open_quietly().assert_has_all(all).await;
}

#[tokio::test]
async fn a_compaction_ends_an_erasure_that_could_not_be_ended() {
    let (house, files, opened) = faulty(["zoe"]).await;
    files.fail_renames(true);
    let erasure = opened.store.forget(&[address("zoe")], START).await.unwrap();
    assert!(erasure.remaining.is_some());
    assert!(opened.store.compact().await.is_err());
    files.fail_renames(false);
    opened.store.compact().await.unwrap();
    assert!(holders(&house, &["zoe@"]).is_empty());
}
