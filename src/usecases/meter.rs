//! What the use cases count with: the limiter, the policies, and the key that hides who is counted.

use arrayvec::ArrayVec;

use crate::domain::client::{LimitKey, Network, Subject};
use crate::domain::decision::{Decision, POLICIES_PER_REQUEST_MAX};
use crate::domain::policy::{Policies, PolicyName};
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::{Charge, Grant, LimiterError, RateLimiter};

/// The charges of one step of a request.
pub type Charges = ArrayVec<Charge, POLICIES_PER_REQUEST_MAX>;

/// The limiter and what is needed to ask it.
#[derive(Clone, Copy)]
pub struct Meter<'a> {
    /// Counts.
    pub limiter: &'a dyn RateLimiter,
    /// How much each policy allows.
    pub policies: &'a Policies,
    /// Hides who is counted.
    pub key: &'a MacKey,
}

impl Meter<'_> {
    /// Takes back what `grant` charged for an operation that failed, and says how the policies of
    /// `decision` stand then.
    ///
    /// What counts the client's network stays charged: nobody pays for a failure out of their own
    /// quota, and yet a network can try no more often than if it had succeeded each time. So failures
    /// are neither an oracle nor a loop that costs nothing.
    ///
    /// # Errors
    /// [`LimiterError`] when the limiter cannot decide.
    pub async fn refund(
        &self,
        grant: Grant,
        mut decision: Decision,
        now: Timestamp,
    ) -> Result<Decision, LimiterError> {
        let grant = grant.only(|policy| !policy.counts_networks());
        if !grant.entries.is_empty() {
            decision.amend(&self.limiter.refund(grant, now).await?);
        }
        Ok(decision)
    }

    /// The charges for each subject under its policy, for a request from `network`. Policies that
    /// are off charge nothing.
    #[must_use]
    pub fn charges(&self, network: Network, subjects: &[(PolicyName, Subject<'_>)]) -> Charges {
        let mut charges = Charges::new();
        // Neighbours are often the same subject: it is hashed once.
        let mut hashed = None;
        for &(policy, subject) in subjects {
            let Some(quota) = self.policies.quota(policy) else {
                continue;
            };
            let hash = match hashed {
                Some((same, hash)) if same == subject => hash,
                Some(_) | None => subject.hashed(self.key),
            };
            hashed = Some((subject, hash));
            let charge = Charge {
                policy,
                quota,
                key: LimitKey::tagged(policy, hash),
                network: match subject {
                    Subject::Everyone => None,
                    Subject::Network(_)
                    | Subject::Credential(_)
                    | Subject::SignUp(..)
                    | Subject::Visitor(_) => Some(network),
                },
            };
            // No request is counted by more.
            if charges.try_push(charge).is_err() {
                break;
            }
        }
        charges
    }
}

impl std::fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter")
            .field("policies", self.policies)
            .finish_non_exhaustive()
    }
}
