//! The client's IP address: the peer of the connection, or the one that trusted proxies report in
//! `X-Forwarded-For`.
//!
//! Anybody can send that header. It is read only if the peer is a trusted proxy, and from the right: past
//! every trusted hop, to the first address that isn't one. Everything to the left of that was written by the
//! client and is not parsed. `Forwarded` (RFC 7239) and `X-Real-IP` are never parsed: their presence only
//! shows that there is a proxy.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::IpNet;
use parking_lot::Once;

use crate::domain::Network;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Headers whose presence shows a proxy.
pub(crate) const FORWARDING_HEADERS: [HeaderName; 3] = [
    X_FORWARDED_FOR,
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("x-real-ip"),
];

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientIp {
    pub(crate) address: IpAddr,
    pub(crate) forwarding: Forwarding,
}

/// Source of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// The peer is no trusted proxy and sent no forwarding header: it is the client.
    Direct,
    /// The peer sent a forwarding header and is not trusted.
    Untrusted,
    /// A trusted proxy reported the client.
    Known,
    /// A trusted proxy sent no forwarding header. The request may be its own.
    Missing,
    /// A trusted proxy sent forwarding headers, but no `X-Forwarded-For` that can be parsed. The address is
    /// that of the last trusted hop.
    Unusable,
}

impl ClientIp {
    /// The network that the request counts under. Requests with unusable headers share a network of their
    /// own. If they counted under their proxy's address, they could use up the window of its health probes.
    pub(crate) fn network(&self) -> Network {
        match self.forwarding == Forwarding::Unusable {
            true => Network::Unknown,
            false => Network::from(self.address),
        }
    }

    /// True if the address may be that of a proxy, shared by many clients.
    pub(crate) const fn may_be_proxy(&self) -> bool {
        !matches!(self.forwarding, Forwarding::Direct | Forwarding::Known)
    }
}

/// The networks whose `X-Forwarded-For` is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts `networks`.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(networks.into_iter().collect())
    }

    /// True if `address` is a trusted proxy's.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client behind a request that came from `peer`. Trust is followed through `X-Forwarded-For` from the
    /// right. An element that can't be parsed ends the walk at the hop that sent it.
    pub(crate) fn client_ip(&self, peer: IpAddr, headers: &HeaderMap) -> ClientIp {
        let address = peer.to_canonical();
        let is_forwarded = headers.keys().any(|name| FORWARDING_HEADERS.contains(name));
        let forwarding = match (self.contains(address), is_forwarded) {
            (false, false) => Forwarding::Direct,
            (false, true) => Forwarding::Untrusted,
            (true, false) => Forwarding::Missing,
            (true, true) => Forwarding::Unusable,
        };
        let mut client = ClientIp {
            address,
            forwarding,
        };
        let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
        let mut elements = lines
            .flat_map(|line| line.as_bytes().rsplit(|&byte| byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|element| !element.is_empty());
        while self.contains(client.address)
            && let Some(element) = elements.next()
        {
            let Some(address) = parse_hop(element) else {
                client.forwarding = Forwarding::Unusable;
                break;
            };
            client = ClientIp {
                address,
                forwarding: Forwarding::Known,
            };
        }
        client
    }
}

/// An address, optionally with a port; IPv6 addresses may have brackets.
fn parse_hop(element: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(element).ok()?;
    let address = if let Ok(address) = text.parse::<IpAddr>() {
        address
    } else if let Ok(socket) = text.parse::<SocketAddr>() {
        socket.ip()
    } else {
        IpAddr::V6(text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?)
    };
    Some(address.to_canonical())
}

/// Warns the operator of a proxy that makes all its clients look like one. Each warning is logged once per
/// process, and contains no address.
#[derive(Debug, Default)]
pub(crate) struct ProxyWarnings {
    untrusted: Once,
    unnamed: Once,
}

impl ProxyWarnings {
    /// Checks a request from `peer`. Health probes may come from a trusted proxy itself.
    pub(crate) fn observe(&self, peer: IpAddr, forwarding: Forwarding, is_probe: bool) {
        match forwarding {
            Forwarding::Untrusted if is_private(peer) => self.untrusted.call_once(|| {
                tracing::warn!(
                    "a request came from a private address with forwarding headers that are not \
                     trusted: if that is your proxy, list its network in --trusted-proxy, or all \
                     its visitors count as one"
                );
            }),
            Forwarding::Missing if is_probe => {}
            Forwarding::Missing | Forwarding::Unusable => self.unnamed.call_once(|| {
                tracing::warn!(
                    "a request from a trusted proxy has no usable X-Forwarded-For (Forwarded and \
                     X-Real-IP are not read): have the proxy send X-Forwarded-For, or all such \
                     requests are counted as one client"
                );
            }),
            Forwarding::Direct | Forwarding::Known | Forwarding::Untrusted => {}
        }
    }
}

/// True if the address is not routed on the Internet, and so likely a proxy's.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests;
