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

    /// Whether clients reach the service over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}
