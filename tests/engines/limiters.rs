//! The limiters that the contracts are run against: Redis, Valkey, and a node's own table before Redis.

use landing_api::adapters::cluster::FallbackRateLimiter;

use crate::fixtures::policies;
use crate::prelude::*;
use crate::twins::ManualClock;

/// Every adapter, and the servers they need. Charges must all have `quota`.
pub(crate) async fn limiters(quota: &str) -> (Vec<Redis>, Vec<Arc<dyn RateLimiter>>) {
    let mut servers = vec![Redis::start().await, Redis::start().await];
    servers.extend(Redis::start_valkey().await);
    let mut limiters: Vec<Arc<dyn RateLimiter>> = Vec::new();
    for server in &servers {
        let limiter = RedisRateLimiter::open(server.settings()).await;
        limiters.push(Arc::new(limiter.unwrap().with_given_time()));
    }
    let clock = Arc::new(ManualClock::new(START));
    let metrics = Arc::new(Metrics::new([]));
    let engine = Arc::clone(&limiters[0]);
    limiters[0] = FallbackRateLimiter::new(engine, 3, &policies(quota), metrics, clock).unwrap();
    (servers, limiters)
}
