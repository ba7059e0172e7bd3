//! The flags about the world outside: pages of other origins, proxies, the newsletter's provider.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use url::Url;

use super::{parse_origin, parse_url};

/// The flags as typed.
#[derive(Clone, Debug, clap::Args)]
#[allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the help, which is no Markdown"
)]
pub struct OutsideArgs {
    /// Origin whose pages may call the API from a browser, such as https://example.com; may be
    /// repeated
    #[arg(
        long,
        env = "LANDING_ALLOW_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = parse_allowed_origin
    )]
    allow_origin: Vec<String>,

    /// Network of proxies whose X-Forwarded-For headers are believed, such as
    /// 10.0.0.0/8 or 127.0.0.1; may be repeated
    #[arg(
        long,
        env = "LANDING_TRUSTED_PROXY",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = parse_network
    )]
    trusted_proxy: Vec<IpNet>,

    /// Address that every sign-up is posted to; the service then keeps no contacts itself
    #[arg(
        long,
        env = "LANDING_NEWSLETTER_WEBHOOK",
        hide_env_values = true,
        value_name = "URL",
        value_parser = parse_webhook
    )]
    newsletter_webhook: Option<WebhookUrl>,

    /// File with the secret that signs those posts: whsec_ and 24 to 64 bytes in Base64; nobody
    /// but its owner may read it
    #[arg(
        long,
        env = "LANDING_NEWSLETTER_WEBHOOK_SECRET_FILE",
        value_name = "FILE",
        requires = "newsletter_webhook"
    )]
    newsletter_webhook_secret_file: Option<PathBuf>,
}

/// The flags as meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The origins whose pages may read the answers, as browsers write them.
    pub allowed_origins: Vec<String>,
    /// The networks of the proxies that are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Where sign-ups go; nothing if contacts are kept here.
    pub webhook: Option<WebhookConfig>,
}

/// Where sign-ups are posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfig {
    /// The address.
    pub url: WebhookUrl,
    /// The file with the secret that signs; nothing if posts go unsigned.
    pub secret_file: Option<PathBuf>,
}

/// The provider's address. Some hide a password in its path or query, so it is never shown whole.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// The whole address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/..", self.0.origin().ascii_serialization())
    }
}

impl From<OutsideArgs> for Outside {
    fn from(args: OutsideArgs) -> Self {
        let secret_file = args.newsletter_webhook_secret_file;
        Self {
            allowed_origins: args.allow_origin,
            trusted_proxies: args.trusted_proxy,
            webhook: args
                .newsletter_webhook
                .map(|url| WebhookConfig { url, secret_file }),
        }
    }
}

fn parse_allowed_origin(text: &str) -> Result<String, String> {
    if text.contains('*') {
        return Err("must be one origin: answers differ by visitor, so no pattern fits".to_owned());
    }
    if text == "null" {
        return Err("must not be null: every sandboxed page has that origin".to_owned());
    }
    parse_origin(text)
}

fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpNet>() {
        Ok(network) => network.trunc(),
        Err(_not_a_network) => match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_nor_an_address) => {
                return Err("must be a network such as 10.0.0.0/8, or an address".to_owned());
            }
        },
    };
    let is_everybody = match network {
        IpNet::V4(v4) => v4.prefix_len() == 0,
        // All of IPv4 may be written as mapped addresses.
        IpNet::V6(v6) => v6.prefix_len() == 0 || v6.to_string() == "::ffff:0.0.0.0/96",
    };
    if is_everybody {
        return Err("must not be everybody: then anybody could invent an address".to_owned());
    }
    Ok(network)
}

fn parse_webhook(text: &str) -> Result<WebhookUrl, String> {
    parse_url(text)?;
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if url.fragment().is_some() {
        return Err("must not have a fragment".to_owned());
    }
    Ok(WebhookUrl(url))
}

#[cfg(test)]
mod tests {
    use super::super::{Config, ConfigError};
    use super::*;

    fn parse(flags: &[&str]) -> Result<Outside, ConfigError> {
        let words = ["landing-api", "--data-dir", "var"];
        Config::parse(words.iter().chain(flags)).map(|config| config.outside)
    }

    #[test]
    fn without_flags_nobody_outside_is_known() {
        let outside = parse(&[]).unwrap();
        assert!(outside.allowed_origins.is_empty());
        assert!(outside.trusted_proxies.is_empty());
        assert_eq!(outside.webhook, None);
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let outside = parse(&[
            "--allow-origin",
            "https://Shop.Example:443,http://127.0.0.1:3000",
            "--allow-origin=https://b\u{fc}cher.example",
        ])
        .unwrap();
        assert_eq!(
            outside.allowed_origins,
            [
                "https://shop.example",
                "http://127.0.0.1:3000",
                "https://xn--bcher-kva.example"
            ]
        );
    }

    #[test]
    fn a_bare_address_is_a_network_of_one() {
        let outside = parse(&[
            "--trusted-proxy=10.1.2.3/8,127.0.0.1",
            "--trusted-proxy",
            "2001:db8::1",
        ])
        .unwrap();
        let networks: Vec<_> = outside
            .trusted_proxies
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(networks, ["10.0.0.0/8", "127.0.0.1/32", "2001:db8::1/128"]);
    }

    #[test]
    fn a_webhook_is_taken_as_written_and_not_shown() {
        let url = "https://hooks.example/a/?token=s3cret";
        let outside = parse(&["--newsletter-webhook", url]).unwrap();
        assert!(!format!("{outside:?}").contains("s3cret"));
        assert_eq!(outside.webhook.unwrap().url.as_str(), url);
    }

    #[test]
    fn a_wrong_value_is_one_line_that_names_the_flag() {
        for (flag, value) in [
            ("--allow-origin", "*"),
            ("--allow-origin", "null"),
            ("--allow-origin", ""),
            ("--allow-origin", "example.com"),
            ("--allow-origin", "https://example.com/"),
            ("--allow-origin", "https://example.com/page"),
            ("--allow-origin", "https://*.example.com"),
            ("--allow-origin", "https://me@example.com"),
            ("--allow-origin", "file:///page.html"),
            ("--allow-origin", "https://a.example,*"),
            ("--trusted-proxy", ""),
            ("--trusted-proxy", "proxy"),
            ("--trusted-proxy", "10.0.0.0/33"),
            ("--trusted-proxy", "10.0.0/8"),
            ("--trusted-proxy", "10.0.0.0/-1"),
            ("--trusted-proxy", "0.0.0.0/0"),
            ("--trusted-proxy", "1.2.3.4/0"),
            ("--trusted-proxy", "::/0"),
            ("--trusted-proxy", "::ffff:0:0/96"),
            ("--newsletter-webhook", ""),
            ("--newsletter-webhook", "hooks.example"),
            ("--newsletter-webhook", "ftp://hooks.example"),
            ("--newsletter-webhook", "https://me:pw@hooks.example"),
            ("--newsletter-webhook", "https://hooks.example/#a"),
            ("--newsletter-webhook-secret-file", "without-a-webhook"),
        ] {
            match parse(&[&format!("{flag}={value}")]) {
                Err(ConfigError::Wrong(line)) => {
                    assert!(line.contains("--"), "{flag} {value}: {line}");
                    let named = flag.trim_end_matches("-secret-file");
                    assert!(line.contains(named), "{flag} {value}: {line}");
                    assert!(!line.contains('\n'), "{line:?}");
                }
                other => panic!("{flag} {value}: {other:?}"),
            }
        }
    }
}
