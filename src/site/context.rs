//! The values that every template may use.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::chat::{self, Content};
use crate::domain::contact::RevealExisting;
use crate::domain::email;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::domain::text::{EchoMessage, Label};
use crate::domain::time::TimeUnit;

use super::facts::{SiteFacts, quota_cookie_name};
use super::tools::{REVISION_WITH_HANDSHAKE, REVISIONS, Tool};

/// A rate limit, in the words of the documents.
#[derive(Debug, Serialize)]
struct Limit {
    name: &'static str,
    count: u32,
    /// As in "in any minute".
    window: String,
    window_s: u64,
    /// As in "600 in any minute".
    quota: String,
    /// What is counted, and by whom.
    counted: &'static str,
}

/// The values that `facts` give. Templates for HTML and JSON escape them; `service_name_md` is for
/// Markdown, where nothing else does.
pub(super) fn context(facts: &SiteFacts) -> Value {
    let settings = &facts.settings;
    let limits = limits(&settings.policies, settings.has_model);
    // A disabled policy is `None`.
    let policies: BTreeMap<_, _> = PolicyName::ALL
        .into_iter()
        .map(|name| {
            let limit = limits.iter().find(|limit| limit.name == name.as_str());
            (name.as_str().replace('-', "_"), limit)
        })
        .collect();
    let counts_every_request = [PolicyName::Default, PolicyName::Ip]
        .into_iter()
        .any(|policy| settings.policies.quota(policy).is_some());
    context! {
        base_url => settings.base_url.as_str(),
        service_name => settings.service_name.as_str(),
        service_name_md => escape_markdown(&settings.service_name),
        version => env!("CARGO_PKG_VERSION"),
        publisher => facts.publisher(),
        erp_url => settings.erp_url.as_deref(),
        cookie_name => quota_cookie_name(settings.is_https()),
        key_lifetime => duration(settings.key_lifetime_ms / 1000),
        key_lifetime_s => settings.key_lifetime_ms / 1000,
        token_lifetime => duration(AccessToken::LIFETIME_MS / 1000),
        token_lifetime_s => AccessToken::LIFETIME_MS / 1000,
        registration_lifetime => duration(Registration::LIFETIME_MS / 1000),
        reveal => match settings.reveal_existing {
            RevealExisting::Never => "never",
            RevealExisting::SameClient => "same-client",
            RevealExisting::Always => "always",
        },
        imprint_url => settings.imprint_url.as_deref().map(|link| absolute(&settings.base_url, link)),
        privacy_url => settings.privacy_url.as_deref().map(|link| absolute(&settings.base_url, link)),
        has_model => settings.has_model,
        falls_back => settings.falls_back,
        passes_sign_ups_on => settings.passes_sign_ups_on,
        allowed_origins => settings.allowed_origins.clone(),
        trusts_proxies => settings.trusts_proxies,
        email_max => email::LENGTH_MAX,
        label_max => Label::LENGTH_MAX,
        echo_max => EchoMessage::LENGTH_MAX,
        content_max => Content::LENGTH_MAX,
        messages_max => chat::MESSAGES_MAX,
        policies => Value::from(Serde(&policies)),
        limits => Value::from(Serde(&limits)),
        policy_names => PolicyName::ALL.map(PolicyName::as_str),
        counts_every_request,
        mcp => context! {
            name => facts.mcp_name(),
            endpoint => facts.mcp_endpoint(),
            revisions => REVISIONS,
            revision_with_handshake => REVISION_WITH_HANDSHAKE,
            tools => Tool::ALL.map(|tool| context! { name => tool.as_str() }),
        },
    }
}

/// The address of `link`, which may be a path of this site.
fn absolute(base_url: &str, link: &str) -> String {
    match link.strip_prefix('/') {
        Some(path) => format!("{base_url}/{path}"),
        None => link.to_owned(),
    }
}

fn limits(policies: &Policies, has_model: bool) -> Vec<Limit> {
    PolicyName::ALL
        .into_iter()
        .filter_map(|name| Some(Limit::of(name, policies.quota(name)?, has_model)))
        .collect()
}

impl Limit {
    fn of(name: PolicyName, quota: Quota, has_model: bool) -> Self {
        let counted = if name == PolicyName::AssistantAll && !has_model {
            "chat messages sent to a language model, all visitors together; \
             none while the assistant answers from this guide"
        } else {
            name.counted()
        };
        let window = duration(quota.window_s());
        let window = window.strip_prefix("1 ").unwrap_or(&window);
        Self {
            name: name.as_str(),
            count: quota.count(),
            window: window.to_owned(),
            window_s: quota.window_s(),
            quota: format!("{} in any {window}", quota.count()),
            counted,
        }
    }
}

/// A length of time in the largest unit that divides it.
fn duration(seconds: u64) -> String {
    let (number, unit) = TimeUnit::in_words(seconds);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {}{plural}", unit.as_str())
}

/// `text` with a backslash before each character that Markdown could take for markup.
pub(super) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_as_people_say_them() {
        for (seconds, words) in [
            (1, "1 second"),
            (60, "1 minute"),
            (90, "90 seconds"),
            (900, "15 minutes"),
            (3600, "1 hour"),
            (86_400, "24 hours"),
            (90 * 86_400, "90 days"),
        ] {
            assert_eq!(duration(seconds), words);
        }
    }

    #[test]
    fn a_policy_that_is_off_has_no_row() {
        let mut policies = Policies::default();
        assert_eq!(limits(&policies, false).len(), PolicyName::ALL.len());
        assert_eq!(limits(&policies, false)[0].quota, "600 in any minute");
        policies.set(PolicyName::Default, None);
        let limits = limits(&policies, false);
        assert!(limits.iter().all(|row| row.name != "default"));
    }
}
