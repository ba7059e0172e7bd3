//! Refusals that a node remembers: a client that does not stop asking costs Redis next to nothing.

use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::limiter::GuardedRateLimiter;
use landing_api::adapters::redis::RedisRateLimiter;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::metrics::Metrics;
use landing_api::ports::{RateLimiter, WindowSet};
use tokio::time::Instant;

use crate::engine::until;
use crate::fixtures::{START, acquire, charge, is_admitted, policies, refund, usage};
use crate::limits_away::{Node, client, now};
use crate::redis::Redis;
use crate::twins::ManualClock;

/// How many scripts the server has run.
fn scripts(redis: &Redis) -> usize {
    let stats = redis.cli(&["info", "commandstats"]);
    let calls = stats.lines().filter_map(|line| {
        let (_, numbers) = line.split_once("cmdstat_eval")?;
        let (_, calls) = numbers.split_once("calls=")?;
        calls.split(',').next()?.parse::<usize>().ok()
    });
    calls.sum()
}

#[tokio::test]
async fn a_refused_client_that_goes_on_asking_costs_a_script_a_second() {
    let (redis, node) = Node::with_engine().await;
    assert_eq!(node.admitted(client(1), 9).await, 9);
    let (before, begun) = (scripts(&redis), Instant::now());
    let mut waits = Vec::new();
    for _ in 0..1000 {
        let refused = acquire(&*node.limiter, &[client(1)], now()).await;
        assert!(refused.decision.is_refused() && refused.receipt.is_empty());
        let (counted, reset_ms) = usage(&refused.decision, PolicyName::Ip);
        assert_eq!(counted, 9);
        waits.push(reset_ms);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let asked = scripts(&redis) - before;
    // The node itself tries the server each second.
    assert!(asked <= 2 * seconds + 1, "{asked} in {seconds} s");
    let (first, last) = (waits[0], waits[999]);
    // Engine and node may read their clocks a few milliseconds apart.
    let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let waited = 900..=elapsed_ms + 50;
    assert!(waited.contains(&(first - last)), "{first} {last}");
    // Others are asked about, and so is this client together with others.
    assert!(is_admitted(&*node.limiter, &[client(2)], now()).await);
    let before = scripts(&redis);
    let together = [charge(PolicyName::Keys, "9/1h", 1), client(1)];
    assert!(!is_admitted(&*node.limiter, &together, now()).await);
    assert!(scripts(&redis) > before);
}

#[tokio::test]
async fn what_is_reset_or_given_back_is_seen_within_a_second() {
    const SECOND: Duration = Duration::from_secs(1);
    let (redis, node) = Node::with_engine().await;
    let operator = RedisRateLimiter::open(redis.settings()).await.unwrap();
    let charges = [client(1)];
    for which in [
        WindowSet::All,
        WindowSet::Policy(PolicyName::Ip),
        WindowSet::Window(charges[0].key),
    ] {
        assert_eq!(node.admitted(client(1), 10).await, 9);
        let begun = Instant::now();
        assert_eq!(operator.reset(which).await.unwrap(), 1);
        until("the client to be admitted", async || {
            is_admitted(&*node.limiter, &charges, now()).await
        })
        .await;
        assert!(begun.elapsed() < 2 * SECOND, "{:?}", begun.elapsed());
        // The node itself forgets at once.
        assert_eq!(node.admitted(client(1), 10).await, 8);
        assert_eq!(node.limiter.reset(which).await.unwrap(), 1);
        let receipt = acquire(&*node.limiter, &charges, now()).await.receipt;
        assert_eq!(node.admitted(client(1), 10).await, 8);
        refund(&*node.limiter, receipt, now()).await;
        assert_eq!(node.admitted(client(1), 10).await, 1);
        assert_eq!(node.limiter.reset(which).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn a_refusal_ends_when_there_is_room_or_the_clock_is_set_back() {
    let redis = Redis::start().await;
    let engine = RedisRateLimiter::with_given_time(redis.settings()).await;
    let (engine, metrics) = (Arc::new(engine.unwrap()), Arc::new(Metrics::new([])));
    let (quota, clock) = ("2/10s", Arc::new(ManualClock::new(START)));
    let node = GuardedRateLimiter::new(engine, 3, &policies(quota), metrics, clock);
    let node = node.unwrap();
    let charges = [
        charge(PolicyName::Default, "5/10s", 1),
        charge(PolicyName::Ip, quota, 1),
    ];
    for ms in [0, 400] {
        assert!(is_admitted(&*node, &charges, START.plus_ms(ms)).await);
    }
    let shown = async |ms| {
        let refused = acquire(&*node, &charges, START.plus_ms(ms)).await.decision;
        let violated: Vec<_> = refused.violated().map(|it| it.policy).collect();
        assert_eq!(violated, [PolicyName::Ip]);
        (
            usage(&refused, PolicyName::Default),
            usage(&refused, PolicyName::Ip),
        )
    };
    for ms in [9000, 9001, 9500, 9900, 9999] {
        let wait = 10_000 - ms;
        assert_eq!(shown(ms).await, ((2, wait), (2, wait)), "{ms}");
    }
    assert!(is_admitted(&*node, &charges, START.plus_ms(10_000)).await);
    // Another limit is another question.
    assert_eq!(shown(10_001).await.1, (2, 399));
    let raised = [charges[0], charge(PolicyName::Ip, "3/10s", 1)];
    assert!(is_admitted(&*node, &raised, START.plus_ms(10_001)).await);
    // The clock is set back by an hour, then the windows are emptied elsewhere.
    assert_eq!(shown(10_001).await.1.0, 2);
    assert_eq!(redis.cli(&["flushall"]), "OK");
    let early = Timestamp::from_ms(START.as_ms() - 3_600_000);
    assert!(is_admitted(&*node, &charges, early).await);
}
