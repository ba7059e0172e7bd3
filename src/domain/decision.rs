//! The limiter's decision on one request: the single source of everything that an answer says about
//! limits.

use std::cmp::Reverse;

use arrayvec::ArrayVec;

use super::policy::{PolicyName, Quota};
use super::window::Usage;

/// The largest number of policies that count one request: `default`, `ip` and the newsletter's four.
pub const POLICIES_PER_REQUEST_MAX: usize = 6;

/// The state of one policy for one client after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The policy.
    pub policy: PolicyName,
    /// Its limit.
    pub quota: Quota,
    /// Usage of the client's window.
    pub usage: Usage,
    /// True if the policy refused the request.
    pub is_violated: bool,
}

impl Standing {
    /// The number of admissions that count, at most the quota's count.
    pub fn used(&self) -> u32 {
        self.quota.count() - self.remaining()
    }

    /// The number of admissions that are left.
    pub fn remaining(&self) -> u32 {
        self.quota.count().saturating_sub(self.usage.counted)
    }

    /// Seconds until one more is left, rounded up, at least 1; the window's length when nothing is
    /// counted. After a refusal this is the time to wait.
    pub fn reset_s(&self) -> u64 {
        self.usage.reset_ms.div_ceil(1000).max(1)
    }
}

/// The state of all policies that count one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    standings: ArrayVec<Standing, POLICIES_PER_REQUEST_MAX>,
    featured: Option<PolicyName>,
    hidden: Option<PolicyName>,
}

impl Decision {
    /// Adds a policy. One beyond [`POLICIES_PER_REQUEST_MAX`] is a mistake of this program's: tests fail, and a
    /// visitor gets an answer without it.
    pub fn push(&mut self, standing: Standing) {
        let added = self.standings.try_push(standing);
        debug_assert!(added.is_ok(), "raise POLICIES_PER_REQUEST_MAX");
    }

    /// Adds a later decision on the same request; its featured policy takes precedence.
    pub fn merge(&mut self, later: &Self) {
        for standing in &later.standings {
            self.push(*standing);
        }
        self.featured = later.featured.or(self.featured);
        self.hidden = later.hidden.or(self.hidden);
    }

    /// Replaces the standings of policies that `later` contains too.
    pub fn amend(&mut self, later: &Self) {
        for standing in &mut self.standings {
            if let Some(amended) = later.standing(standing.policy) {
                *standing = *amended;
            }
        }
    }

    /// The same decision, with `policy` shown whenever nothing is refused.
    #[must_use]
    pub fn featuring(mut self, policy: PolicyName) -> Self {
        self.featured = Some(policy);
        self
    }

    /// The same decision, with `policy` shown only when it refuses.
    #[must_use]
    pub fn hiding(mut self, policy: PolicyName) -> Self {
        self.hidden = Some(policy);
        self
    }

    /// True if any policy refused.
    pub fn is_refused(&self) -> bool {
        self.standings.iter().any(|standing| standing.is_violated)
    }

    /// The policies that refused.
    pub fn violated(&self) -> impl Iterator<Item = &Standing> {
        let standings = self.standings.iter();
        standings.filter(|standing| standing.is_violated)
    }

    /// The standing of `policy`, if it counts this request.
    pub fn standing(&self, policy: PolicyName) -> Option<&Standing> {
        let mut standings = self.standings.iter();
        standings.find(|standing| standing.policy == policy)
    }

    /// All policies that count this request.
    pub fn standings(&self) -> &[Standing] {
        &self.standings
    }

