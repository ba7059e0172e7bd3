//! Operator settings that both answers and documents show.

use super::contact::RevealExisting;
use super::policy::Policies;

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The origin under which clients reach the service, without a slash at its end.
    pub base_url: String,
    /// The service's name.
    pub service_name: String,
    /// Where the ERP is, if that is published.
    pub erp_url: Option<String>,
    /// The quota of each policy.
    pub policies: Policies,
    /// The lifetime of an API key, in milliseconds.
    pub key_lifetime_ms: u64,
    /// Which clients learn that an address was signed up before.
    pub reveal_existing: RevealExisting,
    /// Whether plain forms are checked for bots.
    pub checks_forms: bool,
}

impl Settings {
    /// The host of the base URL, without its port; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        let authority = match self.base_url.split_once("://") {
            Some((_scheme, authority)) => authority,
            None => &self.base_url,
        };
        let port = authority.rsplit_once(':');
        match port {
            // A colon inside brackets belongs to an IPv6 address.
            Some((host, port)) if !port.ends_with(']') => host,
            Some(_) | None => authority,
        }
    }

    /// Whether clients reach the service over TLS.
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_no_port() {
        for (base_url, host) in [
            ("https://api.example.com", "api.example.com"),
            ("http://localhost:8080", "localhost"),
            ("http://127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]", "[::1]"),
            ("http://[::1]:8080", "[::1]"),
        ] {
            let settings = Settings {
                base_url: base_url.to_owned(),
                service_name: String::new(),
                erp_url: None,
                policies: Policies::default(),
                key_lifetime_ms: 0,
                reveal_existing: RevealExisting::Never,
                checks_forms: true,
            };
            assert_eq!(settings.host(), host);
        }
    }
}
