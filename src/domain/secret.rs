//! The service's secret and the keys derived from it: one for each purpose, so that a value made for one
//! purpose is invalid for every other.

use data_encoding::HEXLOWER_PERMISSIVE;

use super::macros::hidden;

/// 32 random bytes: created with a data directory, or the same on all nodes of a service.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A secret of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the secret's file.
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
        self.keys_beside(None)
    }

    fn keys_beside(&self, other: Option<&Self>) -> SecretKeys {
        let derive_token = |context| TokenKey {
            current: self.derive(context),
            other: other.map(|other| other.derive(context)),
        };
        SecretKeys {
            limiter: self.derive("landing-api 2026-11 limiter key"),
            quota_token: derive_token("landing-api 2026-11 quota cookie"),
            access_token: derive_token("landing-api 2026-11 access token"),
            client_secret: derive_token("landing-api 2026-11 client secret"),
            origin: self.derive("landing-api 2026-11 sign-up origin"),
            tombstone: self.derive("landing-api 2026-11 forgotten address"),
        }
    }

    fn derive(&self, context: &str) -> MacKey {
        MacKey(blake3::derive_key(context, &self.0))
    }
}

/// The secret of several nodes, and a second one whose tokens are accepted as well: the previous one, or the
/// next while some nodes don't have it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSecret {
    current: Secret,
    other: Option<Secret>,
}

/// The fault of a secret's file.
const NO_SECRET: &str = "holds no secret: it must have a line of 64 hexadecimal digits, as \
     `openssl rand -hex 32` makes them, and may have a second one, or be a copy of a data directory's file \
     `secret`";

impl SharedSecret {
    /// Parses a secret's file: one or two lines of 64 hexadecimal digits, the current secret first; or the 32
    /// bytes of a data directory's secret.
    ///
    /// # Errors
    /// Says that it is neither.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        // 32 random bytes are never all printable, so 32 letters are no secret.
        let is_typed = bytes.iter().all(u8::is_ascii_graphic);
        if let (false, Ok(bytes)) = (is_typed, bytes.try_into()) {
            let (current, other) = (Secret::new(bytes), None);
            return Ok(Self { current, other });
        }
        let text = str::from_utf8(bytes).map_err(|_binary| NO_SECRET)?;
        let mut lines = text.split_ascii_whitespace().map(|line| {
            let bytes = HEXLOWER_PERMISSIVE.decode(line.as_bytes());
            let bytes = bytes.ok().and_then(|bytes| bytes.try_into().ok());
            bytes.map(Secret::new).ok_or(NO_SECRET)
        });
        let current = lines.next().ok_or(NO_SECRET)??;
        let other = lines.next().transpose()?;
        match lines.next() {
            None => Ok(Self { current, other }),
            Some(_) => Err(NO_SECRET),
        }
    }

    /// The keys, which accept values made with either secret.
    pub fn keys(&self) -> SecretKeys {
        self.current.keys_beside(self.other.as_ref())
    }

    /// The keys that hash erased addresses, the current first.
    pub fn tombstone_keys(&self) -> Vec<MacKey> {
        self.all().map(|secret| secret.keys().tombstone).collect()
    }

    /// The ids of the secrets, the current first.
    pub fn ids(&self) -> Vec<String> {
        self.all().map(Secret::id).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Secret> {
        std::iter::once(&self.current).chain(&self.other)
    }
}

hidden!(Secret);

/// The derived keys.
#[derive(Clone, Debug)]
pub struct SecretKeys {
    /// Pseudonymises clients in the limiter's keys.
    pub limiter: MacKey,
    /// Authenticates quota tokens.
    pub quota_token: TokenKey,
    /// Authenticates agents' access tokens.
    pub access_token: TokenKey,
    /// Derives the client secret of a client id.
    pub client_secret: TokenKey,
    /// Pseudonymises the clients that signed up a contact.
    pub origin: MacKey,
    /// Hashes erased addresses, so that an import doesn't bring them back.
    pub tombstone: MacKey,
}

/// A key for tokens given to clients, and a second one whose tokens are accepted as well.
#[derive(Clone, Debug)]
pub struct TokenKey {
    /// The key for new tokens.
    pub(super) current: MacKey,
    other: Option<MacKey>,
}

impl TokenKey {
    /// True if `fits` accepts one of the keys.
    pub fn any(&self, fits: impl FnMut(&MacKey) -> bool) -> bool {
        std::iter::once(&self.current).chain(&self.other).any(fits)
    }
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
        let hash = self.hash(parts);
        *hash.as_bytes().first_chunk().unwrap_or(&[0; 16])
    }
}

hidden!(MacKey);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::domain::QuotaToken;

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
        let rotated = [keys.quota_token, keys.access_token, keys.client_secret];
        let [quota_token, access_token, client_secret] = rotated.map(|keys| keys.current);
        let others = [keys.limiter, keys.origin, keys.tombstone];
        let keys = [&[quota_token, access_token, client_secret][..], &others].concat();
        let distinct: HashSet<_> = keys.iter().map(|key| key.0).collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn a_shared_secret_is_one_or_two_lines_or_32_bytes() {
        let hex = |byte: u8| format!("{byte:02x}").repeat(32);
        let parse = |text: &str| SharedSecret::parse(text.as_bytes());
        let [one, two] = [1, 2].map(|byte| Secret::new([byte; 32]));
        let both = parse(&format!("{}\n{}\n", hex(1), hex(2))).unwrap();
        assert_eq!(both.ids(), [one.id(), two.id()]);
        for alone in [
            parse(&hex(1)),
            parse(&format!(" {}\r\n", hex(1))),
            SharedSecret::parse(&[1; 32]),
        ] {
            assert_eq!(alone.unwrap().ids(), [one.id()]);
        }
        for bad in [
            String::new(),
            "a".repeat(32),
            hex(1)[1..].to_owned(),
            format!("{}0", hex(1)),
            hex(1).replace('1', "g"),
            format!("{}\n{}\n{}", hex(1), hex(2), hex(3)),
            format!("{}\nprevious", hex(1)),
        ] {
            assert_eq!(parse(&bad), Err(NO_SECRET), "{bad}");
        }
        assert_eq!(SharedSecret::parse(&[0xff; 33]), Err(NO_SECRET));
    }

    #[test]
    fn what_either_secret_marked_is_believed_and_the_first_marks() {
        let lines = |bytes: [u8; 2]| {
            let [first, second] = bytes.map(|byte| format!("{byte:02x}").repeat(32));
            let text = format!("{first}\n{second}");
            SharedSecret::parse(text.as_bytes()).unwrap().keys()
        };
        let visitor = QuotaToken::from_bytes([7; 16]);
        let old = Secret::new([1; 32]).keys();
        let new = Secret::new([2; 32]).keys();
        let rotated = lines([2, 1]);
        let given = visitor.encode(&old.quota_token);
        let found = |keys: &SecretKeys| QuotaToken::decode(&given, &keys.quota_token);
        assert_eq!(found(&rotated), Some(visitor));
        assert_eq!(found(&new), None);
        let given = visitor.encode(&rotated.quota_token);
        let found = |keys: &SecretKeys| QuotaToken::decode(&given, &keys.quota_token);
        assert_eq!(found(&new), Some(visitor));
        assert_eq!(found(&lines([1, 3])), None);
    }

    #[test]
    fn debug_output_tells_nothing() {
        let secret = Secret::new([7; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(!format!("{:?}", secret.keys()).contains('7'));
    }
}
