//! The node's own table behind an engine that may go away.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arrayvec::ArrayVec;
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::adapters::supervisor::supervise;
use crate::domain::macros::hidden;
use crate::domain::{
    Decision, LATE_ARRIVAL_MS_MAX, LimitKey, POLICIES_PER_REQUEST_MAX, Policies, PolicyName, Quota,
    Standing, Timestamp, Usage,
};
use crate::metrics::Metrics;
use crate::metrics::workers::Worker;
use crate::ports::{
    Admission, BusyWindow, Charge, Clock, LimiterError, LimiterStats, RateLimiter, Receipt,
    ReceiptEntry, WindowSet,
};

use super::SledRateLimiter;

/// Marks the tokens of receipts that are good for the own table alone.
const OWN: u64 = 1 << 63;

/// How often the engine's state is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// How long a refusal is repeated without asking the engine.
const REFUSAL_MS_MAX: u64 = 1000;
/// How many refusals are remembered, each in some 300 bytes. With one more, all are forgotten.
const REFUSALS_MAX: usize = 10_000;

/// Has an engine decide that several nodes share. While it is away this node decides alone, with its share
/// of each limit.
///
/// The own table counts what the engine admitted to this node, so that an outage is no fresh start.
///
/// Of the engine it needs to know more than the port says: the tokens of its receipts are the instants of
/// the charges by its clock, in milliseconds. The own table counts by that clock, too, so that a receipt
/// of the engine's gives back both charges.
///
/// A refusal is repeated for up to a second, so that a client that does not stop asking costs the engine
/// one question a second. What another node gives back or resets meanwhile is seen after that second.
pub struct GuardedRateLimiter {
    engine: Arc<dyn RateLimiter>,
    own: SledRateLimiter,
    nodes: u32,
    clock: Arc<EngineClock>,
    refusals: Mutex<Refusals>,
    metrics: Arc<Metrics>,
}

/// What the engine has refused, by the windows that were to be charged together.
#[derive(Default)]
struct Refusals(HashMap<Windows, Refusal>);

type Windows = ArrayVec<LimitKey, POLICIES_PER_REQUEST_MAX>;

struct Refusal {
    decision: Decision,
    /// When the request came, and when it was answered: it may have waited for its body in between.
    at: Timestamp,
    answered_at: Timestamp,
    /// Until then no window that refused has room.
    lasts_ms: u64,
}

