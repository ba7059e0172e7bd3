//! What is to be delivered by several nodes: each delivery is one node's at a time.

use std::collections::BTreeSet;

use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{Channel, Delivery, DeliveryId, DeliveryKind, Turn};
use landing_api::ports::DeliveryQueue;

use crate::fixtures::settled;
use crate::postgres::open;
use crate::prelude::*;

const CHANNEL: Channel = Channel::Webhook;

fn deliveries(count: u64) -> Vec<Delivery> {
    let (kind, token) = (DeliveryKind::Subscribed, LeaveToken::from_bytes([7; 16]));
    let at = |number| Timestamp::from_ms(START.as_ms() + number);
    let id = |number| DeliveryId::new(kind, &token, at(number));
    let delivery = |number| Delivery::new(id(number), kind, None, "told".to_owned(), at(number));
    (0..count).map(delivery).collect()
}

async fn take(store: &PostgresStore) -> Vec<DeliveryId> {
    let mut taken = Vec::new();
    loop {
        let due = store
            .take_due(CHANNEL, 7, &Turn::default(), START)
            .await
            .unwrap();
        if due.is_empty() {
            return taken;
        }
        taken.extend(due.into_iter().map(|it| it.id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_three_nodes_each_takes_others_and_what_one_left_another_makes() {
    let server = Postgres::start().await;
    let nodes = [
        server.store().await,
        open(&server.url()).await.unwrap(),
        open(&server.url()).await.unwrap(),
    ];
    let [first, second, third] = &nodes;
    let all = deliveries(300);
    let ids: BTreeSet<_> = all.iter().map(|it| it.id).collect();
    first.add(all.clone()).await.unwrap();
    // What is added again was added before.
    first.add(all).await.unwrap();
    let (a, b, c) = tokio::join!(take(first), take(second), take(third));
    let taken: Vec<_> = [&a[..], &b, &c].concat();
    assert_eq!(taken.len(), 300);
    assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), ids);
    // Two have made theirs; the third is gone, and its leases run out.
    second.settle(settled(a, Vec::new()), START).await.unwrap();
    second.settle(settled(b, Vec::new()), START).await.unwrap();
    assert!(take(first).await.is_empty());
    server
        .sql("UPDATE delivery SET leased_until = now() - interval '1 ms' RETURNING place")
        .await;
    let again: BTreeSet<_> = take(first).await.into_iter().collect();
    assert_eq!(again, c.into_iter().collect());
}
