//! What the operator configured, and the words the documents say it in.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::chat::{self, Content};
use crate::domain::contact::RevealExisting;
use crate::domain::deprecation::Deprecation;
use crate::domain::email;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::domain::settings::Settings;
use crate::domain::text::{EchoMessage, Label};

use super::tools::Toolbox;

/// What the documents are told about this service.
#[derive(Clone, Debug)]
pub struct SiteFacts {
    /// What the operator decided.
    pub settings: Settings,
    /// Whether a model of the operator's answers visitors, and not a search of the guide.
    pub has_model: bool,
    /// Sign-ups are passed on to a provider, and no contact is kept.
    pub passes_sign_ups_on: bool,
    /// The other origins whose pages may read the answers.
    pub allowed_origins: Vec<String>,
    /// There are proxies whose word is taken for whom they ask.
    pub trusts_proxies: bool,
    /// The operations that will be removed.
    pub deprecated: Vec<Deprecated>,
}

/// An operation that will be removed.
#[derive(Clone, Debug)]
pub struct Deprecated {
    /// Its method, in lower case.
    pub method: String,
    /// Its path.
    pub path: &'static str,
    /// The notice.
    pub deprecation: Deprecation,
}

/// The name of the quota cookie. On https the `__Host-` prefix keeps other hosts and plain http from
/// setting it (RFC 6265bis, section 4.1.3.2); browsers refuse the prefix elsewhere.
#[must_use]
pub const fn quota_cookie_name(is_https: bool) -> &'static str {
    if is_https {
        "__Host-assistant"
    } else {
        "assistant"
    }
}

/// The values that stand in the documents, under the names they have there.
#[derive(Debug, Serialize)]
pub(super) struct Words<'a> {
    base_url: &'a str,
    /// As it is: in HTML and JSON the template engine escapes it.
    service_name: &'a str,
    /// For Markdown, where nothing else escapes it.
    service_name_md: String,
    /// The host of the base URL, as a name for who publishes here.
    publisher: String,
    /// For a double-quoted scalar of YAML, without the quotes.
    service_name_quoted: String,
    mcp: &'a Toolbox,
    erp_url: Option<&'a str>,
    cookie_name: &'static str,
    key_lifetime: String,
    token_lifetime: String,
    token_lifetime_s: u64,
    registration_lifetime: String,
    reveal: &'static str,
    has_model: bool,
    passes_sign_ups_on: bool,
    allowed_origins: &'a [String],
    trusts_proxies: bool,
    email_max: usize,
    label_max: usize,
    echo_max: usize,
    content_max: usize,
    messages_max: usize,
    policies: PolicyWords,
    limits: Vec<LimitWords>,
    /// Whether there is a policy that no request escapes.
    counts_every_request: bool,
}

/// The policies that passages mention one by one; one that is off is null.
#[derive(Debug, Serialize)]
struct PolicyWords {
    default: Option<QuotaWords>,
    agents: Option<QuotaWords>,
    assistant: Option<QuotaWords>,
    assistant_ip: Option<QuotaWords>,
}

/// For "600 in any minute".
#[derive(Debug, Serialize)]
struct QuotaWords {
    count: u32,
    window: String,
}

/// A row of the table of limits.
#[derive(Debug, Serialize)]
struct LimitWords {
    name: &'static str,
    quota: String,
    counted: &'static str,
}

impl<'a> Words<'a> {
    pub(super) fn of(facts: &'a SiteFacts, toolbox: &'a Toolbox) -> Self {
        let settings = &facts.settings;
        let policy = |name| settings.policies.quota(name).map(QuotaWords::of);
        Self {
            base_url: &settings.base_url,
            service_name: &settings.service_name,
            service_name_md: escape_markdown(&settings.service_name),
            mcp: toolbox,
            publisher: publisher(settings.host()),
            service_name_quoted: escape_quoted(&settings.service_name),
            erp_url: settings.erp_url.as_deref(),
            cookie_name: quota_cookie_name(settings.is_https()),
            key_lifetime: duration(settings.key_lifetime_ms / 1000),
            token_lifetime: duration(AccessToken::LIFETIME_MS / 1000),
            token_lifetime_s: AccessToken::LIFETIME_MS / 1000,
            registration_lifetime: duration(Registration::LIFETIME_MS / 1000),
            reveal: match settings.reveal_existing {
                RevealExisting::Never => "never",
                RevealExisting::SameClient => "same-client",
                RevealExisting::Always => "always",
            },
            has_model: facts.has_model,
            passes_sign_ups_on: facts.passes_sign_ups_on,
            allowed_origins: &facts.allowed_origins,
            trusts_proxies: facts.trusts_proxies,
            email_max: email::LENGTH_MAX,
            label_max: Label::LENGTH_MAX,
            echo_max: EchoMessage::LENGTH_MAX,
            content_max: Content::LENGTH_MAX,
            messages_max: chat::MESSAGES_MAX,
            policies: PolicyWords {
                default: policy(PolicyName::Default),
                agents: policy(PolicyName::Agents),
                assistant: policy(PolicyName::Assistant),
                assistant_ip: policy(PolicyName::AssistantIp),
            },
            limits: limits(&settings.policies, facts.has_model),
            counts_every_request: [PolicyName::Default, PolicyName::Ip]
                .into_iter()
                .any(|policy| settings.policies.quota(policy).is_some()),
        }
    }
}

