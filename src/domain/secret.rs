//! The data directory's secret and the keys derived from it: one for each purpose, so that a value
//! made for one purpose is invalid for every other.

use std::fmt;

/// 32 random bytes, created with the data directory.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A secret of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the file that holds them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Identifies the secret without revealing it: 16 hexadecimal digits.
    pub fn id(&self) -> String {
        let id = blake3::derive_key("landing-api 2026-11 secret id", &self.0);
        blake3::Hash::from_bytes(id).to_hex().as_str()[..16].to_owned()
    }

    /// Derives the keys.
    pub fn keys(&self) -> SecretKeys {
        let derive = |context| MacKey(blake3::derive_key(context, &self.0));
        SecretKeys {
            limiter: derive("landing-api 2026-11 limiter key"),
            quota_token: derive("landing-api 2026-11 quota cookie"),
            access_token: derive("landing-api 2026-11 access token"),
            client_secret: derive("landing-api 2026-11 client secret"),
            origin: derive("landing-api 2026-11 sign-up origin"),
            index: derive("landing-api 2026-11 store index"),
            tombstone: derive("landing-api 2026-11 forgotten address"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The derived keys.
#[derive(Clone, Debug)]
pub struct SecretKeys {
    /// Pseudonymises clients in the limiter's keys.
    pub limiter: MacKey,
    /// Authenticates quota tokens.
    pub quota_token: MacKey,
    /// Authenticates agents' access tokens.
    pub access_token: MacKey,
    /// Derives the client secret of a client id.
    pub client_secret: MacKey,
    /// Pseudonymises the clients that signed a contact up.
    pub origin: MacKey,
    /// Spreads entries over the buckets of the index, unpredictably for clients.
    pub index: MacKey,
    /// Hashes addresses that were erased, so that an import does not bring them back.
    pub tombstone: MacKey,
}

/// A key for keyed BLAKE3.
#[derive(Clone)]
pub struct MacKey([u8; 32]);

impl MacKey {
    /// Keyed BLAKE3 of `parts`, each preceded by its length, so that different lists of parts are
    /// different inputs.
    pub fn hash(&self, parts: &[&[u8]]) -> blake3::Hash {
        let mut input = Vec::with_capacity(128);
        for part in parts {
            input.extend_from_slice(&(part.len() as u64).to_be_bytes());
            input.extend_from_slice(part);
        }
        blake3::keyed_hash(&self.0, &input)
    }

    /// The first 16 bytes of [`MacKey::hash`].
    pub fn hash16(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut short = [0; 16];
        let hash = self.hash(parts);
        short.copy_from_slice(hash.as_bytes().split_at(16).0);
        short
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        let key = Secret::new([7; 32]).keys().limiter;
        let lists: [&[&[u8]]; 6] = [
            &[b"ab", b"c"],
            &[b"a", b"bc"],
            &[b"abc"],
            &[b"abc", b""],
            &[b"", b"abc"],
            &[],
        ];
        for (i, left) in lists.iter().enumerate() {
            for (j, right) in lists.iter().enumerate() {
                assert_eq!(key.hash(left) == key.hash(right), i == j, "{i} {j}");
            }
        }
    }

    #[test]
    fn each_purpose_has_a_key_of_its_own() {
        let keys = Secret::new([7; 32]).keys();
        let SecretKeys {
            limiter,
            quota_token,
            access_token,
            client_secret,
            origin,
            index,
            tombstone,
        } = keys;
        let keys = [
            limiter,
            quota_token,
            access_token,
            client_secret,
            origin,
            index,
            tombstone,
        ];
        let distinct: HashSet<_> = keys.iter().map(|key| key.0).collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn debug_output_tells_nothing() {
        let secret = Secret::new([7; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(!format!("{:?}", secret.keys()).contains('7'));
    }
}
