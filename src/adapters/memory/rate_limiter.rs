//! Windows in a map.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::domain::client::LimitKey;
use crate::domain::decision::Decision;
use crate::domain::time::Timestamp;
use crate::domain::window::{Usage, Window};
use crate::ports::{Acquired, Charge, Grant, LimiterAnswer, RateLimiter};

use super::lock;

/// Windows in a map behind one lock. It never forgets one, so it is for tests only.
#[derive(Debug, Default)]
pub struct MemoryRateLimiter {
    windows: Mutex<HashMap<LimitKey, Window>>,
}

impl RateLimiter for MemoryRateLimiter {
    fn acquire<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Acquired> {
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
        LimiterAnswer::ready(Acquired { decision, grant })
    }

    fn peek<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Decision> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for charge in charges {
            let usage = peek(&mut windows, charge, now);
            decision.push(charge.standing(usage, false));
        }
        LimiterAnswer::ready(decision)
    }

    fn refund(&self, grant: Grant, now: Timestamp) -> LimiterAnswer<'_, Decision> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for (charge, admitted) in grant.entries {
            let window = windows.entry(charge.key).or_default();
            let usage = window.refund(admitted, charge.quota, now);
            decision.push(charge.standing(usage, false));
        }
        LimiterAnswer::ready(decision)
    }
}

fn peek(windows: &mut HashMap<LimitKey, Window>, charge: &Charge, now: Timestamp) -> Usage {
    windows
        .entry(charge.key)
        .or_default()
        .peek(charge.quota, now)
}
