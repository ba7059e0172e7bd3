//! Value parsers of the flags. An error says what is allowed; clap adds the flag's name.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

use crate::domain::{
    BlockedNetwork, DAY_MS, EmailAddress, EmailError, PolicyName, Quota, Timestamp, macros::hidden,
    time::parse_duration_ms,
};

/// A URL that may hold a secret, as a password or, for webhooks, in its path or query. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(pub String);

hidden!(SecretUrl);

/// The URL of an engine, parsed by its adapter.
pub(super) fn engine_url(text: &str) -> Result<SecretUrl, Infallible> {
    Ok(SecretUrl(text.to_owned()))
}

/// An `http` or `https` URL without credentials.
pub(super) fn http_url(text: &str) -> Result<Url, &'static str> {
    const FORM: &str = "must be an absolute URL such as https://example.com";
    let url = Url::parse(text).map_err(|_no_url| FORM)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(FORM);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password");
    }
    Ok(url)
}

/// The URL in its normal form, without a slash at its end.
fn trimmed(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

pub(super) fn link(text: &str) -> Result<String, &'static str> {
    http_url(text).map(|url| trimmed(&url))
}

/// The URL of a page, or a path of this site.
pub(super) fn page_link(text: &str) -> Result<String, String> {
    let is_path_byte = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\".contains(&byte);
    if text.starts_with('/') && !text.starts_with("//") && text.bytes().all(is_path_byte) {
        return Ok(text.to_owned());
    }
    link(text).map_err(|why| format!("{why}, or a path such as /imprint"))
}

/// Where visitors reach a person: an email address, as a `mailto:` link, or a page.
pub(super) fn contact(text: &str) -> Result<String, String> {
    match EmailAddress::parse(text) {
        Ok(address) => Ok(format!("mailto:{}", address.as_str())),
        Err(_) => page_link(text).map_err(|why| format!("{why}, or an email address")),
    }
}

/// A question on a button. Bars part them in the page.
pub(super) fn suggestion(text: &str) -> Result<String, String> {
    match name(text)? {
        name if name.contains('|') => Err("must not contain |".to_owned()),
        name => Ok(name),
    }
}

/// An origin (RFC 6454), serialised as browsers do.
fn origin(text: &str) -> Result<String, &'static str> {
    let url = http_url(text)?;
    let origin = url.origin().ascii_serialization();
    // The parser adds the slash of an empty path, so a typed one needs a check of its own.
    if trimmed(&url) != origin || text.ends_with('/') {
        return Err("must be an origin such as https://example.com, without a path");
    }
    Ok(origin)
}

pub(super) fn ip(text: &str) -> Result<IpAddr, &'static str> {
    text.parse()
        .map_err(|_no_address| "must be an IP address such as 203.0.113.7 or 2001:db8::1")
}

pub(super) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(
        |_no_address| "must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080",
    )
}

/// An address reachable only from this machine.
pub(super) fn loopback(text: &str) -> Result<SocketAddr, &'static str> {
    let address = address(text)?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(
        "must be a loopback address, such as 127.0.0.1:9090, because the page shows contacts and has no \
         TLS; to reach it from elsewhere, use an SSH tunnel (ssh -L 9090:127.0.0.1:9090 HOST) or a proxy \
         with TLS and a login of its own",
    )
}

/// A part of the name of a host.
pub(super) fn is_label(label: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_inside = !label.starts_with('-') && !label.ends_with('-');
    (1..=63).contains(&label.len()) && is_inside && label.chars().all(is_allowed)
}

/// An origin whose host is safe in every document, unescaped.
pub(super) fn base_url(text: &str) -> Result<String, &'static str> {
    let url = http_url(text)?;
    let is_host = match url.host() {
        Some(Host::Domain(name)) => name.split('.').all(is_label),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    if !is_host {
        return Err("must have a host name of letters, digits, hyphens and single dots");
    }
    if url.port() == Some(0) {
        return Err("must have a port above 0");
    }
    origin(text)
}

