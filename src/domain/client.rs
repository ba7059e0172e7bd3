//! Clients, and the keys they are counted under.

use std::net::{IpAddr, Ipv4Addr};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

use super::credential::Fingerprint;
use super::email::EmailAddress;
use super::macros::{bytes, hidden};
use super::policy::PolicyName;
use super::secret::MacKey;
use super::tokens::QuotaToken;

/// The counted part of an IP address: a whole IPv4 address, or the /56 of an IPv6 address, which is what many
/// providers assign to a home (RFC 6177).
///
/// IPv4 addresses in an IPv6 form (mapped, RFC 4291; NAT64's `64:ff9b::/96`, RFC 6052) count as the IPv4
/// address they embed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// One IPv4 address.
    V4([u8; 4]),
    /// An IPv6 /56.
    V6([u8; 7]),
    /// Requests that a proxy forwards without a usable client address.
    Unknown,
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match canonical(address) {
            IpAddr::V4(v4) => Self::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, g, ..] = v6.octets();
                Self::V6([a, b, c, d, e, f, g])
            }
        }
    }
}

impl Network {
    /// A keyed BLAKE3 hash. Equal networks have equal hashes, and it reveals nothing else.
    pub fn hashed(&self, key: &MacKey) -> [u8; 16] {
        key.hash16(&[b"network", self.as_bytes()])
    }

    /// Its group: the IPv4 /24 or IPv6 /48.
    const fn group(self) -> Self {
        match self {
            Self::V4([a, b, c, _]) => Self::V4([a, b, c, 0]),
            Self::V6([a, b, c, d, e, f, _]) => Self::V6([a, b, c, d, e, f, 0]),
            Self::Unknown => Self::Unknown,
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::V4(bytes) => bytes,
            Self::V6(bytes) => bytes,
            Self::Unknown => &[],
        }
    }
}

/// The IPv4 address embedded in an IPv6 form, any other unchanged.
pub(super) fn canonical(address: IpAddr) -> IpAddr {
    if let IpAddr::V6(v6) = address
        && let [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] = v6.octets()
    {
        return Ipv4Addr::new(a, b, c, d).into();
    }
    address.to_canonical()
}

/// The sender of a request, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Network of the request.
    pub network: Network,
    /// Hash of the network; several policies count by it.
    pub network_hash: [u8; 16],
    /// The valid credential presented with it, if any.
    pub credential: Option<Fingerprint>,
    /// The network may belong to a proxy, and so be shared by clients who must not learn of each other.
    pub may_be_shared: bool,
}

impl Client {
    /// A client in `network` that has presented no credential.
    pub fn new(network: Network, may_be_shared: bool, key: &MacKey) -> Self {
        Self {
            network,
            network_hash: network.hashed(key),
            credential: None,
            may_be_shared,
        }
    }

    /// The client's identity: its credential, or its network if it presents none.
    pub fn subject(&self) -> Subject<'_> {
        match &self.credential {
            Some(fingerprint) => Subject::Credential(fingerprint),
            None => self.network_subject(),
        }
    }

    /// Its network.
    pub const fn network_subject(&self) -> Subject<'static> {
        Subject::Network(self.network_hash)
    }
}

/// The unit that a policy counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject<'a> {
    /// A network, by its hash ([`Network::hashed`]).
    Network([u8; 16]),
    /// A visitor without a cookie, by bytes of the request's id.
    NewVisitor([u8; 16]),
    /// A credential.
    Credential(&'a Fingerprint),
    /// A network together with an address signed up from it.
    SignUp(Network, &'a EmailAddress),
    /// The mailbox of an address ([`EmailAddress::mailbox`]).
    Mailbox(&'a EmailAddress),
    /// A visitor of the assistant.
    Visitor(QuotaToken),
    /// A network's group: its IPv4 /24 or IPv6 /48.
    Prefix(Network),
    /// All requests together.
    Everyone,
}

impl Subject<'_> {
    /// A keyed BLAKE3 hash. Equal subjects have equal hashes, and it reveals nothing else.
    pub fn hashed(&self, key: &MacKey) -> [u8; 16] {
        match self {
            Self::Network(hash) | Self::NewVisitor(hash) => *hash,
            Self::Credential(fingerprint) => key.hash16(&[b"credential", fingerprint.as_bytes()]),
            Self::SignUp(network, email) => {
                key.hash16(&[b"sign-up", network.as_bytes(), email.as_str().as_bytes()])
            }
            Self::Mailbox(email) => key.hash16(&[b"mailbox", email.mailbox().as_bytes()]),
            Self::Visitor(token) => key.hash16(&[b"visitor", token.as_bytes()]),
            Self::Prefix(network) => key.hash16(&[b"group", network.group().as_bytes()]),
            Self::Everyone => key.hash16(&[b"everyone"]),
        }
    }
}

/// Key of a window: the policy's tag and 120 bits of keyed BLAKE3, so that neither memory nor the store
/// reveals the client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitKey([u8; 16]);

impl LimitKey {
    /// The key of `subject` under `policy`.
    pub fn new(key: &MacKey, policy: PolicyName, subject: Subject<'_>) -> Self {
        Self::tagged(policy, subject.hashed(key))
    }

    /// Its policy; `None` if no policy has its tag.
    pub fn policy(&self) -> Option<PolicyName> {
        let [tag, ..] = self.0;
        PolicyName::ALL.get(usize::from(tag)).copied()
    }

    /// Parses 32 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?)).filter(|key| key.policy().is_some())
    }

    /// The key in hexadecimal digits.
    pub fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// The key under `policy` of a hash such as [`Subject::hashed`].
    pub const fn tagged(policy: PolicyName, mut hash: [u8; 16]) -> Self {
        let [first, ..] = &mut hash;
        *first = policy as u8;
        Self(hash)
    }
}

