//! Operator settings that both responses and documents show.

use super::accent::Accent;
use super::contact::RevealExisting;
use super::macros::names;
use super::policy::Policies;

names! {
    /// Destination of sign-ups.
    pub enum SignUpsGo {
        /// Stored here, without notifications.
        Kept => "kept",
        /// Stored here, and the operator's program is notified.
        Told => "told",
        /// Passed on while the visitor waits; no contact is stored.
        PassedOn => "passed-on",
    }
}

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Origin under which clients reach the service, without a trailing slash.
    pub base_url: String,
    /// Whether the operator named it. Otherwise it is the address that the service listens on, which links in
    /// files must not have; those in confirmation emails may while it is a loopback address.
    pub is_base_url_given: bool,
    pub service_name: String,
    /// URL of the ERP, if published.
    pub erp_url: Option<String>,
    /// URL or local path of the imprint, if pages link to one.
    pub imprint_url: Option<String>,
    /// URL or local path of the privacy notice.
    pub privacy_url: Option<String>,
    /// URL, `mailto:` or local path where visitors reach a person, if the assistant refers to one.
    pub contact: Option<String>,
    /// Questions that the chat of the home page offers, if the operator chose them.
    pub suggestions: Vec<String>,
    /// Colour of links and buttons, if not the service's own.
    pub accent: Option<Accent>,
    /// True if the navigation and home page leave out the parts for developers.
    pub hides_developers: bool,
    pub policies: Policies,
    /// The lifetime of an API key.
    pub key_lifetime_ms: u64,
    /// Clients that learn an address was signed up before.
    pub reveal_existing: RevealExisting,
    /// True if the address of a client that signs up is stored with its consent.
    pub keeps_consent_ip: bool,
    /// True if the operator's model answers visitors, rather than a search of the guide.
    pub has_model: bool,
    /// True if a search of the pages answers while that model is unavailable.
    pub falls_back: bool,
    /// Confirmation period of contacts, in milliseconds; `None` without confirmation.
    pub opt_in_ms: Option<u64>,
    /// Destination of sign-ups.
    pub sign_ups: SignUpsGo,
    /// Other origins whose pages may read responses.
    pub allowed_origins: Vec<String>,
    /// True if proxies are trusted to report the client's address.
    pub trusts_proxies: bool,
}

impl Settings {
    /// True if no contact is stored.
    pub fn passes_sign_ups_on(&self) -> bool {
        self.sign_ups == SignUpsGo::PassedOn
    }

    /// True if contacts confirm their sign-up by email.
    pub fn asks_to_confirm(&self) -> bool {
        self.opt_in_ms.is_some()
    }

    /// Host of the base URL, without its port; IPv6 addresses keep their brackets.
    pub fn host(&self) -> &str {
        host(&self.base_url)
    }

    /// True if clients reach the service over TLS.
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

fn host(base_url: &str) -> &str {
    let authority = match base_url.split_once("://") {
        Some((_scheme, authority)) => authority,
        None => base_url,
    };
    match authority.rsplit_once(':') {
        // A colon inside brackets belongs to an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => host,
        Some(_) | None => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_no_port() {
        for (base_url, expected) in [
            ("https://api.example.com", "api.example.com"),
            ("http://localhost:8080", "localhost"),
            ("http://127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]", "[::1]"),
            ("http://[::1]:8080", "[::1]"),
        ] {
            assert_eq!(host(base_url), expected);
        }
    }
}
