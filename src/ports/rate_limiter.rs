//! The limiter: what is charged, what was granted, how it can be taken back.

use arrayvec::ArrayVec;
use async_trait::async_trait;

use crate::domain::client::{LimitKey, Network};
use crate::domain::decision::{Decision, POLICIES_PER_REQUEST_MAX, Standing};
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::time::Timestamp;
use crate::domain::window::Usage;

/// Counts requests in sliding windows ([`crate::domain::window`]).
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Charges one under every policy of `charges`, or none if any of them refuses. At most
    /// [`POLICIES_PER_REQUEST_MAX`] charges, each of another policy. A refusal records nothing.
    ///
    /// # Errors
    /// [`LimiterError`] when the limiter cannot decide.
    async fn acquire(&self, charges: &[Charge], now: Timestamp) -> Result<Acquired, LimiterError>;

    /// How the policies stand; charges nothing.
    ///
    /// # Errors
    /// [`LimiterError`] when the limiter cannot decide.
    async fn peek(&self, charges: &[Charge], now: Timestamp) -> Result<Decision, LimiterError>;

    /// Takes back exactly what `grant` charged, as far as it still counts, and says how the
    /// policies stand then.
    ///
    /// # Errors
    /// [`LimiterError`] when the limiter cannot decide.
    async fn refund(&self, grant: Grant, now: Timestamp) -> Result<Decision, LimiterError>;
}

/// One policy to count a request under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which policy.
    pub policy: PolicyName,
    /// Its numbers.
    pub quota: Quota,
    /// The window.
    pub key: LimitKey,
    /// The network whose newcomers share a window when there is no room for one more; nothing for
    /// a window that is never shared.
    pub network: Option<Network>,
}

impl Charge {
    /// How its policy stands when its window is as full as `usage` says.
    #[must_use]
    pub fn standing(&self, usage: Usage, is_violated: bool) -> Standing {
        Standing {
            policy: self.policy,
            quota: self.quota,
            usage,
            is_violated,
        }
    }
}

/// What [`RateLimiter::acquire`] says.
#[derive(Debug, Default)]
pub struct Acquired {
    /// How every policy of the charges stands now.
    pub decision: Decision,
    /// What was charged; empty on a refusal.
    pub grant: Grant,
}

/// Proof of what was charged, good for one refund.
#[derive(Debug, Default)]
pub struct Grant {
    /// Each charge with the key it was really made under and the instant it was recorded at.
    pub entries: ArrayVec<(Charge, Timestamp), POLICIES_PER_REQUEST_MAX>,
}

impl Grant {
    /// The part of it that was charged under the policies that `is_wanted` names; the rest stays
    /// charged.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(PolicyName) -> bool) -> Self {
        self.entries.retain(|(charge, _)| is_wanted(charge.policy));
        self
    }
}

/// The limiter cannot decide. The text is for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limiter unavailable: {0}")]
pub struct LimiterError(pub String);
