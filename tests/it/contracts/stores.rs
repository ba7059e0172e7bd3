//! The stores under test, but for those on engines.

use landing_api::ports::{ContactStore, StoreMaintenance as _};

use super::{block_list, contact_store, count_store, delivery_queue, key_issuer, revocation_list};
use crate::prelude::*;
use crate::twins::{
    MemoryBlockList, MemoryContactStore, MemoryCountStore, MemoryKeyIssuer, MemoryRevocationList,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_twin_in_memory_keeps_contacts() {
    contact_store::check(Arc::new(MemoryContactStore::default())).await;
}

#[tokio::test]
async fn the_twin_in_memory_keeps_deliveries() {
    delivery_queue::check(Arc::new(MemoryContactStore::default())).await;
}

#[tokio::test]
async fn deliveries_are_the_same_after_a_clean_stop_and_after_a_crash() {
    let (house, opened) = House::opened();
    delivery_queue::check(opened.store.clone()).await;
    opened.stop();
    for is_crash in [false, true, true, false] {
        let opened = house.open();
        delivery_queue::assert_holds(&*opened.store).await;
        opened.store.compact().await.unwrap();
        delivery_queue::assert_holds(&*opened.store).await;
        opened.end(is_crash);
    }
    assert!(!house.ledger_text().contains("cat@delivery.example"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_erasure_beside_sign_ups_leaves_a_contact_or_a_tombstone_in_the_ledger() {
    let (_house, opened) = House::opened();
    let store: Arc<dyn ContactStore> = opened.store.clone();
    let contacts = contact_store::race_erasures(&store, 30).await;
    let tombstones = listed(opened.store.tombstones().await).await.len();
    assert_eq!(contacts + tombstones as u64, 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contacts_are_the_same_after_a_clean_stop_and_after_a_crash() {
    let (house, opened) = House::opened();
    contact_store::check(opened.store.clone()).await;
    let others = ["ada", "bob", "bo", "dan", "fay", "cy"].map(str::to_owned);
    let racers = (0..20).map(|round| format!("racer{round}"));
    let names: Vec<_> = racers.chain(others).collect();
    let found = async |opened: &Opened| {
        let mut found = Vec::new();
        for name in &names {
            found.push(opened.find(name).await);
        }
        found
    };
    let before = found(&opened).await;
    assert_eq!(before.iter().flatten().count(), names.len() - 1);
    opened.stop();
    for is_crash in [false, true, true, false] {
        let opened = house.open();
        assert_eq!(found(&opened).await, before);
        opened.end(is_crash);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_twins_in_memory_keep_keys_revocations_and_counts() {
    key_issuer::check(Arc::new(MemoryKeyIssuer::default())).await;
    revocation_list::check(Arc::new(MemoryRevocationList::default())).await;
    count_store::check(&MemoryCountStore::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_ledger_keeps_keys_and_revocations_through_stops_and_crashes() {
    let (house, opened) = House::opened();
    key_issuer::check(opened.store.clone()).await;
    revocation_list::check(opened.store.clone()).await;
    opened.stop();
    for is_crash in [false, true, false] {
        let opened = house.open();
        key_issuer::assert_holds(&*opened.store).await;
        revocation_list::assert_holds(&*opened.store).await;
        opened.end(is_crash);
    }
}

#[tokio::test]
async fn files_keep_counts() {
    let dir = tempfile::tempdir().unwrap();
    count_store::check(&FileCountStore::open(&dir.path().join("counts"))).await;
}

#[tokio::test]
async fn the_twin_in_memory_keeps_blocks() {
    block_list::check(&MemoryBlockList::default()).await;
}

#[tokio::test]
async fn a_file_keeps_blocks() {
    let dir = tempfile::tempdir().unwrap();
    block_list::check(&FileBlockList::open(Some(dir.path().join("blocks"))).unwrap()).await;
}
