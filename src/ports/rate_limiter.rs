//! The rate limiter.

use std::cmp::Reverse;

use arrayvec::ArrayVec;
use async_trait::async_trait;

use crate::domain::{
    Decision, LimitKey, MacKey, Network, POLICIES_PER_REQUEST_MAX, PolicyName, Quota, Standing,
    Timestamp, Usage,
};

/// Counts requests in sliding windows ([`crate::domain::window`]).
///
/// `now` is the caller's clock. An engine shared by several processes may use its own instead.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Charges one under every policy of `charges`, or none if any of them refuses. At most
    /// [`POLICIES_PER_REQUEST_MAX`] charges, each of a different policy. A refusal records nothing.
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError>;

    /// Like `acquire`, without waiting: writes the result to `admission`, which is empty. False if the limiter has
    /// to ask another process.
    fn acquire_now(
        &self,
        _charges: &[Charge<'_>],
        _now: Timestamp,
        _admission: &mut Admission,
    ) -> bool {
        false
    }

    /// The standing of the policies. Charges nothing.
    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError>;

    /// Like `peek`, without waiting. `None` if the limiter has to ask another process.
    fn peek_now(&self, _charges: &[Charge<'_>], _now: Timestamp) -> Option<Decision> {
        None
    }

    /// Removes exactly the entries that `receipt` names, unless they have expired, and returns the
    /// standing of their policies afterwards.
    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError>;

    /// The fullest windows of `policy` at `now` under its limit, at most `most`, fullest first. Empty windows
    /// are left out.
    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError>;

    /// Clears windows, as durably as charges are counted. Returns their number.
    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError>;

    /// Size and health, if the technology knows them.
    fn stats(&self) -> Option<LimiterStats> {
        None
    }

    /// Fails if the limiter is known not to be able to decide. Does not wait.
    fn check(&self) -> Result<(), LimiterError>;
}

/// A window and its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyWindow {
    /// The client, as a keyed hash.
    pub key: LimitKey,
    pub usage: Usage,
}

impl BusyWindow {
    /// Reduces `windows` to the result of [`RateLimiter::busiest`], in its order.
    pub fn keep_fullest(windows: &mut Vec<Self>, most: usize) {
        windows.retain(|window| window.usage.counted > 0);
        windows.sort_unstable_by_key(|busy| Reverse((busy.usage.counted, busy.key)));
        windows.truncate(most);
    }
}

/// The windows to reset.
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
    /// True if the window of `key` is included.
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
    /// Number of windows from which on new clients share windows.
    pub windows_max: usize,
    /// Size of the windows on disk, in bytes.
    pub disk_bytes: u64,
    /// True if the windows cannot be stored at present.
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
    /// An engine without room for another window may count the charge under the group of this network instead, whose
    /// hash few requests need. None for a window that must not be shared.
    pub group: Option<(Network, &'a MacKey)>,
}

impl Charge<'_> {
    /// The policy's standing at this usage of the window.
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
    /// The standing of every requested policy.
    pub decision: Decision,
    /// The charges made; empty on a refusal.
    pub receipt: Receipt,
}

/// The charges made, valid for one refund. Only the adapter that issued a receipt can interpret its
/// entries.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// True if this node alone counted them, because the shared engine was unavailable.
    pub is_local: bool,
    pub entries: ArrayVec<ReceiptEntry, POLICIES_PER_REQUEST_MAX>,
}

/// One charge of a receipt.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptEntry {
    /// The charge, with the key of the window that counted it.
    pub charge: Charge<'static>,
    /// The adapter's name for the entry.
    pub token: u64,
}

impl Receipt {
    /// Adds `charge`, counted by the window of `key`, for the adapter that issues the receipt.
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

    /// True if nothing was charged.
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
