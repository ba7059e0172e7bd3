//! The rate limits.

use minijinja::context;

use crate::domain::policy::PolicyName;
use crate::metrics::PolicyMetrics;

use super::page_request::{PageAnswer, PageRequest};
use super::plot::grouped;

/// Shows each policy with what it decided.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let app = &request.app;
    let row = |(name, metrics): (PolicyName, &PolicyMetrics)| {
        let quota = app.settings.policies.quota(name);
        let number = |number: u64| grouped(u128::from(number));
        context! {
            name => name.as_str(),
            quota => quota.map_or_else(|| "off".to_owned(), |quota| quota.to_string()),
            counted_by => name.counted_by().as_str(),
            admitted => number(metrics.admitted.get()),
            refused => number(metrics.refused.get()),
            refunded => number(metrics.refunded.get()),
        }
    };
    let rows: Vec<_> = app.metrics.policies().map(row).collect();
    request.page("policies.html", context! { rows })
}
