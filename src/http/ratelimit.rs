//! The rate-limit headers, the only serialiser of them: three integers for every client that was
//! ever written, and the structured fields of draft-ietf-httpapi-ratelimit-headers-11.

use std::iter;

use arrayvec::ArrayString;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::domain::decision::{Decision, Standing};
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::usecases::admit::DOOR;

use super::headers::{self, NO_STORE, UNSET};

const LIMIT: &str = "ratelimit-limit";
const REMAINING: &str = "ratelimit-remaining";
const RESET: &str = "ratelimit-reset";
const RATE_LIMIT: &str = "ratelimit";
const POLICIES: &str = "ratelimit-policy";

const SEPARATOR: &str = ", ";

/// Values for the numbers below this one are kept: more than most resets in seconds, and most of what
/// remains.
const KEPT: u64 = 1000;

/// More than most lists of policies take.
const LIST_CAPACITY: usize = 160;

/// The headers of every answer that shows rate limits, beside `Cache-Control: no-store`.
pub(crate) const NAMES: [&str; 5] = [LIMIT, REMAINING, RESET, RATE_LIMIT, POLICIES];

/// Writes the headers. What is known of them from the start is kept as long as the program runs.
#[derive(Debug)]
pub struct RateLimitHeaders {
    /// Every policy that is on. Their quotas never change.
    policies: Vec<Known>,
    /// Most requests are counted by the policies at the door alone.
    at_door: Vec<(PolicyName, Quota)>,
    /// What they are in `RateLimit-Policy`.
    at_door_list: HeaderValue,
    /// Of 0 and up, below [`KEPT`].
    numbers: Vec<HeaderValue>,
}

/// What is known of a policy.
#[derive(Debug)]
struct Known {
    policy: PolicyName,
    quota: Quota,
    /// `RateLimit-Limit` when it is the binding one.
    limit: HeaderValue,
    /// What it is in `RateLimit-Policy`.
    item: String,
}

impl RateLimitHeaders {
    /// Headers for the quotas of `policies`.
    #[must_use]
    pub fn new(policies: &Policies) -> Self {
        let known = |policy| {
            let quota = policies.quota(policy)?;
            Some(Known {
                policy,
                quota,
                limit: lasting_value(&quota.count().to_string()),
                item: item(policy, quota),
            })
        };
        let policies: Vec<_> = PolicyName::ALL.into_iter().filter_map(known).collect();
        let at_door = DOOR.iter();
        let at_door = at_door.filter_map(|name| policies.iter().find(|it| it.policy == *name));
        let (at_door, items): (_, Vec<_>) = at_door
            .map(|known| ((known.policy, known.quota), known.item.as_str()))
            .unzip();
        Self {
            at_door,
            at_door_list: lasting_value(&items.join(SEPARATOR)),
            numbers: (0..KEPT).map(|n| lasting_value(&n.to_string())).collect(),
            policies,
        }
    }

    /// Writes what `decision` says into `headers`, but for `Retry-After`. All numbers are of its
    /// binding policy, except that `RateLimit-Policy` lists every policy that counts the request.
    /// Nothing is written when all of them are off. The numbers are one client's at one moment, so
    /// nobody may store them.
    pub fn set(&self, decision: &Decision, headers: &mut HeaderMap) {
        if decision.standings().is_empty() {
            return;
        }
        let [limit, remaining, reset, rate_limit, policies] = NAMES.map(|name| (name, UNSET));
        let no_store = ("cache-control", NO_STORE);
        let mut fields = [limit, remaining, reset, rate_limit, policies, no_store];
        self.fill(decision, fields.iter_mut().map(|(_, value)| value));
        headers::set(headers, &mut fields);
    }

