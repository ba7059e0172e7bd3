//! Warnings when all clients together use up what a policy allows them.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::domain::decision::{Decision, Standing};
use crate::domain::policy::{CountedBy, PolicyName};

/// Tells the operator that a policy on everybody is nearly or wholly used up: once for each of the
/// two, until less than half is used again.
#[derive(Debug, Default)]
pub(super) struct CeilingWarnings {
    /// The share of each policy, in percent, that was last warned of.
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
        let share = match percent {
            0..50 => {
                warned.store(0, Ordering::Relaxed);
                return;
            }
            50..80 => return,
            80..100 => 80,
            100.. => 100,
        };
        if warned.fetch_max(share, Ordering::Relaxed) < share {
            tracing::warn!(
                policy = standing.policy.as_str(),
                limit = %standing.quota,
                used,
                "{}",
                if share == 100 {
                    "all clients together have used up a policy: everybody is refused until places \
                     are free. If they are genuine, raise it with --limit"
                } else {
                    "all clients together have used 80 % of a policy: at 100 % everybody is refused. \
                     If they are genuine, raise it with --limit"
                }
            );
        }
    }
}
