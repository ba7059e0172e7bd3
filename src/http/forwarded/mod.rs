//! Whom proxies ask for: `X-Forwarded-For`, and `Forwarded` (RFC 7239).
//!
//! Anybody can send these headers, so they are read only if the peer of the connection is a proxy
//! the operator trusts, and only as far as trust reaches: from the right, past every trusted hop,
//! to the first address that is not one. Whatever stands left of it was written by a stranger and
//! is not even looked at; the parser runs from the right for that reason, so that a quote that a
//! stranger opened cannot swallow what a proxy wrote behind it.
//!
//! A proxy overwrites or extends one of the two headers and passes the other on as it came. Which
//! one cannot be known from the request, so when both are there they must agree; if they do not,
//! neither is believed.

use std::net::{IpAddr, Ipv6Addr};

use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::{IpNet, Ipv4Net};

use super::headers;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) address: IpAddr,
    pub(crate) forwarding: Forwarding,
}

/// What a request says of proxies, and what that is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// Nothing, and the peer is no trusted proxy: it is who asks.
    Direct,
    /// There are headers, and the peer is not trusted.
    Untrusted,
    /// A trusted proxy says whom it asks for.
    Known,
    /// The peer is trusted and sends no such header: a proxy that asks for itself, or says nothing.
    Silent,
    /// A trusted proxy's headers do not say whom it asks for: there is `X-Real-IP` alone, one that
    /// cannot be read, or two that disagree.
    Unusable,
}

impl Source {
    /// Whether the address may be a proxy's that asks for another: it sent headers that are not
    /// believed, or is known as a proxy and says nothing.
    pub(crate) const fn is_doubtful(&self) -> bool {
        match self.forwarding {
            Forwarding::Untrusted | Forwarding::Unusable | Forwarding::Silent => true,
            Forwarding::Direct | Forwarding::Known => false,
        }
    }
}

/// The networks whose word is taken for whom they ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts `networks`. One of IPv4-mapped addresses is the IPv4 network it stands for.
    #[must_use]
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(networks.into_iter().map(canonical).collect())
    }

    fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The source of a request that came from `peer`.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> Source {
        let peer = peer.to_canonical();
        let is_forwarded = headers::has_any(headers, &[X_FORWARDED_FOR, FORWARDED, X_REAL_IP]);
        let from_peer = |forwarding| Source {
            address: peer,
            forwarding,
        };
        match (self.contain(peer), is_forwarded) {
            (false, false) => return from_peer(Forwarding::Direct),
            (false, true) => return from_peer(Forwarding::Untrusted),
            (true, false) => return from_peer(Forwarding::Silent),
            (true, true) => {}
        }
        let lists = [
            self.walk(peer, headers, &X_FORWARDED_FOR, Hop::in_list),
            self.walk(peer, headers, &FORWARDED, Hop::in_forwarded),
        ];
        match lists {
            [Some(one), None] | [None, Some(one)] => one,
            [Some(one), Some(other)] if one == other => one,
            [Some(_), Some(_)] | [None, None] => from_peer(Forwarding::Unusable),
        }
    }

    /// Follows one header from the right; nothing if it names no hop.
    fn walk(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        name: &HeaderName,
        read: fn(&[u8]) -> Option<IpAddr>,
    ) -> Option<Source> {
        let mut source = None;
        for line in headers.get_all(name).iter().rev() {
            for element in Elements(Some(line.as_bytes())) {
                let hop = match element {
                    Ok([]) => continue,
                    Ok(element) => read(element),
                    Err(Unbalanced) => None,
                };
                // The last good address; which of its clients asks is not known.
                let Some(address) = hop else {
                    return Some(Source {
                        address: source.map_or(peer, |source: Source| source.address),
                        forwarding: Forwarding::Unusable,
                    });
                };
                source = Some(Source {
                    address,
                    forwarding: Forwarding::Known,
                });
                if !self.contain(address) {
                    return source;
                }
            }
        }
        source
    }
}

fn canonical(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let network = network.trunc();
    let IpNet::V6(v6) = network else {
        return network;
    };
    let Some(v4) = v6.network().to_ipv4_mapped() else {
        return network;
    };
    v6.prefix_len()
        .checked_sub(MAPPED_BITS)
        .and_then(|bits| Ipv4Net::new(v4, bits).ok())
        .map_or(network, IpNet::V4)
}