    /// The policy that the answer shows: after a refusal, the violated one with the longest wait;
    /// otherwise the featured one; otherwise the smallest remaining of those that are not hidden, ties to the
    /// longer reset. None when there is no such policy.
    pub fn binding(&self) -> Option<&Standing> {
        if self.is_refused() {
            let wait_ms = |standing: &&Standing| standing.usage.reset_ms;
            return self.violated().max_by_key(wait_ms);
        }
        let featured = self.featured.and_then(|policy| self.standing(policy));
        let room = |standing: &&Standing| (standing.remaining(), Reverse(standing.usage.reset_ms));
        let standings = self.standings.iter();
        let seen = standings.filter(|standing| Some(standing.policy) != self.hidden);
        featured.or_else(|| seen.min_by_key(room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(policy: PolicyName, counted: u32, reset_ms: u64, is_violated: bool) -> Standing {
        Standing {
            policy,
            quota: Quota::new(10, 60_000).unwrap(),
            usage: Usage { counted, reset_ms },
            is_violated,
        }
    }

    fn binding(decision: &Decision) -> Option<PolicyName> {
        decision.binding().map(|standing| standing.policy)
    }

    #[test]
    fn the_binding_policy_is_the_one_that_hurts_first() {
        use PolicyName::{Default, Ip, Newsletter};
        for (why, standings, expected) in [
            ("none", &[][..], None),
            (
                "the smallest remaining",
                &[(Default, 3, 1000, false), (Ip, 4, 10, false)],
                Some(Ip),
            ),
            (
                "ties go to the longer reset",
                &[(Default, 4, 1000, false), (Ip, 4, 10, false)],
                Some(Default),
            ),
            (
                "when refused, the violated one with the longest wait",
                &[
                    (Default, 10, 9000, false),
                    (Ip, 10, 10, true),
                    (Newsletter, 10, 20, true),
                ],
                Some(Newsletter),
            ),
        ] {
            let mut decision = Decision::default();
            for &(policy, counted, reset_ms, is_violated) in standings {
                decision.push(standing(policy, counted, reset_ms, is_violated));
            }
            assert_eq!(binding(&decision), expected, "{why}");
        }
    }

    #[test]
    fn a_featured_policy_is_shown_unless_another_refuses() {
        let mut decision = Decision::default();
        decision.push(standing(PolicyName::Assistant, 1, 1, false));
        decision.push(standing(PolicyName::AssistantIp, 9, 1, false));
        assert_eq!(binding(&decision), Some(PolicyName::AssistantIp));
        let mut decision = decision.featuring(PolicyName::Assistant);
        assert_eq!(binding(&decision), Some(PolicyName::Assistant));
        decision.push(standing(PolicyName::Ip, 10, 1, true));
        assert_eq!(binding(&decision), Some(PolicyName::Ip));
    }

    #[test]
    fn a_hidden_policy_is_shown_only_when_it_refuses() {
        use PolicyName::{Default, Ip, Newsletter};
        for (is_violated, shown) in [(false, Some(Default)), (true, Some(Newsletter))] {
            let mut charged = Decision::default();
            charged.push(standing(Newsletter, 9, 10, is_violated));
            let mut decision = Decision::default();
            decision.push(standing(Default, 3, 10, false));
            decision.push(standing(Ip, 2, 10, false));
            decision.merge(&charged.hiding(Newsletter));
            assert_eq!(binding(&decision), shown);
        }
        let mut alone = Decision::default();
        alone.push(standing(Newsletter, 1, 10, false));
        assert_eq!(alone.hiding(Newsletter).binding(), None);
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "raise POLICIES_PER_REQUEST_MAX")]
    fn a_policy_too_many_fails_in_tests() {
        let mut decision = Decision::default();
        for policy in PolicyName::ALL {
            decision.push(standing(policy, 1, 1, false));
        }
    }

    #[test]
    fn seconds_are_rounded_up_and_never_zero() {
        for (reset_ms, seconds) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (60_000, 60)] {
            let standing = standing(PolicyName::Default, 10, reset_ms, true);
            assert_eq!(standing.reset_s(), seconds, "{reset_ms}");
        }
    }

    #[test]
    fn used_and_remaining_add_up_even_past_a_lowered_limit() {
        for (counted, used, remaining) in [(0, 0, 10), (3, 3, 7), (10, 10, 0), (25, 10, 0)] {
            let standing = standing(PolicyName::Assistant, counted, 1, false);
            assert_eq!((standing.used(), standing.remaining()), (used, remaining));
        }
    }
}
