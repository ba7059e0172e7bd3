//! Networks blocked by the operator.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::client::canonical;
use super::macros::hidden;
use super::time::Timestamp;

/// A network that may be blocked: never all addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockedNetwork(IpNet);

impl BlockedNetwork {
    /// Parses a network such as `192.0.2.0/24`, or an address. An IPv6 form of an IPv4 address becomes that address, the
    /// form in which client addresses are compared.
    ///
    /// # Errors
    /// The fault and its fix, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let address = text.parse().map(|address| IpNet::from(canonical(address)));
        let network = address
            .or_else(|_no_address| text.parse::<IpNet>())
            .map_err(|_no_network| {
                "must be a network such as 192.0.2.0/24 or 2001:db8:0:100::/56, or an address"
            })?;
        let whole = network.trunc();
        if network != whole {
            let (bits, address) = (network.prefix_len(), network.addr());
            return Err(format!(
                "has bits set beyond /{bits}: write {whole} for the network, or {address} for the one address"
            ));
        }
        let address = canonical(whole.network());
        if address != whole.network() {
            return Err(match whole.prefix_len().checked_sub(96) {
                Some(bits @ 1..) => format!("is IPv4 in an IPv6 form: write {address}/{bits}"),
                _ => "has IPv4 in an IPv6 form: block networks of IPv4 instead".to_owned(),
            });
        }
        if whole.prefix_len() == 0 {
            return Err(
                "must not cover all addresses: to refuse everyone, stop the service".to_owned(),
            );
        }
        Ok(Self(whole))
    }
}

impl fmt::Display for BlockedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// It identifies clients, and no log line may.
hidden!(BlockedNetwork);

/// A blocked network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub network: BlockedNetwork,
    pub since: Timestamp,
}

/// Union of the blocked networks.
#[derive(Clone, Debug, Default)]
pub struct BlockedAddresses(Vec<IpNet>);

impl FromIterator<BlockedNetwork> for BlockedAddresses {
    fn from_iter<I: IntoIterator<Item = BlockedNetwork>>(networks: I) -> Self {
        let networks: Vec<_> = networks.into_iter().map(|network| network.0).collect();
        // After merging, no two of them overlap.
        let mut merged = IpNet::aggregate(&networks);
        merged.sort_unstable_by_key(IpNet::network);
        Self(merged)
    }
}

impl BlockedAddresses {
    /// True if nothing is blocked.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if `address` is blocked.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        let begun = self.0.partition_point(|net| net.network() <= address);
        let last = begun.checked_sub(1).and_then(|at| self.0.get(at));
        last.is_some_and(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_parsed_or_told_what_is_wrong() {
        for (text, expected) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("127.0.0.0/8", "127.0.0.0/8"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("2001:DB8::1", "2001:db8::1/128"),
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
            ("64:ff9b::192.0.2.7", "192.0.2.7/32"),
            ("128.0.0.0/1", "128.0.0.0/1"),
        ] {
            let network = BlockedNetwork::parse(text).unwrap();
            assert_eq!(network.to_string(), expected, "{text}");
        }
        let bits = "has bits set beyond /24: write 192.0.2.0/24 for the network, or 192.0.2.7";
        let malformed = "|9c1f02ab|example.com|192.0.2.0/33|192.0.2/24|192.0.2.0/-1|192.0.2.0/24 |\
                         192.0.2.0/24,192.0.3.0/24";
        for (texts, part) in [
            (malformed, "such as 192.0.2.0/24"),
            ("192.0.2.7/24", bits),
            ("2001:db8::1/56", "write 2001:db8::/56"),
            ("0.0.0.0/0|::/0", "must not cover all addresses"),
            (
                "::ffff:192.0.2.0/120|64:ff9b::192.0.2.0/120",
                "is IPv4 in an IPv6 form: write 192.0.2.0/24",
            ),
            (
                "::ffff:0:0/96|64:ff9b::/96|64:ff9b::/64",
                "block networks of IPv4",
            ),
        ] {
            for text in texts.split('|') {
                let error = BlockedNetwork::parse(text).unwrap_err();
                assert!(error.contains(part), "{text}: {error}");
            }
        }
    }

    #[test]
    fn an_address_is_looked_up_among_networks_that_overlap() {
        let networks = "192.0.2.0/24 192.0.2.128/25 192.0.3.0/24 198.51.100.7 2001:db8:1:100::/56";
        let networks = networks.split(' ');
        let networks = networks.map(|text| BlockedNetwork::parse(text).unwrap());
        let blocked: BlockedAddresses = networks.collect();
        let inside = "192.0.2.0 192.0.3.255 198.51.100.7 ::ffff:192.0.2.1 64:ff9b::192.0.2.1 2001:db8:1:1ff::1";
        let outside = "192.0.1.255 192.0.4.0 198.51.100.6 198.51.100.8 2001:db8:1:200::1 ::1";
        for (addresses, is_blocked) in [(inside, true), (outside, false)] {
            for address in addresses.split(' ') {
                let found = blocked.contains(address.parse().unwrap());
                assert_eq!(found, is_blocked, "{address}");
            }
        }
        assert!(!BlockedAddresses::default().contains("192.0.2.1".parse().unwrap()));
    }
}