pub(super) fn allowed_origin(text: &str) -> Result<String, &'static str> {
    if text.contains('*') {
        return Err(
            "must be a single origin: responses differ by visitor, so patterns are not supported",
        );
    }
    if text == "null" {
        return Err("must not be null: any sandboxed page has that origin");
    }
    origin(text)
}

pub(super) fn webhook_url(text: &str) -> Result<SecretUrl, &'static str> {
    let url = http_url(text)?;
    if url.fragment().is_some() {
        return Err("must not have a fragment");
    }
    Ok(SecretUrl(url.into()))
}

pub(super) fn model_url(text: &str) -> Result<String, &'static str> {
    let url = http_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not contain a query or a fragment");
    }
    let base = trimmed(&url);
    if base.ends_with("/chat/completions") {
        return Err("must be the base of the API, without /chat/completions");
    }
    Ok(base)
}

pub(super) fn network(text: &str) -> Result<IpNet, &'static str> {
    let parsed = text.parse::<IpNet>();
    let network = parsed
        .or_else(|_not_a_network| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_nor_an_address| "must be a network such as 10.0.0.0/8, or an address")?;
    // It is compared with addresses in the form of IPv4.
    if matches!(network.network(), IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
        return Err("must be written as an IPv4 network, such as 10.0.0.0/8");
    }
    Ok(network.trunc())
}

pub(super) fn name(text: &str) -> Result<String, String> {
    const LENGTH_MAX: usize = 100;
    // YAML 1.2, section 5.1 has no form for the last two.
    let is_unprintable = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    if text.trim().is_empty()
        || text.chars().count() > LENGTH_MAX
        || text.chars().any(is_unprintable)
    {
        return Err(format!(
            "must be a line of 1 to {LENGTH_MAX} characters, none of them a control character"
        ));
    }
    Ok(text.to_owned())
}

pub(super) fn limit(text: &str) -> Result<(PolicyName, Option<Quota>), String> {
    let (name, quota) = text
        .split_once('=')
        .ok_or("must be NAME=COUNT/WINDOW or NAME=off")?;
    let policy = PolicyName::from_name(name).ok_or_else(|| {
        let names = PolicyName::ALL.map(PolicyName::as_str);
        format!("the policy must be one of {}", names.join(", "))
    })?;
    if quota == "off" {
        return Ok((policy, None));
    }
    Ok((policy, Some(quota.parse()?)))
}

pub(super) fn blocked(text: &str) -> Result<String, String> {
    BlockedNetwork::parse(text).map(|network| network.to_string())
}

/// An address, in lower case.
pub(super) fn email(text: &str) -> Result<String, EmailError> {
    EmailAddress::parse(text).map(|address| address.as_str().to_owned())
}

pub(super) fn time(text: &str) -> Result<String, &'static str> {
    Timestamp::parse(text)
        .map(Timestamp::to_rfc3339)
        .ok_or("must be a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31")
}

/// In seconds; none if it is off. To clap, `Option` itself would be an optional flag.
pub(super) type HstsMaxAge = Option<u64>;

/// `max-age` of Strict-Transport-Security, in seconds; `None` sends no header.
pub(super) fn hsts_max_age(text: &str) -> Result<HstsMaxAge, String> {
    if text == "off" {
        return Ok(None);
    }
    let words = "off or a number with s, m, h or d, up to 3660d";
    time_ms(text, 0..=3660 * DAY_MS, words).map(|max_age_ms| Some(max_age_ms / 1000))
}

pub(super) fn model_timeout(text: &str) -> Result<Duration, String> {
    let words = "a number with s or m, from 1s to 5m";
    time_ms(text, 1_000..=300_000, words).map(Duration::from_millis)
}

pub(super) fn up_to_a_minute(text: &str) -> Result<Duration, String> {
    let words = "a number with s or m, from 0s to 1m";
    time_ms(text, 0..=60_000, words).map(Duration::from_millis)
}

fn time_ms(text: &str, range_ms: RangeInclusive<u64>, words: &str) -> Result<u64, String> {
    let time_ms = parse_duration_ms(text).filter(|time_ms| range_ms.contains(time_ms));
    time_ms.ok_or_else(|| format!("must be {words}"))
}
