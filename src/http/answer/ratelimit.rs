//! The rate-limit headers: three integers that every client understands, and the structured fields
//! of draft-ietf-httpapi-ratelimit-headers-11.

use bytes::BytesMut;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::domain::{Decision, Standing};

use crate::http::answer::reply::NO_STORE;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Writes `decision` into `headers`; nothing when every policy is off. The numbers are those of the
/// binding policy; `RateLimit-Policy` lists every policy that counted the request.
///
/// `Retry-After` equals `RateLimit-Reset` and comes with 429 only: a refused tool is an answer of
/// another status. No cache may keep the numbers, which are one client's at one moment.
pub fn write(decision: &Decision, status: StatusCode, headers: &mut HeaderMap) {
    let Some(binding) = decision.binding() else {
        return;
    };
    let (mut limit, mut remaining) = (itoa::Buffer::new(), itoa::Buffer::new());
    let mut reset_s = itoa::Buffer::new();
    let limit = limit.format(binding.quota.count());
    let remaining = remaining.format(binding.remaining());
    let reset_s = reset_s.format(binding.reset_s());
    let name = binding.policy.as_str();
    // The values share one buffer, in place of an allocation each.
    let mut buffer = BytesMut::with_capacity(256);
    for (header, parts) in [
        (LIMIT, &[limit][..]),
        (REMAINING, &[remaining]),
        (RESET, &[reset_s]),
        (
            RATE_LIMIT,
            &["\"", name, "\";r=", remaining, ";t=", reset_s],
        ),
    ] {
        extend(&mut buffer, parts);
        insert_taken(headers, header, &mut buffer);
    }
    for Standing { policy, quota, .. } in decision.standings() {
        let (mut count, mut window_s) = (itoa::Buffer::new(), itoa::Buffer::new());
        let count = count.format(quota.count());
        let window_s = window_s.format(quota.window_s());
        let quote = if buffer.is_empty() { "\"" } else { ", \"" };
        let parts = [quote, policy.as_str(), "\";q=", count, ";w=", window_s];
        extend(&mut buffer, &parts);
    }
    insert_taken(headers, RATE_LIMIT_POLICY, &mut buffer);
    headers.insert(CACHE_CONTROL, NO_STORE);
    if status == StatusCode::TOO_MANY_REQUESTS {
        extend(&mut buffer, &[reset_s]);
        insert_taken(headers, RETRY_AFTER, &mut buffer);
    }
}

fn extend(buffer: &mut BytesMut, parts: &[&str]) {
    for part in parts {
        buffer.extend_from_slice(part.as_bytes());
    }
}

/// Inserts what is taken out of `buffer`.
fn insert_taken(headers: &mut HeaderMap, name: HeaderName, buffer: &mut BytesMut) {
    if let Ok(value) = HeaderValue::from_maybe_shared(buffer.split().freeze()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::domain::{PolicyName, Quota, Standing, Usage};
    use crate::usecases::admit::EVERY_REQUEST;

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
                "cache-control: no-store",
                "retry-after: 900",
            ]
        );
    }

    #[test]
    fn the_door_alone_is_shown_with_the_quotas_that_it_has() {
        let door = |quotas: [Quota; 2], counted: [u32; 2]| {
            let mut decision = Decision::default();
            for (policy, (quota, counted)) in iter::zip(EVERY_REQUEST, iter::zip(quotas, counted)) {
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
        let usual = EVERY_REQUEST.map(PolicyName::default_quota);
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
