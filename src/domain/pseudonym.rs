//! The operator's name for a client where its address must not appear: the log, `limits show` and the filter
//! of contacts use the same one.
//!
//! Each hash is made from the previous one, so that any stored trace of a client leads to its name: the hash
//! that limits count it under ([`LimitKey`]), the hash that a contact stores of its signers ([`OriginHash`]),
//! and the name of a day.

use std::fmt;

use data_encoding::HEXLOWER_PERMISSIVE;

use super::client::LimitKey;
use super::contact::OriginHash;
use super::policy::CountedBy;
use super::secret::SecretKeys;
use super::time::{DAY_MS, Timestamp};

/// The name of a client: hides its identity, and is the same for one day (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudonym([u8; 4]);

impl Pseudonym {
    /// The name of a network on the day of `at`, by the network's hash (`Network::hashed`).
    pub fn new(keys: &SecretKeys, hash: [u8; 16], at: Timestamp) -> Self {
        Self::of_origin(keys, OriginHash::new(&keys.origin, &hash), at)
    }

    /// The name of a limiter's `key`; `None` unless that is a network's. A possible credential has none,
    /// because the log names networks.
    pub fn of_key(keys: &SecretKeys, key: LimitKey, at: Timestamp) -> Option<Self> {
        let is_network = key.policy()?.counted_by() == CountedBy::Network;
        is_network.then(|| Self::new(keys, *key.as_bytes(), at))
    }

    /// The name of a signer of contacts on the day of `at`.
    pub fn of_origin(keys: &SecretKeys, origin: OriginHash, at: Timestamp) -> Self {
        let day = at.as_ms() / DAY_MS;
        let origin = origin.in_front_of_proxy();
        let parts = [b"pseudonym", &day.to_be_bytes()[..], origin.as_bytes()];
        let [a, b, c, d, ..] = keys.limiter.hash16(&parts);
        Self([a, b, c, d])
    }

    /// Parses 8 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for Pseudonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::domain::credential::Fingerprint;
    use crate::domain::policy::PolicyName;
    use crate::domain::{Network, Secret, Subject};

    fn keys() -> SecretKeys {
        Secret::new([1; 32]).keys()
    }

    fn network(address: &str) -> Network {
        Network::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn a_pseudonym_tells_networks_apart_for_a_day() {
        let (keys, others) = (keys(), Secret::new([2; 32]).keys());
        let [morning, evening, tomorrow] = [0, 86_399_999, 86_400_000].map(Timestamp::from_ms);
        let name_of = |keys: &SecretKeys, address: &str, at| {
            Pseudonym::new(keys, network(address).hashed(&keys.limiter), at)
        };
        let name = |address: &str, at| name_of(&keys, address, at);
        let ours = name("192.0.2.1", morning);
        assert_eq!(Pseudonym::parse(&ours.to_string()), Some(ours));
        assert_eq!(name("192.0.2.1", evening), ours);
        assert_ne!(name("192.0.2.1", tomorrow), ours);
        assert_ne!(name("192.0.2.2", morning), ours);
        assert_ne!(name_of(&others, "192.0.2.1", morning), ours);
    }

    #[test]
    fn limits_that_count_networks_lead_to_the_same_name() {
        let (keys, now) = (keys(), Timestamp::from_ms(1_800_000_000_000));
        let (net, fingerprint) = (network("192.0.2.1"), Fingerprint::from_bytes([3; 32]));
        let ours = Pseudonym::new(&keys, net.hashed(&keys.limiter), now);
        for policy in PolicyName::ALL {
            let named = |subject| {
                let key = LimitKey::new(&keys.limiter, policy, subject);
                Pseudonym::of_key(&keys, key, now)
            };
            let is_of_networks = policy.counted_by() == CountedBy::Network;
            let of_network = named(Subject::Network(net.hashed(&keys.limiter)));
            assert_eq!(of_network, is_of_networks.then_some(ours), "{policy:?}");
            assert_ne!(named(Subject::Credential(&fingerprint)), Some(ours));
        }
    }
}