    /// Fills `blanks`, which stand for [`NAMES`] in that order; none when all policies are off.
    pub(crate) fn fill<'a>(
        &self,
        decision: &Decision,
        mut blanks: impl Iterator<Item = &'a mut HeaderValue>,
    ) {
        let Some(binding) = decision.binding() else {
            return;
        };
        let (mut of_remaining, mut of_reset) = (itoa::Buffer::new(), itoa::Buffer::new());
        let remaining = of_remaining.format(binding.remaining());
        let reset_s = of_reset.format(binding.reset_s());
        let rate_limit = rate_limit(binding.policy, remaining, reset_s);
        headers::fill_next(&mut blanks, self.limit(binding));
        let remaining = self.number(binding.remaining().into(), remaining);
        let reset_s = self.number(binding.reset_s(), reset_s);
        headers::fill_next(&mut blanks, remaining);
        headers::fill_next(&mut blanks, reset_s);
        headers::fill_next(&mut blanks, rate_limit);
        headers::fill_next(&mut blanks, self.policies(decision));
    }

    /// Writes `Retry-After`, which equals `RateLimit-Reset` and stands on 429 alone: a tool tells its
    /// refusal in an answer of another status.
    pub fn set_retry_after(decision: &Decision, status: StatusCode, headers: &mut HeaderMap) {
        if status == StatusCode::TOO_MANY_REQUESTS
            && let Some(binding) = decision.binding()
        {
            let reset_s = value(itoa::Buffer::new().format(binding.reset_s()));
            headers.insert(RETRY_AFTER, reset_s);
        }
    }

    /// The value that says `number`, which is `text` in digits.
    fn number(&self, number: u64, text: &str) -> HeaderValue {
        let kept = usize::try_from(number)
            .ok()
            .and_then(|n| self.numbers.get(n));
        kept.map_or_else(|| value(text), HeaderValue::clone)
    }

    fn limit(&self, binding: &Standing) -> HeaderValue {
        match self.known(binding) {
            Some(known) => known.limit.clone(),
            None => value(itoa::Buffer::new().format(binding.quota.count())),
        }
    }

    fn policies(&self, decision: &Decision) -> HeaderValue {
        let standings = decision.standings();
        let are_at_door = standings.len() == self.at_door.len()
            && iter::zip(&self.at_door, standings)
                .all(|(&at_door, standing)| at_door == (standing.policy, standing.quota));
        if are_at_door {
            return self.at_door_list.clone();
        }
        let mut list = String::with_capacity(LIST_CAPACITY);
        for standing in standings {
            if !list.is_empty() {
                list.push_str(SEPARATOR);
            }
            match self.known(standing) {
                Some(known) => list.push_str(&known.item),
                None => list.push_str(&item(standing.policy, standing.quota)),
            }
        }
        value(&list)
    }

    fn known(&self, standing: &Standing) -> Option<&Known> {
        let is_of =
            |known: &&Known| (known.policy, known.quota) == (standing.policy, standing.quota);
        self.policies.iter().find(is_of)
    }
}

/// `RateLimit`: one item with the parameters `r` and `t`.
fn rate_limit(policy: PolicyName, remaining: &str, reset_s: &str) -> HeaderValue {
    /// More than the longest name and two numbers of 64 bits take.
    const LENGTH_MAX: usize = 80;
    let mut text = ArrayString::<LENGTH_MAX>::new();
    for part in ["\"", policy.as_str(), "\";r=", remaining, ";t=", reset_s] {
        // There is room for all of them.
        let _ = text.try_push_str(part);
    }
    value(&text)
}

/// An item of the list `RateLimit-Policy`, with the parameters `q` and `w`.
fn item(policy: PolicyName, quota: Quota) -> String {
    format!(
        "\"{}\";q={};w={}",
        policy.as_str(),
        quota.count(),
        quota.window_s()
    )
}

/// At half of what `HeaderValue::from` costs for a number, which makes room for any first. Policy
/// names and digits are always a valid value.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(UNSET)
}

