//! Windows in a map.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::client::LimitKey;
use crate::domain::decision::Decision;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::time::Timestamp;
use crate::domain::window::Window;
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::lock;

type Windows = HashMap<LimitKey, Window>;

/// Windows in a map behind one lock. It never removes one, so it is for tests only.
#[derive(Debug, Default)]
pub struct MemoryRateLimiter {
    windows: Mutex<Windows>,
}

#[async_trait]
impl RateLimiter for MemoryRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let mut windows = lock(&self.windows);
        let mut admission = Admission {
            decision: peek(&mut windows, charges, now, true),
            receipt: Receipt::default(),
        };
        if !admission.decision.is_refused() {
            admission.decision = Decision::default();
            for charge in charges {
                let window = windows.entry(charge.key).or_default();
                if let Ok(admitted) = window.admit(charge.quota, now) {
                    let standing = charge.standing(admitted.usage, false);
                    admission.decision.push(standing);
                    let at_ms = admitted.at.as_ms();
                    admission.receipt.push(charge, charge.key, at_ms);
                }
            }
        }
        Ok(admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        Ok(peek(&mut lock(&self.windows), charges, now, false))
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for entry in receipt.entries() {
            let admitted = Timestamp::from_ms(entry.token);
            let window = windows.entry(entry.key).or_default();
            let usage = window.refund(admitted, entry.quota, now);
            decision.push(entry.standing(usage));
        }
        Ok(decision)
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let mut windows = lock(&self.windows);
        let of_policy = windows
            .iter_mut()
            .filter(|(key, _)| key.policy() == Some(policy));
        let mut busiest: Vec<_> = of_policy
            .map(|(key, window)| BusyWindow {
                key: *key,
                usage: window.peek(quota, now),
            })
            .collect();
        BusyWindow::keep_fullest(&mut busiest, most);
        Ok(busiest)
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let mut windows = lock(&self.windows);
        let before = windows.len();
        windows.retain(|key, _| !which.contains(key));
        Ok(before - windows.len())
    }

    async fn check(&self) -> Result<(), LimiterError> {
        Ok(())
    }
}

/// With `is_asking`, a full window is a violation.
fn peek(
    windows: &mut Windows,
    charges: &[Charge<'_>],
    now: Timestamp,
    is_asking: bool,
) -> Decision {
    let mut decision = Decision::default();
    for charge in charges {
        let window = windows.entry(charge.key).or_default();
        let usage = window.peek(charge.quota, now);
        let is_full = usage.counted >= charge.quota.count();
        decision.push(charge.standing(usage, is_asking && is_full));
    }
    decision
}
