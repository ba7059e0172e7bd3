//! The rate-limit headers: three integers that every client understands, and the structured fields
//! of draft-ietf-httpapi-ratelimit-headers-11.

use arrayvec::ArrayVec;
use hyper::header::{HeaderName, HeaderValue};

use crate::domain::{Decision, Policies, PolicyName, Quota, Standing};
use crate::usecases::meter::EVERY_REQUEST;

use crate::http::answer::reply::BLANK;

/// The headers, in the order of [`RateLimitHeaders::values`]: the renderer has a blank for each, and fills them in turn.
pub const NAMES: [HeaderName; 5] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
];

/// The longest `RateLimit` value: the name of a policy, and two numbers of 20 digits.
const RATE_LIMIT_LEN_MAX: usize = 80;

/// Smaller numbers are made into values once, at the start: every response has three of them.
const PREPARED_NUMBERS: u64 = 2048;

/// The policies that most responses list: those of every request, alone or with the assistant's.
const LISTED: [&[PolicyName]; 2] = [
    &EVERY_REQUEST,
    &[PolicyName::Default, PolicyName::Ip, PolicyName::Assistant],
];

/// Makes the values of the headers.
#[derive(Debug)]
pub struct RateLimitHeaders {
    /// The value of each small number. It has no reference count that all cores would share.
    numbers: Vec<HeaderValue>,
    /// The value of each policy's limit, likewise.
    limits: Vec<(Quota, HeaderValue)>,
    /// The policies of [`LISTED`], and the value that lists them. It has no reference count either.
    lists: [(Vec<(PolicyName, Quota)>, HeaderValue); 2],
}

impl RateLimitHeaders {
    /// For decisions by these policies.
    pub fn new(policies: &Policies) -> Self {
        let counting = |policy: &PolicyName| Some((*policy, policies.quota(*policy)?));
        let prepared = |names: &[PolicyName]| {
            let counting: Vec<_> = names.iter().filter_map(counting).collect();
            let value = fixed(list(counting.iter().copied()));
            (counting, value)
        };
        let limit = |(_, quota): (_, Quota)| (quota, fixed(quota.count().to_string()));
        let numbers = (0..PREPARED_NUMBERS).map(|number| fixed(number.to_string()));
        let limits = PolicyName::ALL.iter().filter_map(counting).map(limit);
        Self {
            numbers: numbers.collect(),
            limits: limits.collect(),
            lists: LISTED.map(prepared),
        }
    }

    /// The value of a number, without an allocation if it is small.
    fn number(&self, number: u64) -> HeaderValue {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let prepared = self.numbers.get(index).cloned();
        // `HeaderValue::from(u64)` would allocate twice.
        let made = || HeaderValue::try_from(number.to_string()).ok();
        prepared.or_else(made).unwrap_or(BLANK)
    }

    /// Passes the values on, in the order of [`NAMES`]. The numbers are those of `binding`, the policy of `decision`
    /// that the answer shows; `RateLimit-Policy` lists every policy that counted the request.
    pub fn values(
        &self,
        binding: &Standing,
        decision: &Decision,
        mut pass: impl FnMut(HeaderValue),
    ) {
        let remaining = self.number(binding.remaining().into());
        let reset_s = self.number(binding.reset_s());
        let mut rate_limit = ArrayVec::<u8, RATE_LIMIT_LEN_MAX>::new();
        for part in [
            b"\"",
            binding.policy.as_str().as_bytes(),
            b"\";r=",
            remaining.as_bytes(),
            b";t=",
            reset_s.as_bytes(),
        ] {
            // It is long enough for any policy and number.
            let _ = rate_limit.try_extend_from_slice(part);
        }
        let mut limits = self.limits.iter();
        let limit = limits.find(|(quota, _)| *quota == binding.quota);
        let limit = limit.map(|(_, value)| value.clone());
        pass(limit.unwrap_or_else(|| self.number(binding.quota.count().into())));
        pass(remaining);
        pass(reset_s);
        pass(value(&rate_limit));
        pass(self.list(decision));
    }

    fn list(&self, decision: &Decision) -> HeaderValue {
        let counted = decision.standings().iter();
        let counted = counted.map(|standing| (standing.policy, standing.quota));
        let is_counted = |known: &[_]| counted.clone().eq(known.iter().copied());
        let prepared = self.lists.iter().find(|(known, _)| is_counted(known));
        let prepared = prepared.map(|(_, value)| value.clone());
        prepared.unwrap_or_else(|| value(list(counted).as_bytes()))
    }
}

/// The value of `RateLimit-Policy`.
fn list(policies: impl Iterator<Item = (PolicyName, Quota)>) -> String {
    let item = |(policy, quota): (PolicyName, Quota)| {
        let (count, window_s) = (quota.count(), quota.window_s());
        format!("\"{}\";q={count};w={window_s}", policy.as_str())
    };
    policies.map(item).collect::<Vec<_>>().join(", ")
}

/// A value for the life of the process, which has no reference count.
fn fixed(text: String) -> HeaderValue {
    HeaderValue::from_static(text.leak())
}

fn value(text: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(text).unwrap_or(BLANK)
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::domain::{PolicyName, Quota, Standing, Usage};
    use crate::usecases::meter::EVERY_REQUEST;

    fn written(decision: &Decision) -> Vec<String> {
        let headers = RateLimitHeaders::new(&Policies::default());
        let mut values = Vec::new();
        if let Some(binding) = decision.binding() {
            headers.values(binding, decision, |value| values.push(value));
        }
        let line = |(name, value): (HeaderName, HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        iter::zip(NAMES, values).map(line).collect()
    }

    #[test]
    fn the_door_alone_is_shown_with_the_quotas_that_it_has() {
        let of_ip = PolicyName::Ip.default_quota();
        for (count, counted, shown) in [
            (600, [1, 1], (600, "\"default\";r=599;t=1")),
            (600, [1, 1799], (1800, "\"ip\";r=1;t=1")),
            (7, [1, 1], (7, "\"default\";r=6;t=1")),
        ] {
            let quotas = [Quota::new(count, 60_000).unwrap(), of_ip];
            let mut decision = Decision::default();
            for (policy, (quota, counted)) in iter::zip(EVERY_REQUEST, iter::zip(quotas, counted)) {
                let usage = Usage {
                    counted,
                    reset_ms: 1000,
                };
                decision.push(Standing {
                    policy,
                    quota,
                    usage,
                    is_violated: false,
                });
            }
            let written = written(&decision);
            let policies = format!("\"default\";q={count};w=60, \"ip\";q=1800;w=60");
            for line in [
                format!("ratelimit-limit: {}", shown.0),
                format!("ratelimit: {}", shown.1),
                format!("ratelimit-policy: {policies}"),
            ] {
                assert!(written.contains(&line), "{line}: {written:?}");
            }
        }
    }

    #[test]
    fn nothing_is_written_when_every_policy_is_off() {
        assert_eq!(written(&Decision::default()), Vec::<String>::new());
    }
}
