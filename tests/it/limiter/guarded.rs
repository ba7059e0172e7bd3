//! A node behind an engine that may go away: it decides alone then, with its share of each limit.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use landing_api::adapters::cluster::FallbackRateLimiter;
use landing_api::domain::policy::Policies;
use landing_api::ports::{Charge, LimiterError};

use crate::fixtures::{acquire, admitted, refund, usage};
use crate::prelude::*;

/// One of three nodes, and whether the engine is away.
fn guarded() -> (Arc<FallbackRateLimiter>, Arc<AtomicBool>) {
    let is_away = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&is_away);
    let engine = FaultyRateLimiter::new(move |_call| match switch.load(Relaxed) {
        true => Err(LimiterError("switched off".to_owned())),
        false => Ok(()),
    });
    let guarded = FallbackRateLimiter::new(
        Arc::new(engine),
        3,
        &Policies::default(),
        Arc::new(Metrics::new([])),
        // It stands still, so that no window expires.
        Arc::new(ManualClock::new(START)),
    );
    (guarded.unwrap(), is_away)
}

fn limited_to(count: u32) -> [Charge<'static>; 1] {
    [charge(PolicyName::Ip, &format!("{count}/60s"), 1)]
}

#[tokio::test]
async fn a_node_alone_admits_its_share_rounded_up() {
    for (count, share) in [(1, 1), (2, 1), (3, 1), (4, 2), (9, 3), (10, 4)] {
        let (guarded, is_away) = guarded();
        is_away.store(true, Relaxed);
        let alone = admitted(&*guarded, &limited_to(count), START, 2 * share).await;
        assert_eq!(alone, share, "{count}");
    }
}

#[tokio::test]
async fn what_the_engine_admitted_counts_when_it_is_away() {
    let (guarded, is_away) = guarded();
    // Two of nine, and the share is three.
    let charges = limited_to(9);
    assert_eq!(admitted(&*guarded, &charges, START, 2).await, 2);
    is_away.store(true, Relaxed);
    assert_eq!(admitted(&*guarded, &charges, START, 2).await, 1);
}

#[tokio::test]
async fn a_refund_gives_back_the_charge_of_the_engine_and_that_of_the_node() {
    let (guarded, is_away) = guarded();
    let charges = limited_to(3);
    let admission = acquire(&*guarded, &charges, START).await;
    let refunded = refund(&*guarded, admission.receipt, START).await;
    assert_eq!(usage(&refunded, PolicyName::Ip).0, 0);
    is_away.store(true, Relaxed);
    // Its share of one is free again.
    assert_eq!(admitted(&*guarded, &charges, START, 2).await, 1);
}

#[tokio::test]
async fn a_refund_gives_back_what_the_node_gave_alone() {
    let (guarded, is_away) = guarded();
    is_away.store(true, Relaxed);
    let charges = limited_to(3);
    let admission = acquire(&*guarded, &charges, START).await;
    assert!(!is_admitted(&*guarded, &charges, START).await);
    refund(&*guarded, admission.receipt, START).await;
    assert!(is_admitted(&*guarded, &charges, START).await);
}
