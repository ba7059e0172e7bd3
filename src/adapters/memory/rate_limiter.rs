//! Windows in a map.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::client::LimitKey;
use crate::domain::decision::Decision;
use crate::domain::time::Timestamp;
use crate::domain::window::{Usage, Window};
use crate::ports::{Acquired, Charge, Grant, LimiterError, RateLimiter};

use super::lock;

/// Windows in a map behind one lock. It never forgets one, so it is for tests only.
#[derive(Debug, Default)]
pub struct MemoryRateLimiter {
    windows: Mutex<HashMap<LimitKey, Window>>,
}

#[async_trait]
impl RateLimiter for MemoryRateLimiter {
    async fn acquire(&self, charges: &[Charge], now: Timestamp) -> Result<Acquired, LimiterError> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for charge in charges {
            let usage = peek(&mut windows, charge, now);
            let is_violated = usage.counted >= charge.quota.count();
            decision.push(charge.standing(usage, is_violated));
        }
        let mut grant = Grant::default();
        if !decision.is_refused() {
            decision = Decision::default();
            for charge in charges {
                let window = windows.entry(charge.key).or_default();
                if let Ok(admission) = window.admit(charge.quota, now) {
                    decision.push(charge.standing(admission.usage, false));
                    grant.entries.push((*charge, admission.at));
                }
            }
        }
        Ok(Acquired { decision, grant })
    }

    async fn peek(&self, charges: &[Charge], now: Timestamp) -> Result<Decision, LimiterError> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for charge in charges {
            let usage = peek(&mut windows, charge, now);
            decision.push(charge.standing(usage, false));
        }
        Ok(decision)
    }

    async fn refund(&self, grant: Grant, now: Timestamp) -> Result<Decision, LimiterError> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for (charge, admitted) in grant.entries {
            let window = windows.entry(charge.key).or_default();
            let usage = window.refund(admitted, charge.quota, now);
            decision.push(charge.standing(usage, false));
        }
        Ok(decision)
    }
}

fn peek(windows: &mut HashMap<LimitKey, Window>, charge: &Charge, now: Timestamp) -> Usage {
    windows
        .entry(charge.key)
        .or_default()
        .peek(charge.quota, now)
}
