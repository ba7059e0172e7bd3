//! The values of the rate-limit headers.

use std::hint::black_box;

use criterion::Criterion;
use landing_api::domain::decision::{Decision, Standing};
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::window::Usage;
use landing_api::http::answer::ratelimit::RateLimitHeaders;

pub(crate) fn bench(c: &mut Criterion) {
    let door = [PolicyName::Default, PolicyName::Ip];
    rendered(c, "admitted", &decision(&door, 5));
    let full = door[0].default_quota().count();
    rendered(c, "refused", &decision(&door, full));
}

fn rendered(c: &mut Criterion, name: &str, decision: &Decision) {
    let headers = RateLimitHeaders::new(&Policies::default());
    let binding = decision.binding().unwrap();
    c.bench_function(&format!("headers/{name}"), |bencher| {
        bencher.iter(|| headers.values(binding, decision, |value| drop(black_box(value))));
    });
}

fn decision(policies: &[PolicyName], counted: u32) -> Decision {
    let mut decision = Decision::default();
    for &policy in policies {
        let quota = policy.default_quota();
        decision.push(Standing {
            policy,
            quota,
            usage: Usage {
                counted,
                reset_ms: 59_001,
            },
            is_violated: counted >= quota.count(),
        });
    }
    decision
}
