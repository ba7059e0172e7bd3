//! The facts about this service that its documents state.

use std::net::Ipv4Addr;

use crate::domain::Settings;

use super::image::Logo;

/// The configuration that the documents mention.
#[derive(Clone, Debug)]
pub struct SiteFacts {
    /// The operator's settings.
    pub settings: Settings,
    /// The operator's logo, in place of the icon.
    pub logo: Option<Logo>,
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

impl SiteFacts {
    /// The host of the base URL in the characters that a URN of the AI catalog allows.
    pub(super) fn publisher(&self) -> String {
        publisher(self.settings.host())
    }

    /// The name of the MCP server: a namespace made of the host, and one of our own.
    pub(super) fn mcp_name(&self) -> String {
        format!("{}/public-api", namespace(self.settings.host()))
    }

    /// The address of the MCP endpoint.
    pub(super) fn mcp_endpoint(&self) -> String {
        format!("{}/mcp", self.settings.base_url)
    }
}

fn publisher(host: &str) -> String {
    host.trim_matches(['[', ']']).replace(':', "-")
}

/// The labels of `host` in reverse order, as in `com.example.api`; an address as it is.
fn namespace(host: &str) -> String {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address {
        return publisher(host);
    }
    let mut labels: Vec<_> = host.split('.').collect();
    labels.reverse();
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