/// A quote without its partner.
struct Unbalanced;

/// The elements of a comma-separated list, from the right, without the blanks around them. Commas
/// inside quoted strings (RFC 9110, section 5.6.4) do not separate. What an element is never
/// depends on what stands left of its comma.
struct Elements<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Elements<'a> {
    type Item = Result<&'a [u8], Unbalanced>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.take()?;
        let mut at = rest.len();
        let mut is_quoted = false;
        while let Some((&byte, before)) = rest.get(..at).and_then(<[u8]>::split_last) {
            at = before.len();
            match byte {
                b'"' if !is_quoted => is_quoted = true,
                b'"' => is_quoted = is_escaped(before),
                b',' if !is_quoted => {
                    self.0 = Some(before);
                    return Some(Ok(rest.get(at + 1..).unwrap_or_default().trim_ascii()));
                }
                _ => {}
            }
        }
        Some(if is_quoted {
            Err(Unbalanced)
        } else {
            Ok(rest.trim_ascii())
        })
    }
}

/// Whether the byte after `before` is escaped: an odd number of backslashes leads to it.
fn is_escaped(before: &[u8]) -> bool {
    let backslashes = before.iter().rev().take_while(|&&byte| byte == b'\\');
    backslashes.count() % 2 == 1
}

/// Reads the address out of one element.
struct Hop;

impl Hop {
    /// An element of `X-Forwarded-For`: an address, with or without a port.
    fn in_list(element: &[u8]) -> Option<IpAddr> {
        node(element, is_number)
    }

    /// An element of `Forwarded`: its one `for` parameter.
    fn in_forwarded(element: &[u8]) -> Option<IpAddr> {
        let mut found = None;
        let mut rest = Some(element);
        while let Some(text) = rest {
            let (pair, after) = split_pair(text)?;
            rest = after;
            let pair = pair.trim_ascii();
            if pair.is_empty() {
                continue;
            }
            let equals = pair.iter().position(|&byte| byte == b'=')?;
            let (name, value) = pair.split_at(equals);
            if name.eq_ignore_ascii_case(b"for") && found.replace(value.get(1..)?).is_some() {
                return None;
            }
        }
        let value = unquote(found?)?;
        // A port may be obfuscated too (RFC 7239, section 6).
        node(&value, |port| is_number(port) || is_obfuscated(port))
    }
}

/// Splits at the first semicolon outside quotes; nothing if the quotes do not balance.
fn split_pair(text: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b';' if !is_quoted => return Some((text.get(..at)?, text.get(at + 1..))),
            _ => {}
        }
    }
    (!is_quoted).then_some((text, None))
}

/// A value without its quotes and escapes; nothing if a quote stands inside.
fn unquote(value: &[u8]) -> Option<Vec<u8>> {
    let Some(inside) = value.strip_prefix(b"\"") else {
        return (!value.contains(&b'"')).then(|| value.to_vec());
    };
    let mut plain = Vec::with_capacity(inside.len());
    let mut bytes = inside.strip_suffix(b"\"")?.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => plain.push(*bytes.next()?),
            b'"' => return None,
            _ => plain.push(byte),
        }
    }
    Some(plain)
}

/// An address that may have brackets and a port. `unknown` and obfuscated names have none.
fn node(text: &[u8], is_port: impl Fn(&str) -> bool) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        if !port.is_empty() && !port.strip_prefix(':').is_some_and(&is_port) {
            return None;
        }
        let v6: Ipv6Addr = address.parse().ok()?;
        return Some(IpAddr::V6(v6).to_canonical());
    }
    let address = match text.split_once(':') {
        // One colon is a port's; more are an IPv6 address without brackets.
        Some((address, port)) if !port.contains(':') => {
            if !is_port(port) {
                return None;
            }
            address
        }
        Some(_) | None => text,
    };
    let address: IpAddr = address.parse().ok()?;
    Some(address.to_canonical())
}

/// A port in digits alone: `parse` would take a sign as well.
fn is_number(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

fn is_obfuscated(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|rest| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    })
}

#[cfg(test)]
mod tests;