impl QuotaWords {
    fn of(quota: Quota) -> Self {
        let window = duration(quota.window_s());
        Self {
            count: quota.count(),
            window: window.strip_prefix("1 ").unwrap_or(&window).to_owned(),
        }
    }
}

fn limits(policies: &Policies, has_model: bool) -> Vec<LimitWords> {
    PolicyName::ALL
        .into_iter()
        .filter_map(|name| {
            let QuotaWords { count, window } = QuotaWords::of(policies.quota(name)?);
            Some(LimitWords {
                name: name.as_str(),
                quota: format!("{count} in any {window}"),
                counted: counted(name, has_model),
            })
        })
        .collect()
}

fn counted(policy: PolicyName, has_model: bool) -> &'static str {
    match policy {
        PolicyName::Default => "every request, by valid credential, else by IP address",
        PolicyName::Ip => "every request, by IP address",
        PolicyName::Keys => "API keys issued, by IP address",
        PolicyName::Agents => "agent registrations and the tokens issued to agents, by IP address",
        PolicyName::Newsletter => "newsletter sign-ups, by IP address and e-mail address together",
        PolicyName::NewsletterIp => "newsletter sign-ups, by IP address",
        PolicyName::Assistant => {
            "chat messages, by visitor (quota cookie); over MCP by valid credential, else by IP \
             address"
        }
        PolicyName::AssistantIp => "chat messages, by IP address",
        PolicyName::AssistantAll if has_model => {
            "chat messages sent to the language model, all visitors together"
        }
        PolicyName::AssistantAll => {
            "chat messages sent to a language model, all visitors together; \
             none while the assistant answers from this guide"
        }
    }
}

/// A length of time in the largest unit that suits it. One day is 24 hours: "in any day" could be
/// taken for a calendar day.
fn duration(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let (number, unit) = if seconds.is_multiple_of(DAY) && seconds > DAY {
        (seconds / DAY, "day")
    } else if seconds.is_multiple_of(HOUR) {
        (seconds / HOUR, "hour")
    } else if seconds.is_multiple_of(MINUTE) {
        (seconds / MINUTE, "minute")
    } else {
        (seconds, "second")
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// `host` in the letters that a URN of the AI catalog takes: an IPv6 address has others.
fn publisher(host: &str) -> String {
    host.trim_matches(['[', ']']).replace(':', "-")
}

/// The namespace of names that `host` gives: its labels in reverse, `com.example.api`. An address
/// has none, and is taken as it is.
pub(super) fn namespace(host: &str) -> String {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address {
        return publisher(host);
    }
    let mut labels: Vec<_> = host.split('.').collect();
    labels.reverse();
    labels.join(".")
}

/// `text` with a backslash before each mark that Markdown could obey.
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

/// `text` as it stands between the double quotes of a YAML scalar: what JSON escapes, and what YAML
/// does not take as it is (YAML 1.2, section 5.1).
fn escape_quoted(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            // Line and paragraph separators would be folded, marks of the byte order dropped.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}') => {
                escaped.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => escaped.push(c),
        }
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
    fn a_host_gives_names() {
        for (host, as_publisher, as_namespace) in [
            ("api.example.com", "api.example.com", "com.example.api"),
            ("localhost", "localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
            ("[::1]", "--1", "--1"),
        ] {
            assert_eq!(publisher(host), as_publisher);
            assert_eq!(namespace(host), as_namespace);
        }
    }

    #[test]
    fn a_policy_that_is_off_has_no_row() {
        let mut policies = Policies::default();
        assert_eq!(limits(&policies, false).len(), PolicyName::ALL.len());
        assert_eq!(limits(&policies, false)[0].quota, "600 in any minute");
        policies.set(PolicyName::Default, None);
        assert!(
            limits(&policies, false)
                .iter()
                .all(|row| row.name != "default")
        );
    }
}
