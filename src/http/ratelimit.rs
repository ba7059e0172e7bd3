//! The rate-limit headers, the only serialiser of them: three integers for every client that was
//! ever written, and the structured fields of draft-ietf-httpapi-ratelimit-headers-11.

use std::fmt::Write as _;

use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::domain::decision::Decision;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Writes what `decision` says into `headers`. All numbers are of its binding policy, except that
/// `RateLimit-Policy` lists every policy that counts the request. Nothing is written when all of
/// them are off.
///
/// `Retry-After` equals `RateLimit-Reset` and stands on 429 alone: a tool tells its refusal in an
/// answer of another status. The numbers are one client's at one moment, so nobody may store them.
pub fn write(decision: &Decision, status: StatusCode, headers: &mut HeaderMap) {
    let Some(binding) = decision.binding() else {
        return;
    };
    let reset_s = binding.reset_s();
    let remaining = binding.remaining();
    headers.insert(LIMIT, HeaderValue::from(binding.quota.count()));
    headers.insert(REMAINING, HeaderValue::from(remaining));
    headers.insert(RESET, HeaderValue::from(reset_s));
    let name = binding.policy.as_str();
    insert(
        headers,
        RATE_LIMIT,
        format!("\"{name}\";r={remaining};t={reset_s}"),
    );
    insert(headers, RATE_LIMIT_POLICY, policies(decision));
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from(reset_s));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

fn policies(decision: &Decision) -> String {
    let mut list = String::with_capacity(96);
    for standing in decision.standings() {
        if !list.is_empty() {
            list.push_str(", ");
        }
        let quota = standing.quota;
        let name = standing.policy.as_str();
        // Writing to a String cannot fail.
        let _ = write!(
            list,
            "\"{name}\";q={};w={}",
            quota.count(),
            quota.window_s()
        );
    }
    list
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    // Policy names and digits are always a valid value.
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
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
        write(decision, status, &mut headers);
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
                "retry-after: 900",
                "cache-control: no-store",
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