/// The same for what never changes.
fn lasting_value(text: &str) -> HeaderValue {
    headers::lasting(text).unwrap_or(UNSET)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;
    use crate::domain::decision::Standing;
    use crate::domain::policy::PolicyName;
    use crate::domain::window::Usage;

    fn decision(is_violated: bool) -> Decision {
        let mut decision = Decision::default();
        for (policy, counted, reset_ms) in [
            (PolicyName::Default, 5, 59_001),
            (
                PolicyName::Newsletter,
                if is_violated { 8 } else { 1 },
                899_999,
            ),
        ] {
            decision.push(Standing {
                policy,
                quota: policy.default_quota(),
                usage: Usage { counted, reset_ms },
                is_violated: is_violated && policy == PolicyName::Newsletter,
            });
        }
        decision
    }

    fn written(decision: &Decision, status: StatusCode) -> Vec<String> {
        let mut headers = HeaderMap::new();
        let policies = Policies::default();
        RateLimitHeaders::new(&policies).set(decision, &mut headers);
        RateLimitHeaders::set_retry_after(decision, status, &mut headers);
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        headers.iter().map(line).collect()
    }

    #[test]
    fn headers_of_an_admission() {
        assert_eq!(
            written(&decision(false), StatusCode::OK),
            [
                "ratelimit-limit: 8",
                "ratelimit-remaining: 7",
                "ratelimit-reset: 900",
                "ratelimit: \"newsletter\";r=7;t=900",
                "ratelimit-policy: \"default\";q=600;w=60, \"newsletter\";q=8;w=900",
                "cache-control: no-store",
            ]
        );
    }

    #[test]
    fn headers_of_a_refusal() {
        assert_eq!(
            written(&decision(true), StatusCode::TOO_MANY_REQUESTS),
            [
                "ratelimit-limit: 8",
                "ratelimit-remaining: 0",
                "ratelimit-reset: 900",
                "ratelimit: \"newsletter\";r=0;t=900",
                "ratelimit-policy: \"default\";q=600;w=60, \"newsletter\";q=8;w=900",
                "cache-control: no-store",
                "retry-after: 900",
            ]
        );
    }

    #[test]
    fn the_door_alone_is_shown_with_the_quotas_that_it_has() {
        let door = |quotas: [Quota; 2], counted: [u32; 2]| {
            let mut decision = Decision::default();
            for (policy, (quota, counted)) in iter::zip(DOOR, iter::zip(quotas, counted)) {
                decision.push(Standing {
                    policy,
                    quota,
                    usage: Usage {
                        counted,
                        reset_ms: 1000,
                    },
                    is_violated: false,
                });
            }
            written(&decision, StatusCode::OK)
        };
        let usual = DOOR.map(PolicyName::default_quota);
        for (quotas, counted, expected) in [
            (
                usual,
                [1, 1],
                [
                    "ratelimit-limit: 600",
                    "ratelimit: \"default\";r=599;t=1",
                    "ratelimit-policy: \"default\";q=600;w=60, \"ip\";q=1800;w=60",
                ],
            ),
            (
                usual,
                [1, 1799],
                [
                    "ratelimit-limit: 1800",
                    "ratelimit: \"ip\";r=1;t=1",
                    "ratelimit-policy: \"default\";q=600;w=60, \"ip\";q=1800;w=60",
                ],
            ),
            (
                [Quota::new(7, 60_000).unwrap(), usual[1]],
                [1, 1],
                [
                    "ratelimit-limit: 7",
                    "ratelimit: \"default\";r=6;t=1",
                    "ratelimit-policy: \"default\";q=7;w=60, \"ip\";q=1800;w=60",
                ],
            ),
        ] {
            let written = door(quotas, counted);
            for line in expected {
                assert!(written.iter().any(|known| known == line), "{written:?}");
            }
        }
    }

    #[test]
    fn numbers_that_are_kept_and_others_are_told_alike() {
        const MOST: u32 = 1_000_000_000;
        let quota = Quota::new(MOST, 60_000).unwrap();
        for number in [0, 1, 10, 998, 999, 1000, 1001, MOST - 1, MOST] {
            let mut decision = Decision::default();
            decision.push(Standing {
                policy: PolicyName::Default,
                quota,
                usage: Usage {
                    counted: MOST - number,
                    reset_ms: u64::from(number) * 1000,
                },
                is_violated: false,
            });
            let written = written(&decision, StatusCode::OK);
            let reset_s = number.max(1);
            assert!(written.contains(&format!("ratelimit-remaining: {number}")));
            assert!(written.contains(&format!("ratelimit-reset: {reset_s}")));
            let rate_limit = format!("ratelimit: \"default\";r={number};t={reset_s}");
            assert!(written.contains(&rate_limit));
        }
    }

    #[test]
    fn every_policy_and_every_number_has_room() {
        let most = u64::MAX.to_string();
        for policy in PolicyName::ALL {
            let field = rate_limit(policy, &most, &most);
            assert_eq!(field, format!("\"{}\";r={most};t={most}", policy.as_str()));
        }
    }

    #[test]
    fn a_refusal_under_another_status_has_no_retry_after() {
        let written = written(&decision(true), StatusCode::OK);
        assert!(written.contains(&"ratelimit-remaining: 0".to_owned()));
        assert!(!written.iter().any(|line| line.starts_with("retry-after")));
    }

    #[test]
    fn nothing_is_written_when_every_policy_is_off() {
        assert_eq!(
            written(&Decision::default(), StatusCode::OK),
            Vec::<String>::new()
        );
    }
}
