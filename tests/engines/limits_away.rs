//! One Redis that goes away in many ways, with a node's own table behind it: limits hold, nothing fails.

use std::sync::Arc;

use landing_api::adapters::limiter::GuardedRateLimiter;
use landing_api::adapters::redis::RedisRateLimiter;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::metrics::Metrics;
use landing_api::ports::{Charge, Clock, RateLimiter};
use rustix::process::Signal;

use crate::engine::until;
use crate::fixtures::{admitted, charge, is_admitted, peek, policies};
use crate::redis::Redis;

const QUOTA: &str = "9/1h";
const LIMIT: usize = 9;
/// The share of one of three nodes.
const SHARE: usize = 3;

/// A node of three.
struct Node {
    limiter: Arc<GuardedRateLimiter>,
    metrics: Arc<Metrics>,
}

impl Node {
    async fn new(redis: &Redis) -> Self {
        let engine = RedisRateLimiter::open(redis.settings()).await.unwrap();
        Self::over(Arc::new(engine))
    }

    fn over(engine: Arc<dyn RateLimiter>) -> Self {
        let metrics = Arc::new(Metrics::new([]));
        let clock = Arc::new(SystemClock);
        let counted = Arc::clone(&metrics);
        let limiter = GuardedRateLimiter::new(engine, 3, &policies(QUOTA), counted, clock);
        Self {
            limiter: limiter.unwrap(),
            metrics,
        }
    }

    async fn until_away(&self, is_away: bool) {
        until("the engine's state", async || {
            self.metrics.limits_engine.is_away() == is_away
        })
        .await;
    }

    /// How many of `tries` are admitted.
    async fn admitted(&self, charge: Charge<'_>, tries: usize) -> usize {
        admitted(&*self.limiter, &[charge], now(), tries).await
    }

    fn local_decisions(&self) -> u64 {
        self.metrics.local_decisions.get()
    }
}

fn now() -> Timestamp {
    SystemClock.now()
}

fn client(host: u32) -> Charge<'static> {
    charge(PolicyName::Ip, QUOTA, host)
}

#[tokio::test]
async fn a_killed_server_leaves_each_node_its_share_and_comes_back_empty() {
    let mut redis = Redis::start().await;
    let node = Node::new(&redis).await;
    assert_eq!(node.admitted(client(1), 2).await, 2);
    assert_eq!(node.local_decisions(), 0);
    redis.kill();
    // What the engine admitted to this node counts.
    assert_eq!(node.admitted(client(1), LIMIT).await, SHARE - 2);
    assert_eq!(node.admitted(client(2), LIMIT).await, SHARE);
    assert_eq!(node.local_decisions(), 2 * LIMIT as u64);
    node.until_away(true).await;
    assert_eq!(node.metrics.limits_engine.losses.get(), 1);
    node.limiter.check().await.unwrap();
    redis.start_again().await;
    node.until_away(false).await;
    assert_eq!(node.admitted(client(1), LIMIT + 1).await, LIMIT);
    assert_eq!(node.local_decisions(), 2 * LIMIT as u64);
}

#[tokio::test]
async fn a_server_that_hangs_holds_up_three_calls_and_is_back_when_it_goes_on() {
    let redis = Redis::start().await;
    let node = Node::new(&redis).await;
    assert_eq!(node.admitted(client(1), 1).await, 1);
    redis.signal(Signal::STOP);
    assert_eq!(node.admitted(client(1), LIMIT).await, SHARE - 1);
    node.until_away(true).await;
    redis.signal(Signal::CONT);
    node.until_away(false).await;
    let before = node.local_decisions();
    assert!(is_admitted(&*node.limiter, &[client(2)], now()).await);
    assert_eq!(peek(&*node.limiter, client(2), now()).await.0, 1);
    assert_eq!(node.local_decisions(), before);
}