bytes!(LimitKey: 16);
hidden!(Network, LimitKey);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    fn network(address: &str) -> Network {
        Network::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn an_address_is_counted_by_its_bits_not_its_notation() {
        for (left, right, same) in [
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::ffff:c000:201", true),
            ("192.0.2.1", "0:0:0:0:0:ffff:c000:0201", true),
            ("192.0.2.1", "64:ff9b::192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
            // Ends in a dotted quad, but is an IPv6 address.
            ("2001:db8::192.0.2.1", "192.0.2.1", false),
            ("2001:db8::192.0.2.1", "2001:db8::192.0.2.2", true),
            // Not NAT64's prefix.
            ("64:ff9b:1::192.0.2.1", "192.0.2.1", false),
            ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:ff00::1", "2001:db8:1:ffff:2::", true),
            ("2001:db8:1:ff00::1", "2001:db8:1:fe00::1", false),
            ("2001:db8:1:ff00::1", "2001:db8:1::1", false),
            ("::1", "127.0.0.1", false),
        ] {
            assert_eq!(network(left) == network(right), same, "{left} {right}");
        }
    }

    #[test]
    fn a_group_is_a_24_or_a_48() {
        let key = Secret::new([1; 32]).keys().limiter;
        let group = |address: &str| Subject::Prefix(network(address)).hashed(&key);
        assert_eq!(group("192.0.2.1"), group("192.0.2.255"));
        assert_ne!(group("192.0.2.1"), group("192.0.3.1"));
        assert_eq!(group("2001:db8:1:2::1"), group("2001:db8:1:ffff::1"));
        assert_ne!(group("2001:db8:1::1"), group("2001:db8:2::1"));
    }

    #[test]
    fn a_key_is_read_as_it_is_shown() {
        let key = LimitKey::tagged(PolicyName::KeysAll, [0xab; 16]);
        let shown = format!("0a{}", "ab".repeat(15));
        assert_eq!(key.to_hex(), shown);
        assert_eq!(LimitKey::from_hex(&shown), Some(key));
        assert_eq!(LimitKey::from_hex(&shown.to_uppercase()), Some(key));
        let no_policy = format!("{:02x}{}", PolicyName::ALL.len(), "ab".repeat(15));
        for text in [
            "",
            "0a",
            &shown[1..],
            &format!("{shown}00"),
            &no_policy,
            &"g".repeat(32),
        ] {
            assert_eq!(LimitKey::from_hex(text), None, "{text}");
        }
    }

    #[test]
    fn every_subject_has_a_key_of_its_own_under_every_policy() {
        let secret = Secret::new([1; 32]).keys().limiter;
        let net = network("192.0.2.1");
        let email = EmailAddress::parse("a@example.com").unwrap();
        let other = EmailAddress::parse("b@example.com").unwrap();
        let fingerprint = Fingerprint::from_bytes([3; 32]);
        let token = QuotaToken::from_bytes([4; 16]);
        let subjects = [
            Subject::Network(net.hashed(&secret)),
            Subject::Network(network("192.0.2.2").hashed(&secret)),
            Subject::Network(Network::Unknown.hashed(&secret)),
            Subject::Prefix(net),
            Subject::Credential(&fingerprint),
            Subject::SignUp(net, &email),
            Subject::SignUp(net, &other),
            Subject::SignUp(Network::Unknown, &email),
            Subject::Visitor(token),
            Subject::Everyone,
        ];
        let mut seen = std::collections::HashSet::new();
        for policy in PolicyName::ALL {
            for subject in subjects {
                let key = LimitKey::new(&secret, policy, subject);
                assert!(seen.insert(key), "{policy:?} {subject:?}");
                assert_eq!(key.as_bytes()[0], policy as u8);
            }
        }
    }
}
