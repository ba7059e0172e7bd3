//! The filter `--signed-by`: contacts that a client signed up.

use std::net::IpAddr;

use crate::domain::{
    Contact, CountedBy, LimitKey, Network, OriginHash, PolicyName, Pseudonym, SecretKeys, Timestamp,
};

/// The client, by its address or hash, or by a daily pseudonym.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignerFilter {
    Client(OriginHash),
    /// The pseudonym of today, or of the day of a sign-up.
    Named(Pseudonym),
}

impl SignerFilter {
    /// Parses a name from the log, a hash from `limits show`, or an IP address.
    ///
    /// # Errors
    /// The accepted forms, in words.
    pub(super) fn parse(text: &str, keys: &SecretKeys) -> Result<Self, &'static str> {
        if let Ok(address) = text.parse::<IpAddr>() {
            let hash = Network::from(address).hashed(&keys.limiter);
            return Ok(Self::Client(OriginHash::new(&keys.origin, &hash)));
        }
        if let Some(key) = LimitKey::from_hex(text) {
            let counted_by = key.policy().map(PolicyName::counted_by);
            let is_client = matches!(counted_by, Some(CountedBy::Client | CountedBy::Network));
            let client = OriginHash::new(&keys.origin, key.as_bytes());
            return is_client.then_some(Self::Client(client)).ok_or(
                "must not be the hash of a policy that does not count clients: use one of ip, default or \
                 newsletter-ip",
            );
        }
        Pseudonym::parse(text).map(Self::Named).ok_or(
            "must be a client's name in the log or its hash in `limits show`, in 8 or 32 hexadecimal digits, or an \
             IP address",
        )
    }

    /// True if it is among the last clients that signed up `contact`.
    pub(super) fn has_signed(&self, contact: &Contact, keys: &SecretKeys, now: Timestamp) -> bool {
        let days = [now, contact.subscribed_at, contact.last_seen_at];
        let signers = contact.signers.iter();
        let mut hashes =
            signers.flat_map(|signer| [signer.network].into_iter().chain(signer.credential));
        hashes.any(|hash| match self {
            Self::Client(client) => hash.in_front_of_proxy() == *client,
            Self::Named(name) => days
                .map(|at| Pseudonym::of_origin(keys, hash, at))
                .contains(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DAY_MS, EmailAddress, Fingerprint, Origin, Secret, Signers, Subject};

    fn keys() -> SecretKeys {
        Secret::new([1; 32]).keys()
    }

    fn origin_of(keys: &SecretKeys, network: Network) -> OriginHash {
        OriginHash::new(&keys.origin, &network.hashed(&keys.limiter))
    }

    fn network(address: &str) -> Network {
        Network::from(address.parse::<IpAddr>().unwrap())
    }

    fn day(day: u64) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000 + day * DAY_MS)
    }

    /// A contact that these clients signed up, first on day 1.
    fn contact(signers: impl IntoIterator<Item = Origin>, last_seen_at: Timestamp) -> Contact {
        let email = EmailAddress::parse("ada@example.com").unwrap();
        let imported = Contact::imported(email, day(1), None, None);
        Contact {
            signers: Signers::from_iter(signers),
            last_seen_at,
            ..imported
        }
    }

    #[test]
    fn a_signer_is_found_by_each_of_its_names() {
        let keys = keys();
        let ours = origin_of(&keys, network("192.0.2.1"));
        let fingerprint = Fingerprint::from_bytes([3; 32]);
        let credential = Subject::Credential(&fingerprint);
        let of_credential = OriginHash::new(&keys.origin, &credential.hashed(&keys.limiter));
        let key = |policy, subject| LimitKey::new(&keys.limiter, policy, subject).to_hex();
        let name = |address: &str, at| {
            Pseudonym::new(&keys, network(address).hashed(&keys.limiter), at).to_string()
        };
        let subject = |network: Network| Subject::Network(network.hashed(&keys.limiter));
        let by_network = subject(network("192.0.2.1"));
        for (text, is_found) in [
            ("192.0.2.1".to_owned(), true),
            ("::ffff:192.0.2.1".to_owned(), true),
            ("192.0.2.2".to_owned(), false),
            (key(PolicyName::Ip, by_network), true),
            (
                key(PolicyName::NewsletterIp, by_network).to_uppercase(),
                true,
            ),
            (key(PolicyName::Default, credential), true),
            (key(PolicyName::Ip, subject(Network::Unknown)), false),
            // Of today, of the first sign-up and of the last one.
            (name("192.0.2.1", day(9)), true),
            (name("192.0.2.1", day(1)).to_uppercase(), true),
            (name("192.0.2.1", day(3)), true),
            (name("192.0.2.1", day(2)), false),
            (name("192.0.2.2", day(9)), false),
        ] {
            for network in [ours, ours.behind_proxy()] {
                let sought = SignerFilter::parse(&text, &keys).unwrap();
                let has_signed = |network, credential| {
                    let contact = contact(
                        [Origin {
                            network,
                            credential,
                        }],
                        day(3),
                    );
                    sought.has_signed(&contact, &keys, day(9))
                };
                assert_eq!(has_signed(network, Some(of_credential)), is_found, "{text}");
                let stranger = origin_of(&keys, self::network("192.0.2.3"));
                assert!(!has_signed(stranger, None), "{text}");
            }
        }
        let sought = SignerFilter::parse("192.0.2.1", &keys).unwrap();
        assert!(!sought.has_signed(&contact([], day(1)), &keys, day(1)));
    }

    #[test]
    fn anything_else_is_refused_with_the_accepted_forms() {
        let keys = keys();
        let net = Subject::Network(network("192.0.2.1").hashed(&keys.limiter));
        let check = |text: &str, part: &str| {
            let error = SignerFilter::parse(text, &keys).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        for text in ["", "somebody", "9c1f02a", "9c1f02ab00", &"ff".repeat(16)] {
            check(text, "in 8 or 32 hexadecimal digits");
        }
        check("192.0.2.0/24", "or an IP address");
        use PolicyName::{Assistant, KeysAll, KeysPrefix, Newsletter};
        for policy in [Newsletter, KeysPrefix, Assistant, KeysAll] {
            let key = LimitKey::new(&keys.limiter, policy, net).to_hex();
            check(&key, "use one of ip");
        }
    }
}
