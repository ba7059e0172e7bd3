//! Warnings before all clients together use up a policy.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::domain::{CountedBy, Decision, PolicyName, Standing};

/// Warns when a policy that counts all clients together is used to 80 % and to 100 %. Each warning comes
/// once, until usage has fallen below 50 %.
#[derive(Debug, Default)]
pub(super) struct CeilingWarnings {
    /// Percentage in the last warning about each policy, or 0.
    warned: [AtomicU8; PolicyName::ALL.len()],
}

impl CeilingWarnings {
    pub(super) fn observe(&self, decision: &Decision) {
        for standing in decision.standings() {
            if standing.policy.counted_by() == CountedBy::Everyone {
                self.compare(standing);
            }
        }
    }

    fn compare(&self, standing: &Standing) {
        let Some(warned) = self.warned.get(usize::from(standing.policy.tag())) else {
            return;
        };
        let (used, count) = (standing.used(), standing.quota.count());
        let percent = u64::from(used) * 100 / u64::from(count);
        let threshold = match percent {
            0..50 => {
                warned.store(0, Relaxed);
                return;
            }
            50..80 => return,
            80..100 => 80,
            100.. => 100,
        };
        if warned.fetch_max(threshold, Relaxed) < threshold {
            tracing::warn!(
                policy = standing.policy.as_str(),
                limit = %standing.quota,
                used,
                "{}",
                if threshold == 100 {
                    "all clients together have used up a policy: everybody is refused until older \
                     requests expire. If the traffic is genuine, raise the limit with --limit"
                } else {
                    "all clients together have used 80 % of a policy: at 100 % everybody is refused. \
                     If the traffic is genuine, raise the limit with --limit"
                }
            );
        }
    }
}
