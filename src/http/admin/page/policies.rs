//! The rate limits: what they decided, whom they count, and a fresh start.

use minijinja::context;
use minijinja::value::Value;

use crate::domain::client::LimitKey;
use crate::domain::policy::PolicyName;
use crate::ports::WindowSet;
use crate::usecases::limits::{PolicyUsage, WindowUsage, show_limits};

use super::answer::PageError;
use super::numbers::{grouped, span};
use super::page_request::{PageAnswer, PageRequest};
use super::views::{ConfirmationPage, MessagePage};

/// How many identities are shown of each policy.
const BUSIEST: usize = 5;

/// Shows each policy with what it decided and whom it counts most.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let app = &request.app;
    let usages = show_limits(app.meter(), BUSIEST, request.now).await?;
    let decided = app.metrics.policies().map(|(name, metrics)| {
        let usage = usages.iter().find(|usage| usage.policy == name);
        let quota = usage.and_then(|usage| usage.quota);
        context! {
            name => name.as_str(),
            quota => quota.map_or_else(|| "off".to_owned(), |quota| quota.to_string()),
            counted_by => name.counted_by().as_str(),
            admitted => grouped(metrics.admitted.get()),
            refused => grouped(metrics.refused.get()),
            refunded => grouped(metrics.refunded.get()),
        }
    });
    let rows: Vec<_> = decided.collect();
    let busy: Vec<_> = usages.iter().filter_map(busy).collect();
    request.page("policies.html", context! { rows, busy, most => BUSIEST })
}

/// The busiest identities of a policy, if there are any.
fn busy(usage: &PolicyUsage) -> Option<Value> {
    let quota = usage.quota.filter(|_| !usage.busiest.is_empty())?;
    let window = |window: &WindowUsage| {
        context! {
            key => window.key.to_hex(),
            used => grouped(window.standing.used().into()),
            left => grouped(window.standing.remaining().into()),
            is_full => window.standing.is_violated,
            reset => span(window.standing.reset_s()),
        }
    };
    let windows: Vec<_> = usage.busiest.iter().map(window).collect();
    Some(context! {
        name => usage.policy.as_str(),
        quota => quota.to_string(),
        counted_by => usage.policy.counted_by().as_str(),
        windows,
    })
}

/// Asks whether to reset a policy, or one of its windows.
pub(super) async fn confirm_reset(request: PageRequest) -> PageAnswer {
    let (which, name) = which(&request)?;
    let (title, identity, policy) = match which {
        WindowSet::Policy(policy) => ("Reset this policy?", None, Some(policy)),
        WindowSet::Window(key) => ("Reset this identity?", Some(key.to_hex()), key.policy()),
        WindowSet::All => return Err(unknown()),
    };
    let identity = identity.map(|key| ("Identity", key));
    let policy = policy.map(|policy| ("Policy", policy.as_str().to_owned()));
    request.confirm(&ConfirmationPage {
        title,
        paragraphs: &[
            "What was counted is forgotten, so that as many requests are admitted again as the policy \
             allows.",
        ],
        facts: identity.into_iter().chain(policy).collect(),
        action: "/policies/reset",
        fields: vec![("which", &name)],
        button: "Reset it",
        back: "/policies",
    })
}

/// Resets it.
pub(super) async fn reset(request: PageRequest) -> PageAnswer {
    let (which, name) = which(&request)?;
    let count = request.app.limiter.reset(which).await?;
    tracing::info!(page = "policies reset", windows = count, "operator");
    request.message(&MessagePage {
        title: match count {
            0 => "Nothing to reset",
            _ => "Reset",
        },
        paragraphs: vec![match count {
            0 => "Nothing was counted.".to_owned(),
            1 => "What was counted for one identity is forgotten.".to_owned(),
            _ => format!(
                "What was counted for {} identities is forgotten.",
                grouped(count as u64)
            ),
        }],
        facts: vec![("What", name)],
        next: Some(("/policies", "To the limits")),
    })
}

/// The policy or the window that `which` names.
fn which(request: &PageRequest) -> Result<(WindowSet, String), PageError> {
    let name = request.params.get("which").unwrap_or_default();
    let policy = PolicyName::from_name(name).map(WindowSet::Policy);
    let which = policy.or_else(|| LimitKey::from_hex(name).map(WindowSet::Window));
    let which = which.ok_or_else(unknown)?;
    Ok((which, name.to_owned()))
}

fn unknown() -> PageError {
    PageError::Input("There is no such policy or identity. Nothing was done.".to_owned())
}
