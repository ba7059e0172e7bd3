//! The rate-limit headers, the only serialiser of them: three integers for every client that was
//! ever written, and the structured fields of draft-ietf-httpapi-ratelimit-headers-11.

use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::domain::decision::Decision;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::usecases::admit::DOOR;

use super::headers::{self, NO_STORE, UNSET};

/// Writes the headers.
#[derive(Debug)]
pub struct RateLimitHeaders {
    /// Most requests are counted by the policies at the door alone, whose quotas never change.
    at_door: Vec<PolicyName>,
    /// What they are in `RateLimit-Policy`.
    at_door_text: String,
}

impl RateLimitHeaders {
    /// Headers for the quotas of `policies`.
    #[must_use]
    pub fn new(policies: &Policies) -> Self {
        let quota = |name| Some((name, policies.quota(name)?));
        let on: Vec<_> = DOOR.into_iter().filter_map(quota).collect();
        Self {
            at_door: on.iter().map(|(name, _)| *name).collect(),
            at_door_text: list(on.into_iter()),
        }
    }

    /// Writes what `decision` says into `headers`. All numbers are of its binding policy, except
    /// that `RateLimit-Policy` lists every policy that counts the request. Nothing is written when
    /// all of them are off.
    ///
    /// `Retry-After` equals `RateLimit-Reset` and stands on 429 alone: a tool tells its refusal in
    /// an answer of another status. The numbers are one client's at one moment, so nobody may store
    /// them.
    pub fn write(&self, decision: &Decision, status: StatusCode, headers: &mut HeaderMap) {
        let Some(binding) = decision.binding() else {
            return;
        };
        let (remaining, reset_s) = (binding.remaining(), binding.reset_s());
        let mut fields = fields([
            number(binding.quota.count().into()),
            number(remaining.into()),
            number(reset_s),
            rate_limit(binding.policy, remaining, reset_s),
            self.policies(decision),
        ]);
        headers::set(headers, &mut fields);
        if status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, number(reset_s));
        }
    }

    /// Puts the headers there that [`RateLimitHeaders::write`] sets, in its order.
    pub(crate) fn begin(headers: &mut HeaderMap) {
        headers::set(headers, &mut fields([UNSET; 5]));
    }

    fn policies(&self, decision: &Decision) -> HeaderValue {
        let standings = decision.standings().iter();
        if standings
            .clone()
            .map(|standing| &standing.policy)
            .eq(&self.at_door)
        {
            return value(&self.at_door_text);
        }
        value(&list(
            standings.map(|standing| (standing.policy, standing.quota)),
        ))
    }
}

/// The headers of every answer that shows rate limits, in order, with what differs in `values`.
fn fields(values: [HeaderValue; 5]) -> [(&'static str, HeaderValue); 6] {
    let [limit, remaining, reset, rate_limit, policies] = values;
    [
        ("ratelimit-limit", limit),
        ("ratelimit-remaining", remaining),
        ("ratelimit-reset", reset),
        ("ratelimit", rate_limit),
        ("ratelimit-policy", policies),
        ("cache-control", NO_STORE),
    ]
}

/// `RateLimit`: one item with the parameters `r` and `t`.
fn rate_limit(policy: PolicyName, remaining: u32, reset_s: u64) -> HeaderValue {
    let mut text = String::with_capacity(64);
    push_name(&mut text, policy);
    push_parameter(&mut text, ";r=", remaining.into());
    push_parameter(&mut text, ";t=", reset_s);
    value(&text)
}

/// `RateLimit-Policy`: a list of items with the parameters `q` and `w`.
fn list(policies: impl Iterator<Item = (PolicyName, Quota)>) -> String {
    let mut text = String::with_capacity(96);
    for (policy, quota) in policies {
        if !text.is_empty() {
            text.push_str(", ");
        }
        push_name(&mut text, policy);
        push_parameter(&mut text, ";q=", quota.count().into());
        push_parameter(&mut text, ";w=", quota.window_s());
    }
    text
}

fn push_name(text: &mut String, policy: PolicyName) {
    text.push('"');
    text.push_str(policy.as_str());
    text.push('"');
}

fn push_parameter(text: &mut String, name: &str, number: u64) {
    text.push_str(name);
    text.push_str(itoa::Buffer::new().format(number));
}

/// At half of what `HeaderValue::from` costs, which makes room for any number first.
fn number(number: u64) -> HeaderValue {
    value(itoa::Buffer::new().format(number))
}

fn value(text: &str) -> HeaderValue {
    // Policy names and digits are always a valid value.
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
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
        RateLimitHeaders::new(&policies).write(decision, status, &mut headers);
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
