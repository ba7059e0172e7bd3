//! Writing what a decision says into an answer's headers.

use criterion::Criterion;
use hyper::{HeaderMap, StatusCode};
use landing_api::domain::decision::{Decision, Standing};
use landing_api::domain::policy::PolicyName;
use landing_api::domain::window::Usage;
use landing_api::http::answer::ratelimit;

pub(crate) fn bench(c: &mut Criterion) {
    let door = [PolicyName::Default, PolicyName::Ip];
    rendered(c, "admitted", &decision(&door, 5), StatusCode::OK);
    let full = door[0].default_quota().count();
    let refused = decision(&door, full);
    rendered(c, "refused", &refused, StatusCode::TOO_MANY_REQUESTS);
}

fn rendered(c: &mut Criterion, name: &str, decision: &Decision, status: StatusCode) {
    c.bench_function(&format!("headers/{name}"), |bencher| {
        bencher.iter(|| {
            let mut headers = HeaderMap::with_capacity(16);
            ratelimit::write(decision, status, &mut headers);
            headers
        });
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
