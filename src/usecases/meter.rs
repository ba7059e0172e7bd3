//! Charging requests to policies, and refunding them.

use arrayvec::ArrayVec;

use crate::domain::{
    Client, CountedBy, Decision, LimitKey, MacKey, Network, POLICIES_PER_REQUEST_MAX, Policies,
    PolicyName, Subject, Timestamp,
};
use crate::metrics::Metrics;
use crate::ports::{Admission, Charge, Clock, LimiterError, RateLimiter};

/// The limiter, and the data for its charges.
#[derive(Clone, Copy)]
pub struct Meter<'a> {
    /// Counts the charges.
    pub limiter: &'a dyn RateLimiter,
    /// Read for the time of a refund: the failed operation may have taken long.
    pub clock: &'a dyn Clock,
    /// The quota of each policy.
    pub policies: &'a Policies,
    /// Hashes the subjects.
    pub key: &'a MacKey,
    /// Records charges, refunds, and their outcomes.
    pub metrics: &'a Metrics,
}

/// The policies that count every request.
pub const EVERY_REQUEST: [PolicyName; 2] = [PolicyName::Default, PolicyName::Ip];

/// The charges of a request.
pub type Charges<'a> = ArrayVec<Charge<'a>, POLICIES_PER_REQUEST_MAX>;

/// A request was not charged.
#[derive(Debug, thiserror::Error)]
pub enum ChargeError {
    /// A policy refuses.
    #[error("rate limited")]
    Refused(Decision),
    /// The limiter can't decide.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
}

impl<'a> Meter<'a> {
    /// Charges a request to the policies of [`EVERY_REQUEST`], if the limiter is in this process; false if it is not.
    /// Writes to `decision`.
    pub fn admit_now(&self, client: &Client, now: Timestamp, decision: &mut Decision) -> bool {
        let mut admission = Admission::default();
        let is_decided = self.acquire_now(&self.door_charges(client), now, &mut admission);
        *decision = admission.decision;
        is_decided
    }

    /// The charges of a request to the policies of [`EVERY_REQUEST`].
    pub fn door_charges(&self, client: &Client) -> Charges<'a> {
        let [default, ip] = EVERY_REQUEST;
        let subjects = [(default, client.subject()), (ip, client.network_subject())];
        self.charges(client.network, &subjects)
    }

    /// The charges of a request to the client's network alone.
    pub fn network_charges(&self, client: &Client) -> Charges<'a> {
        let subjects = [(PolicyName::Ip, client.network_subject())];
        self.charges(client.network, &subjects)
    }

    /// The refusal that awaits any request from the client's network, as far as it is known at once. Checked
    /// before a credential is looked up, so that a networked store isn't queried for endless made-up ones.
    pub fn known_refusal(&self, client: &Client, now: Timestamp) -> Option<Decision> {
        let charges = self.network_charges(client);
        let peeked = self.limiter.peek_now(&charges, now)?;
        let mut standing = *peeked.standings().first()?;
        standing.is_violated = standing.remaining() == 0;
        let mut decision = Decision::default();
        decision.push(standing);
        decision.is_refused().then_some(decision)
    }

    /// Charges each subject under its policy, or none of them, for a request from `network`.
    pub async fn charge(
        &self,
        network: Network,
        subjects: &[(PolicyName, Subject<'_>)],
        now: Timestamp,
    ) -> Result<Admission, ChargeError> {
        let charges = self.charges(network, subjects);
        let admission = self.acquire(&charges, now).await?;
        if admission.decision.is_refused() {
            return Err(ChargeError::Refused(admission.decision));
        }
        Ok(admission)
    }

    /// Charges an email to the network that caused it and to the total, or to neither.
    pub async fn charge_mail(
        &self,
        network: Option<LimitKey>,
        now: Timestamp,
    ) -> Result<Decision, LimiterError> {
        let everyone = LimitKey::new(self.key, PolicyName::MailAll, Subject::Everyone);
        let of_network = network.map(|key| (PolicyName::MailPrefix, key));
        let keys = of_network
            .into_iter()
            .chain([(PolicyName::MailAll, everyone)]);
        let charges = keys.filter_map(|(policy, key)| {
            Some(Charge {
                policy,
                quota: self.policies.quota(policy)?,
                key,
                group: None,
            })
        });
        let charges: ArrayVec<_, 2> = charges.collect();
        Ok(self.acquire(&charges, now).await?.decision)
    }

    /// Makes all charges or none. A refusal is a decision, not an error.
    pub async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let mut admission = Admission::default();
        if !self.limiter.acquire_now(charges, now, &mut admission) {
            admission = self.limiter.acquire(charges, now).await?;
        }
        self.metrics.record_decision(&admission.decision);
        Ok(admission)
    }

    /// Like `acquire`, but only if the limiter is in this process; false if it is not. The result is written to
    /// `admission`, which is empty.
    pub fn acquire_now(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        admission: &mut Admission,
    ) -> bool {
        let is_decided = self.limiter.acquire_now(charges, now, admission);
        self.metrics.record_decision(&admission.decision);
        is_decided
    }

    /// Refunds the charges of a failed operation, and returns the decision with the standings afterwards.
    ///
    /// Policies that count by network are not refunded: a failure does not use up the client's own quota, but
    /// a network may make no more failing attempts than successful ones. So failures can neither serve as an
    /// oracle nor be repeated without limit.
    pub async fn refund(&self, mut admission: Admission) -> Decision {
        let is_refunded = |policy: PolicyName| policy.counted_by() != CountedBy::Network;
        admission.receipt = admission.receipt.only(is_refunded);
        self.refund_all(admission).await
    }

    /// Refunds all charges of an operation that failed because of this service's own store, and returns the
    /// decision with the standings afterwards. The policies on all requests bound how often a client can
    /// repeat it.
    ///
    /// A limiter that can't refund is logged: the response reports the failure that caused the refund.
    pub async fn refund_all(&self, admission: Admission) -> Decision {
        let (mut decision, receipt) = (admission.decision, admission.receipt);
        if receipt.is_empty() {
            return decision;
        }
        match self.limiter.refund(receipt, self.clock.now()).await {
            Ok(refunded) => {
                self.metrics.record_refund(&refunded);
                decision.amend(&refunded);
            }
            Err(error) => tracing::warn!(%error, "a failed request stays charged"),
        }
        decision
    }

    /// One charge for each subject under its policy, for a request from `network`. Disabled
    /// policies charge nothing.
    pub fn charges(&self, network: Network, subjects: &[(PolicyName, Subject<'_>)]) -> Charges<'a> {
        let mut charges = Charges::new();
        for &(policy, subject) in subjects {
            let is_shared = !matches!(subject, Subject::Everyone);
            if let Some(quota) = self.policies.quota(policy) {
                // No request has more charges than fit.
                let _ = charges.try_push(Charge {
                    policy,
                    quota,
                    key: LimitKey::new(self.key, policy, subject),
                    group: is_shared.then_some((network, self.key)),
                });
            }
        }
        charges
    }
}
