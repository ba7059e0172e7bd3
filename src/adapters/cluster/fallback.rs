//! The node's own table behind an engine that may become unavailable.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;

use crate::adapters::limiter::SledRateLimiter;
use crate::domain::macros::hidden;
use crate::domain::{Decision, Policies, PolicyName, Quota, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{
    Admission, BusyWindow, Charge, Clock, LimiterError, RateLimiter, Receipt, WindowSet,
};

/// Lets an engine decide that several nodes share. While it is unavailable this node decides alone, with its share
/// of each limit.
///
/// The node's own table also counts the charges that the engine admitted for this node, so that an outage does not
/// reset the limits. The tokens of the engine's receipts are the instants of the charges, as in the node's own table:
/// a refund takes both back.
pub struct FallbackRateLimiter {
    engine: Arc<dyn RateLimiter>,
    own: SledRateLimiter,
    nodes: u32,
    metrics: Arc<Metrics>,
}

impl FallbackRateLimiter {
    /// The limiter of one of the `nodes` nodes that share `engine`.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn new(
        engine: Arc<dyn RateLimiter>,
        nodes: u32,
        policies: &Policies,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Arc<Self>> {
        let own = SledRateLimiter::in_memory(policies, clock.now());
        own.start_thread(clock)?;
        Ok(Arc::new(Self {
            engine,
            own,
            nodes: nodes.max(1),
            metrics,
        }))
    }

    /// This node's share of a limit.
    fn share(&self, quota: Quota) -> Quota {
        let count = quota.count().div_ceil(self.nodes).max(1);
        Quota::new(count, quota.window_ms()).unwrap_or(quota)
    }

    fn shared<'a>(&self, charges: &[Charge<'a>]) -> Vec<Charge<'a>> {
        let shared = charges.iter().map(|charge| Charge {
            quota: self.share(charge.quota),
            ..*charge
        });
        shared.collect()
    }
}

#[async_trait]
impl RateLimiter for FallbackRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let Ok(admission) = self.engine.acquire(charges, now).await else {
            self.metrics.local_decisions.increase();
            let mut admission = self.own.acquire(&self.shared(charges), now).await?;
            admission.receipt.is_local = true;
            return Ok(admission);
        };
        for (charge, entry) in charges.iter().zip(&admission.receipt.entries) {
            // One by one: a window that is full here must not keep another from counting.
            let at = Timestamp::from_ms(entry.token);
            self.own.acquire(std::slice::from_ref(charge), at).await?;
        }
        Ok(admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        match self.engine.peek(charges, now).await {
            Ok(decision) => Ok(decision),
            Err(_away) => self.own.peek(&self.shared(charges), now).await,
        }
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let refunded = self.own.refund(receipt.clone(), now).await;
        if receipt.is_local {
            return refunded;
        }
        let entries = receipt.entries.iter();
        let charges: Vec<_> = entries.map(|entry| entry.charge).collect();
        match self.engine.refund(receipt, now).await {
            Ok(decision) => Ok(decision),
            Err(_away) => self.own.peek(&self.shared(&charges), now).await,
        }
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        match self.engine.busiest(policy, quota, most, now).await {
            Ok(windows) => Ok(windows),
            Err(_away) => {
                let share = self.share(quota);
                self.own.busiest(policy, share, most, now).await
            }
        }
    }

    /// Fails while the engine is unavailable: its windows still count.
    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        self.own.reset(which).await?;
        self.engine.reset(which).await
    }

    /// Always succeeds: without the engine the node decides alone.
    fn check(&self) -> Result<(), LimiterError> {
        Ok(())
    }
}

hidden!(FallbackRateLimiter);
