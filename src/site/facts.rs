//! The facts about this service that its documents state, as the values shared by all templates.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::domain::{
    AccessToken, ApiKey, Content, DAY_MS, EchoMessage, Label, Policies, PolicyName, Registration,
    Settings, chat, email,
};

use super::image::Image;
use super::tools::{REVISION_WITH_HANDSHAKE, REVISIONS, Tool, mcp_name, publisher};

/// The configuration that the documents mention.
#[derive(Clone, Debug)]
pub struct SiteFacts {
    /// The operator's settings.
    pub settings: Settings,
    /// The operator's logo, in place of the icon.
    pub logo: Option<Image>,
    /// The operator's picture for the home page.
    pub picture: Option<Image>,
}

/// The name of the quota cookie. On https the `__Host-` prefix keeps other hosts and plain http from
/// setting it (RFC 6265bis, section 4.1.3.2); browsers refuse the prefix elsewhere.
pub const fn quota_cookie_name(is_https: bool) -> &'static str {
    if is_https {
        "__Host-assistant"
    } else {
        "assistant"
    }
}

/// The values from `facts`. Templates for HTML and JSON escape them; `service_name_md` is for Markdown, which
/// has no escaping of its own.
pub(super) fn context(facts: &SiteFacts) -> Value {
    let settings = &facts.settings;
    // A disabled policy is `None`.
    let limits = PolicyName::ALL.map(|name| limit(name, &settings.policies));
    let names = PolicyName::ALL.map(|name| name.as_str().replace('-', "_"));
    context! {
        base_url => settings.base_url.as_str(),
        service_name => settings.service_name.as_str(),
        service_name_md => escape_markdown(&settings.service_name),
        version => env!("CARGO_PKG_VERSION"),
        publisher => publisher(settings.host()),
        erp_url => settings.erp_url.as_deref(),
        cookie_name => quota_cookie_name(settings.is_https()),
        key_lifetime_s => ApiKey::LIFETIME_MS / 1000,
        token_lifetime_s => AccessToken::LIFETIME_MS / 1000,
        registration_lifetime_s => Registration::LIFETIME_MS / 1000,
        imprint_url => settings.imprint_url.as_deref().map(|link| absolute(&settings.base_url, link)),
        privacy_url => settings.privacy_url.as_deref().map(|link| absolute(&settings.base_url, link)),
        hides_developers => settings.hides_developers,
        has_model => settings.has_model,
        falls_back => settings.falls_back,
        passes_sign_ups_on => settings.passes_sign_ups_on(),
        sign_ups => settings.sign_ups.as_str(),
        opt_in_days => settings.opt_in_ms.map_or(0, |ms| ms / DAY_MS),
        questions_kept_days => settings.questions_kept_days,
        picture => facts.picture.as_ref().map(|picture| {
            let (width, height) = picture.size.unwrap_or_default();
            context! { path => Value::from_safe_string(picture.picture_path()), width, height }
        }),
        keeps_consent_ip => settings.keeps_consent_ip,
        allowed_origins => settings.allowed_origins.clone(),
        email_max => email::LENGTH_MAX,
        label_max => Label::LENGTH_MAX,
        echo_max => EchoMessage::LENGTH_MAX,
        content_max => Content::LENGTH_MAX,
        messages_max => chat::MESSAGES_MAX,
        policies => names.into_iter().zip(limits.clone()).collect::<BTreeMap<_, _>>(),
        limits => limits.into_iter().flatten().collect::<Vec<_>>(),
        policy_names => PolicyName::ALL.map(PolicyName::as_str),
        mcp => context! {
            name => mcp_name(settings.host()),
            endpoint => format!("{}/mcp", settings.base_url),
            revisions => REVISIONS,
            revision_with_handshake => REVISION_WITH_HANDSHAKE,
            tools => Tool::ALL.map(|tool| context! { name => tool.as_str() }),
        },
    }
}

/// True if the page at `url` is the imprint or the privacy notice.
pub(super) fn is_legal(settings: &Settings, url: &str) -> bool {
    let links = [&settings.imprint_url, &settings.privacy_url];
    let mut links = links.into_iter().flatten();
    links.any(|link| absolute(&settings.base_url, link) == url)
}

/// The URL of `link`, which may be a path of this site.
pub(super) fn absolute(base_url: &str, link: &str) -> String {
    match link.strip_prefix('/') {
        Some(path) => format!("{base_url}/{path}"),
        None => link.to_owned(),
    }
}

/// A rate limit, and the requests counted in the words of the documents; `None` if it is off.
fn limit(name: PolicyName, policies: &Policies) -> Option<Value> {
    let quota = policies.quota(name)?;
    Some(context! {
        name => name.as_str(),
        count => quota.count(),
        window_s => quota.window_s(),
        counted => name.counted(),
    })
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