impl Refusals {
    fn remember(
        &mut self,
        charges: &[Charge<'_>],
        decision: &Decision,
        at: Timestamp,
        answered_at: Timestamp,
    ) {
        let resets_ms = decision.violated().map(|it| it.usage.reset_ms);
        let lasts_ms = resets_ms.fold(REFUSAL_MS_MAX, u64::min);
        if self.0.len() >= REFUSALS_MAX {
            self.0.clear();
        }
        let decision = decision.clone();
        let refusal = Refusal {
            decision,
            at,
            answered_at,
            lasts_ms,
        };
        self.0.insert(windows(charges), refusal);
    }

    /// The refusal of these very charges, as it is for a request that came `now` and asks at `asked_at`.
    fn find(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        asked_at: Timestamp,
    ) -> Option<Decision> {
        let refusal = self.0.get(&windows(charges))?;
        let waited_ms = asked_at.ms_since(refusal.answered_at);
        let age_ms = now.ms_since(refusal.at).max(waited_ms);
        let was_set_back = refusal.at.ms_since(now) > LATE_ARRIVAL_MS_MAX;
        let standings = refusal.decision.standings().iter();
        let quotas = standings.clone().map(|it| it.quota);
        if was_set_back
            || age_ms >= refusal.lasts_ms
            || quotas.ne(charges.iter().map(|it| it.quota))
        {
            return None;
        }
        let mut decision = Decision::default();
        for standing in standings {
            let usage = Usage {
                reset_ms: standing.usage.reset_ms.saturating_sub(age_ms),
                ..standing.usage
            };
            decision.push(Standing { usage, ..*standing });
        }
        Some(decision)
    }

    /// Forgets those that any of these windows is part of.
    fn forget(&mut self, is_meant: impl Fn(&LimitKey) -> bool) {
        self.0.retain(|windows, _| !windows.iter().any(&is_meant));
    }
}

fn windows(charges: &[Charge<'_>]) -> Windows {
    let keys = charges.iter().map(|charge| charge.key);
    keys.take(POLICIES_PER_REQUEST_MAX).collect()
}

/// The engine's clock as this node knows it.
struct EngineClock {
    node: Arc<dyn Clock>,
    /// What has to be added to the node's time, in milliseconds. Learnt from each admission, which is taken to
    /// be made halfway between question and answer.
    ahead_ms: AtomicI64,
}

impl EngineClock {
    /// The engine's time when the node's is `now`.
    fn at(&self, now: Timestamp) -> Timestamp {
        let ahead_ms = self.ahead_ms.load(Relaxed);
        Timestamp::from_ms(now.as_ms().saturating_add_signed(ahead_ms))
    }

    /// The node asked at `asked_at`, and has just been told that it was `engine` meanwhile.
    fn learn(&self, engine: Timestamp, asked_at: Timestamp) {
        let answered_at = self.node.now();
        let halfway = asked_at.plus_ms(answered_at.ms_since(asked_at) / 2);
        let ahead_ms = engine.as_ms().wrapping_sub(halfway.as_ms());
        self.ahead_ms.store(ahead_ms.cast_signed(), Relaxed);
    }
}

impl Clock for EngineClock {
    fn now(&self) -> Timestamp {
        self.at(self.node.now())
    }
}

impl GuardedRateLimiter {
    /// Guards `engine`, which `nodes` nodes share. Must be called within a runtime, which watches the
    /// engine.
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
        let clock = Arc::new(EngineClock {
            node: clock,
            ahead_ms: AtomicI64::default(),
        });
        let own = SledRateLimiter::in_memory(policies, clock.now());
        own.start_thread(Arc::<EngineClock>::clone(&clock))?;
        let guarded = Arc::new(Self {
            engine,
            own,
            nodes: nodes.max(1),
            clock,
            refusals: Mutex::default(),
            metrics,
        });
        let watched = Arc::downgrade(&guarded);
        let watching = move |stop| watch(Weak::clone(&watched), stop);
        let stop = CancellationToken::new();
        supervise(Worker::LimitsWatch, &guarded.metrics, &stop, watching);
        Ok(guarded)
    }

    /// This node's part of a limit.
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

    /// Counts what the engine has charged.
    fn count(&self, charges: &[Charge<'_>], receipt: &Receipt, asked_at: Timestamp) {
        if let Some(first) = receipt.entries().first() {
            self.clock.learn(Timestamp::from_ms(first.token), asked_at);
        }
        for (charge, entry) in charges.iter().zip(receipt.entries()) {
            // One by one: a window that is full here must not keep another from counting.
            let at = Timestamp::from_ms(entry.token);
            self.own.table.acquire(std::slice::from_ref(charge), at);
        }
    }

    fn acquire_alone(&self, charges: &[Charge<'_>], now: Timestamp) -> Admission {
        self.metrics.local_decisions.increase();
        let admission = self
            .own
            .table
            .acquire(&self.shared(charges), self.clock.at(now));
        Admission {
            receipt: relabelled(admission.receipt.entries(), |token| token | OWN),
            ..admission
        }
    }

    fn peek_alone(&self, charges: &[Charge<'_>], now: Timestamp) -> Decision {
        self.own
            .table
            .peek(&self.shared(charges), self.clock.at(now))
    }

    /// Records whether the engine is away, and logs a change. Logs the end of each run of requests that this
    /// node decided alone.
    fn observe(&self, run: &mut LocalRun) {
        if let Some(decisions) = run.ended_with(self.metrics.local_decisions.get()) {
            tracing::warn!(
                decisions,
                "this node decided so many requests alone: the engine of the limits was away, or answered late"
            );
        }
        let checked = self.engine.check();
        if !self.metrics.limits_engine.set_away(checked.is_err()) {
            return;
        }
        match checked {
            Ok(()) => tracing::info!("the engine of the limits decides again"),
            Err(error) => tracing::warn!(
                %error,
                nodes = self.nodes,
                "the engine of the limits is away, or a part of it: this node decides alone about those windows, \
                 with its share of each limit"
            ),
        }
    }
}

/// Decisions without the engine, each soon after the one before.
#[derive(Default)]
struct LocalRun {
    before: u64,
    last: u64,
}

impl LocalRun {
    /// How many the run had that has ended, when there were `count` in all since the start. Asked at each tick.
    fn ended_with(&mut self, count: u64) -> Option<u64> {
        let goes_on = std::mem::replace(&mut self.last, count) != count;
        if goes_on || count == self.before {
            return None;
        }
        let before = std::mem::replace(&mut self.before, count);
        Some(count - before)
    }
}

async fn watch(guarded: Weak<GuardedRateLimiter>, stop: CancellationToken) {
    let mut run = LocalRun::default();
    let mut ticks = interval(WATCH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match guarded.upgrade() {
            Some(guarded) => guarded.observe(&mut run),
            None => return stop.cancel(),
        }
    }
}

/// A receipt for the same charges under other tokens.
fn relabelled(entries: &[ReceiptEntry], relabel: impl Fn(u64) -> u64) -> Receipt {
    let mut receipt = Receipt::default();
    for entry in entries {
        receipt.push(&entry.charge, entry.charge.key, relabel(entry.token));
    }
    receipt
}

#[async_trait]
impl RateLimiter for GuardedRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let asked_at = self.clock.node.now();
        if let Some(decision) = self.refusals.lock().find(charges, now, asked_at) {
            return Ok(Admission {
                decision,
                ..Admission::default()
            });
        }
        Ok(match self.engine.acquire(charges, now).await {
            Ok(admission) if admission.decision.is_refused() => {
                let mut refusals = self.refusals.lock();
                refusals.remember(charges, &admission.decision, now, self.clock.node.now());
                admission
            }
            Ok(admission) => {
                self.count(charges, &admission.receipt, asked_at);
                admission
            }
            Err(_away) => self.acquire_alone(charges, now),
        })
    }

    fn known_refusal(&self, charge: &Charge<'_>, now: Timestamp) -> Option<Decision> {
        let asked_at = self.clock.node.now();
        let charges = std::slice::from_ref(charge);
        self.refusals.lock().find(charges, now, asked_at)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        let peeked = self.engine.peek(charges, now).await;
        Ok(peeked.unwrap_or_else(|_away| self.peek_alone(charges, now)))
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let is_own = |entry: &ReceiptEntry| entry.token & OWN != 0;
        let entries = receipt.entries();
        let own = relabelled(entries, |token| token & !OWN);
        let charges: Vec<_> = entries.iter().map(|entry| entry.charge).collect();
        let refunded = self.own.table.refund(&own, self.clock.at(now));
        if entries.iter().any(is_own) {
            return Ok(refunded);
        }
        let refunded = self.engine.refund(receipt, now).await;
        let has = |key: &LimitKey| charges.iter().any(|charge| charge.key == *key);
        self.refusals.lock().forget(has);
        Ok(refunded.unwrap_or_else(|_away| self.peek_alone(&charges, now)))
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
                let (quota, now) = (self.share(quota), self.clock.at(now));
                self.own.busiest(policy, quota, most, now).await
            }
        }
    }

