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
    /// Parses a network such as `192.0.2.0/24`, or an address. An IPv6 form of an IPv4 network becomes that
    /// IPv4 network, the form in which client addresses are compared.
    ///
    /// # Errors
    /// The fault and its fix, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed = text.parse::<IpNet>();
        let network = parsed
            .or_else(|_no_network| text.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_no_address| {
                "must be a network such as 192.0.2.0/24 or 2001:db8:0:100::/56, or an address"
            })?;
        let whole = network.trunc();
        if network != whole {
            let (bits, address) = (network.prefix_len(), network.addr());
            return Err(format!(
                "has bits set beyond /{bits}: write {whole} for the network, or {address} for the one address"
            ));
        }
        let whole = embedded(whole);
        if whole.prefix_len() == 0 {
            return Err(
                "must not cover all addresses: to refuse everyone, stop the service".to_owned(),
            );
        }
        Ok(Self(whole))
    }
}

/// The IPv4 network embedded in an IPv6 form, any other unchanged.
fn embedded(network: IpNet) -> IpNet {
    const FORM_BITS: u8 = 96;
    let address = canonical(network.network());
    let bits = network.prefix_len().checked_sub(FORM_BITS);
    let bits = bits.filter(|_| address != network.network());
    let embedded = bits.and_then(|bits| IpNet::new(address, bits).ok());
    embedded.unwrap_or(network)
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
            ("192.0.2.0/24", Ok("192.0.2.0/24")),
            ("192.0.2.7", Ok("192.0.2.7/32")),
            ("127.0.0.0/8", Ok("127.0.0.0/8")),
            ("2001:db8::/32", Ok("2001:db8::/32")),
            ("2001:DB8::1", Ok("2001:db8::1/128")),
            ("::ffff:192.0.2.0/120", Ok("192.0.2.0/24")),
            ("64:ff9b::192.0.2.7", Ok("192.0.2.7/32")),
            ("128.0.0.0/1", Ok("128.0.0.0/1")),
            ("", Err("such as 192.0.2.0/24")),
            ("9c1f02ab", Err("such as 192.0.2.0/24")),
            ("example.com", Err("such as 192.0.2.0/24")),
            ("192.0.2.0/33", Err("such as 192.0.2.0/24")),
            ("192.0.2/24", Err("such as 192.0.2.0/24")),
            ("192.0.2.0/-1", Err("such as 192.0.2.0/24")),
            ("192.0.2.0/24 ", Err("such as 192.0.2.0/24")),
            ("192.0.2.0/24,192.0.3.0/24", Err("such as 192.0.2.0/24")),
            (
                "192.0.2.7/24",
                Err("has bits set beyond /24: write 192.0.2.0/24 for the network, or 192.0.2.7"),
            ),
            ("2001:db8::1/56", Err("write 2001:db8::/56")),
            ("0.0.0.0/0", Err("must not cover all addresses")),
            ("::/0", Err("must not cover all addresses")),
            ("::ffff:0:0/96", Err("must not cover all addresses")),
            ("64:ff9b::/96", Err("must not cover all addresses")),
        ] {
            match (BlockedNetwork::parse(text), expected) {
                (Ok(network), Ok(shown)) => assert_eq!(network.to_string(), shown, "{text}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (parsed, _) => panic!("{text}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn an_address_is_looked_up_among_networks_that_overlap() {
        let networks = [
            "192.0.2.0/24",
            "192.0.2.128/25",
            "192.0.3.0/24",
            "198.51.100.7",
            "2001:db8:1:100::/56",
        ];
        let networks = networks.map(|text| BlockedNetwork::parse(text).unwrap());
        let blocked: BlockedAddresses = networks.into_iter().collect();
        for (address, is_blocked) in [
            ("192.0.1.255", false),
            ("192.0.2.0", true),
            ("192.0.3.255", true),
            ("192.0.4.0", false),
            ("198.51.100.6", false),
            ("198.51.100.7", true),
            ("198.51.100.8", false),
            ("::ffff:192.0.2.1", true),
            ("64:ff9b::192.0.2.1", true),
            ("2001:db8:1:1ff::1", true),
            ("2001:db8:1:200::1", false),
            ("::1", false),
        ] {
            assert_eq!(
                blocked.contains(address.parse().unwrap()),
                is_blocked,
                "{address}"
            );
        }
        assert!(!BlockedAddresses::default().contains("192.0.2.1".parse().unwrap()));
    }
}
