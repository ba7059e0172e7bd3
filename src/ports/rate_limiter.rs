//! The rate limiter.

use std::cmp::Reverse;

use arrayvec::ArrayVec;
use async_trait::async_trait;

use crate::domain::{
    ClientGroup, Decision, LimitKey, POLICIES_PER_REQUEST_MAX, PolicyName, Quota, Standing,
    Timestamp, Usage,
};

/// Counts requests in sliding windows ([`crate::domain::window`]).
///
/// `now` is the caller's clock. An engine that several processes share may use its own instead.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Charges one under every policy of `charges`, or none if any of them refuses. At most
    /// [`POLICIES_PER_REQUEST_MAX`] charges, each of another policy. A refusal records nothing.
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError>;

    /// Like `acquire`, without waiting. `None` if the limiter has to ask another process.
    fn acquire_now(&self, _charges: &[Charge<'_>], _now: Timestamp) -> Option<Admission> {
        None
    }

    /// The refusal of `charge`, if it is known without asking anybody else.
    fn known_refusal(&self, _charge: &Charge<'_>, _now: Timestamp) -> Option<Decision> {
        None
    }

    /// The standing of the policies. Charges nothing.
    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError>;

    /// Removes exactly the entries that `receipt` names, unless they have expired, and returns the
    /// standing of their policies afterwards.
    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError>;

    /// The windows of `policy` that count most at `now` under its limit, at most `most`, the fullest first.
    /// Windows that count nothing are left out.
    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError>;

    /// Forgets what windows count, as durably as charges are counted, and returns how many they were.
    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError>;

    /// How many windows there are, if the technology knows.
    fn stats(&self) -> Option<LimiterStats> {
        None
    }

    /// Whether the limiter can decide, as far as it knows at once.
    fn check(&self) -> Result<(), LimiterError>;
}

/// A window, and how full it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyWindow {
    /// Who is counted, as a hash.
    pub key: LimitKey,
    /// How full the window is.
    pub usage: Usage,
}

impl BusyWindow {
    /// Leaves of `windows` what [`RateLimiter::busiest`] gives, in its order.
    pub fn keep_fullest(windows: &mut Vec<Self>, most: usize) {
        windows.retain(|it| it.usage.counted > 0);
        windows.sort_unstable_by_key(|it| Reverse((it.usage.counted, it.key)));
        windows.truncate(most);
    }
}

/// Which windows are reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSet {
    /// Those of all policies.
    All,
    /// Those of one policy.
    Policy(PolicyName),
    /// One.
    Window(LimitKey),
}

impl WindowSet {
    /// Whether the window of `key` is among them.
    pub fn contains(&self, key: &LimitKey) -> bool {
        match self {
            Self::All => key.policy().is_some(),
            Self::Policy(policy) => key.policy() == Some(*policy),
            Self::Window(window) => window == key,
        }
    }
}

/// The size and health of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterStats {
    /// Windows in memory.
    pub windows: usize,
    /// The number of windows at which newcomers share windows.
    pub windows_max: usize,
    /// Bytes that the windows take on disk.
    pub disk_bytes: u64,
    /// Whether the windows cannot be stored at present.
    pub is_store_failing: bool,
}

/// A policy to count a request under.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    pub policy: PolicyName,
    /// The policy's limit.
    pub quota: Quota,
    /// The window that counts it.
    pub key: LimitKey,
    /// An engine that has no room for another window may count the charge under this group instead.
    /// None for a window that must not be shared.
    pub group: Option<ClientGroup<'a>>,
}

impl Charge<'_> {
    /// The standing of the policy at this usage of the window.
    pub fn standing(&self, usage: Usage, is_violated: bool) -> Standing {
        Standing {
            policy: self.policy,
            quota: self.quota,
            usage,
            is_violated,
        }
    }
}

/// The result of [`RateLimiter::acquire`].
#[derive(Debug, Default)]
pub struct Admission {
    /// The standing of every policy that was asked.
    pub decision: Decision,
    /// What was charged; empty on a refusal.
    pub receipt: Receipt,
}

/// What was charged, good for one refund. Only the adapter that issued a receipt knows what its
/// entries mean.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    issuer: Issuer,
    entries: ArrayVec<ReceiptEntry, POLICIES_PER_REQUEST_MAX>,
}

/// Who counted the charges of a receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Issuer {
    /// The limiter that was asked.
    #[default]
    Limiter,
    /// This node alone, because the engine that several nodes share was away.
    Fallback,
}

/// One charge of a receipt.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptEntry {
    /// The charge. Its key is that of the window that counted it.
    pub charge: Charge<'static>,
    /// The adapter's name for the entry.
    pub token: u64,
}

impl Receipt {
    /// The same charges, counted by `issuer`.
    #[must_use]
    pub fn issued_by(self, issuer: Issuer) -> Self {
        Self { issuer, ..self }
    }

    /// Who counted them.
    pub const fn issuer(&self) -> Issuer {
        self.issuer
    }

    /// Adds `charge` as the window of `key` counted it, for the adapter that issues the receipt.
    pub fn push(&mut self, charge: &Charge<'_>, key: LimitKey, token: u64) {
        let charge = Charge {
            policy: charge.policy,
            quota: charge.quota,
            key,
            group: None,
        };
        if !self.entries.is_full() {
            self.entries.push(ReceiptEntry { charge, token });
        }
    }

    /// The entries, for the adapter that issued the receipt.
    pub fn entries(&self) -> &[ReceiptEntry] {
        &self.entries
    }

    /// The policies that were charged.
    pub fn policies(&self) -> ArrayVec<PolicyName, POLICIES_PER_REQUEST_MAX> {
        self.entries
            .iter()
            .map(|entry| entry.charge.policy)
            .collect()
    }

    /// Whether nothing was charged.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The part that was charged under the policies that `is_wanted` selects; the rest stays
    /// charged.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(PolicyName) -> bool) -> Self {
        self.entries.retain(|entry| is_wanted(entry.charge.policy));
        self
    }
}

/// The limiter cannot decide. The text is for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limiter unavailable: {0}")]
pub struct LimiterError(pub String);