    /// Not a success while the engine is away: its windows still count.
    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        self.own.reset(which).await?;
        let reset = self.engine.reset(which).await;
        self.refusals.lock().forget(|key| which.contains(key));
        reset
    }

    fn stats(&self) -> Option<LimiterStats> {
        self.engine.stats()
    }

    /// Always: without the engine the node decides alone.
    fn check(&self) -> Result<(), LimiterError> {
        Ok(())
    }
}

hidden!(GuardedRateLimiter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_local_decisions_is_told_when_it_has_ended() {
        let mut run = LocalRun::default();
        for (count, ended) in [
            (0, None),
            (3, None),
            (5, None),
            (5, Some(5)),
            (5, None),
            (6, None),
            (6, Some(1)),
            (6, None),
        ] {
            assert_eq!(run.ended_with(count), ended, "{count}");
        }
    }

    #[test]
    fn so_many_refusals_are_remembered_and_no_more() {
        let mut refusals = Refusals::default();
        let quota = Quota::new(1, 60_000).unwrap();
        let usage = Usage {
            counted: 1,
            reset_ms: 60_000,
        };
        let at = Timestamp::from_ms(1);
        for number in 0..=REFUSALS_MAX {
            let charge = Charge {
                policy: PolicyName::Ip,
                quota,
                key: LimitKey::tagged(PolicyName::Ip, (number as u128).to_be_bytes()),
                group: None,
            };
            let mut decision = Decision::default();
            decision.push(charge.standing(usage, true));
            refusals.remember(&[charge], &decision, at, at);
            assert!(refusals.0.len() <= REFUSALS_MAX);
            assert!(refusals.find(&[charge], at, at).is_some());
            // A request that came at the same time and is decided later.
            let later = at.plus_ms(REFUSAL_MS_MAX);
            assert!(refusals.find(&[charge], at, later).is_none());
        }
        assert_eq!(refusals.0.len(), 1);
    }
}
