//! What is to be delivered, on a disk that fails and as the ledger grows.

use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{Channel, Delivery, DeliveryId, DeliveryKind, Turn};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{DeliveryQueue, StoreMaintenance as _};

use super::faults::{faulty, set};
use crate::fixtures::{House, START, settled};

const CHANNEL: Channel = Channel::Webhook;

/// A message that is unlike those of other numbers.
pub(super) fn delivery(number: u64) -> Delivery {
    let (kind, token) = (DeliveryKind::Subscribed, LeaveToken::from_bytes([7; 16]));
    let at = Timestamp::from_ms(START.as_ms() + number);
    let body = format!("body {number}");
    Delivery::new(DeliveryId::new(kind, &token, at), kind, None, body, at)
}

async fn take(store: &dyn DeliveryQueue, most: usize) -> Vec<Delivery> {
    let due = store.take_due(CHANNEL, most, &Turn::default(), LATER).await;
    due.unwrap()
}

fn bodies(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| &*delivery.body).collect()
}

const LATER: Timestamp = Timestamp::from_ms(START.as_ms() + 3_600_000);

#[tokio::test]
async fn what_was_made_on_a_full_disk_is_not_made_again_and_again() {
    let (house, files, opened) = faulty(["zoe"]).await;
    let store = opened.store.clone();
    store.add(vec![delivery(1), delivery(2)]).await.unwrap();
    let taken = take(&*store, 10).await;
    assert_eq!(taken.len(), 2);
    set(files.fault(|faults| &faults.disk_full), true);
    let ended = settled(vec![taken[0].id], vec![taken[1].clone()]);
    store.settle(ended, LATER).await.unwrap_err();
    for _ in 0..3 {
        let turn = Turn::default();
        let refused = store.take_due(CHANNEL, 10, &turn, LATER);
        refused.await.unwrap_err();
    }
    set(files.fault(|faults| &faults.disk_full), false);
    assert_eq!(bodies(&take(&*store, 10).await), ["body 2"]);
    assert_eq!(store.standing(CHANNEL).await.unwrap().waiting, 1);
    drop(house);
}

#[tokio::test]
async fn what_is_not_settled_has_the_same_id_after_a_worker_has_ended_and_after_a_restart() {
    let (house, opened) = House::opened();
    opened.store.add(vec![delivery(1)]).await.unwrap();
    let take = async |store: &dyn DeliveryQueue| {
        let ids = take(store, 10)
            .await
            .into_iter()
            .map(|delivery| delivery.id);
        ids.collect::<Vec<_>>()
    };
    let taken = take(&*opened.store).await;
    assert_eq!(taken, [delivery(1).id]);
    assert!(take(&*opened.store).await.is_empty());
    opened.store.release(Channel::Mail);
    assert!(take(&*opened.store).await.is_empty());
    opened.store.release(CHANNEL);
    assert_eq!(take(&*opened.store).await, taken);
    drop(opened);
    assert_eq!(take(&*house.open().store).await, taken);
}

#[tokio::test]
async fn what_was_delivered_does_not_make_the_ledger_grow() {
    let (house, opened) = House::opened();
    let store = opened.store.clone();
    store.add(vec![delivery(0)]).await.unwrap();
    for round in 0..20 {
        let numbers = 1 + round * 100..=100 + round * 100;
        store.add(numbers.map(delivery).collect()).await.unwrap();
        let taken = take(&*store, 1000).await;
        let (kept, made): (Vec<_>, Vec<_>) = taken.into_iter().partition(|it| it.body == "body 0");
        assert_eq!((kept.len(), made.len()), (1, 100));
        let made = made.iter().map(|it| it.id).collect();
        store.settle(settled(made, kept), LATER).await.unwrap();
    }
    store.compact().await.unwrap();
    let text = house.ledger_text();
    assert_eq!(text.matches("\"body ").count(), 1);
    assert!(text.len() < 1000, "{}", text.len());
    assert_eq!(store.standing(CHANNEL).await.unwrap().waiting, 1);
}

#[tokio::test]
async fn of_many_the_oldest_are_taken_first_and_what_was_given_up_is_bounded() {
    let (_house, opened) = House::opened();
    let store = opened.store.clone();
    let many = Delivery::DEAD_KEPT_MAX as u64 + 10;
    let all = (0..many).rev().map(delivery).collect();
    store.add(all).await.unwrap();
    let first = take(&*store, 2).await;
    assert_eq!(bodies(&first), ["body 0", "body 1"]);
    let failed = settled(Vec::new(), first);
    store.settle(failed, LATER).await.unwrap();
    let mut dead = take(&*store, usize::MAX).await;
    for (delivery, number) in dead.iter_mut().zip(0..) {
        delivery.dead_at = Some(LATER.plus_ms(number));
    }
    let failed = settled(Vec::new(), dead);
    store.settle(failed, LATER).await.unwrap();
    assert_eq!(store.drop_dead(LATER).await, Ok(10));
    let standing = store.standing(CHANNEL).await.unwrap();
    assert_eq!(standing.waiting, 0);
    assert_eq!(standing.dead, Delivery::DEAD_KEPT_MAX as u64);
    let over = LATER.plus_ms(Delivery::DEAD_KEPT_MS + many);
    assert_eq!(store.drop_dead(over).await, Ok(standing.dead));
}
