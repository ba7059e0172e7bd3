//! The facts about this service that its documents state.

use std::net::Ipv4Addr;

use crate::domain::Settings;

use super::image::Image;

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

/// A host in the characters that a URN of the AI catalog allows.
pub(super) fn publisher(host: &str) -> String {
    host.trim_matches(['[', ']']).replace(':', "-")
}

/// The name of the MCP server on a host: a namespace made of it, and one of our own.
pub(super) fn mcp_name(host: &str) -> String {
    format!("{}/public-api", namespace(host))
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
