//! Operator settings that both answers and documents show.

use super::accent::Accent;
use super::contact::RevealExisting;
use super::macros::names;
use super::policy::Policies;

names! {
    /// Where sign-ups go.
    pub enum SignUpsGo {
        /// They are kept here, and nobody is told.
        Kept => "kept",
        /// They are kept here, and the operator's program is told of them.
        Told => "told",
        /// They are passed on while visitors wait, and no contact is kept.
        PassedOn => "passed-on",
    }
}

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The origin under which clients reach the service, without a slash at its end.
    pub base_url: String,
    /// Whether the operator named it. Otherwise it is the address that the service listens on, which links in
    /// mails and files must not have.
    pub is_base_url_given: bool,
    pub service_name: String,
    /// Where the ERP is, if that is published.
    pub erp_url: Option<String>,
    /// Where the imprint is, if pages link to one: an address, or a path of this site.
    pub imprint_url: Option<String>,
    /// The same of the privacy notice.
    pub privacy_url: Option<String>,
    /// Where visitors reach a person, if the assistant refers them: an address, `mailto:`, or a path of this site.
    pub contact: Option<String>,
    /// The questions that the chat of the home page offers, if the operator chose them.
    pub suggestions: Vec<String>,
    /// The colour of links and buttons, if it is not the service's own.
    pub accent: Option<Accent>,
    /// Whether navigation and home page leave out what is for developers.
    pub hides_developers: bool,
    pub policies: Policies,
    /// The lifetime of an API key.
    pub key_lifetime_ms: u64,
    /// Which clients learn that an address was signed up before.
    pub reveal_existing: RevealExisting,
    /// Whether the address of a client that signs up is kept with its consent.
    pub keeps_consent_ip: bool,
    /// Whether the operator's model answers visitors, rather than a search of the guide.
    pub has_model: bool,
    /// Whether a search of the pages answers while that model is away.
    pub falls_back: bool,
    /// How long contacts can confirm, in milliseconds; none if they need not.
    pub opt_in_ms: Option<u64>,
    /// Where sign-ups go.
    pub sign_ups: SignUpsGo,
    /// The other origins whose pages may read the answers.
    pub allowed_origins: Vec<String>,
    /// Whether proxies are trusted to name the client.
    pub trusts_proxies: bool,
}

impl Settings {
    /// Whether no contact is kept.
    pub fn passes_sign_ups_on(&self) -> bool {
        self.sign_ups == SignUpsGo::PassedOn
    }

    /// The host of the base URL, without its port; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        host(&self.base_url)
    }

    /// Whether clients reach the service over TLS.
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
