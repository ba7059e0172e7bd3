//! What the operator decided, where answers and documents have to tell the same.

use super::contact::RevealExisting;
use super::policy::Policies;

/// The operator's decisions.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The origin under which clients reach the service, without a slash at its end.
    pub base_url: String,
    /// The service's name.
    pub service_name: String,
    /// Where the ERP is, if that is published.
    pub erp_url: Option<String>,
    /// How much each policy allows.
    pub policies: Policies,
    /// How long an issued API key is good, in milliseconds.
    pub key_lifetime_ms: u64,
    /// Who is told that an address was signed up already.
    pub reveal_existing: RevealExisting,
}

impl Settings {
    /// The documentation.
    #[must_use]
    pub fn documentation(&self) -> String {
        format!("{}/docs", self.base_url)
    }

    /// The `OpenAPI` description.
    #[must_use]
    pub fn openapi(&self) -> String {
        format!("{}/openapi.json", self.base_url)
    }

    /// The protected resource metadata (RFC 9728).
    #[must_use]
    pub fn protected_resource(&self) -> String {
        format!("{}/.well-known/oauth-protected-resource", self.base_url)
    }

    /// The host of the base URL, without its port; an IPv6 address stands in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let authority = match self.base_url.split_once("://") {
            Some((_scheme, authority)) => authority,
            None => &self.base_url,
        };
        let port = authority.rsplit_once(':');
        match port {
            // A colon inside the brackets is none of a port.
            Some((host, port)) if !port.ends_with(']') => host,
            Some(_) | None => authority,
        }
    }

    /// Whether clients reach the service over TLS.
    #[must_use]
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
            };
            assert_eq!(settings.host(), host);
        }
    }
}
