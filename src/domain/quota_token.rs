//! The token that a visitor's chat turns are counted under: `v1.`, then the visitor's id and its MAC in base32.
//!
//! The id is 128 random bits; the count stays on the server. Nobody can forge a token, and issuing one stores nothing.

use super::agent::{decode, encode};
use super::secret::{MacKey, TokenKey};

const PREFIX: &str = "v1.";
const ID_LEN: usize = 16;
const TOKEN_LEN: usize = ID_LEN + blake3::OUT_LEN;

/// A visitor of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaToken {
    pub(super) id: [u8; ID_LEN],
}

impl QuotaToken {
    /// A new visitor with this random id.
    pub const fn new(id: [u8; ID_LEN]) -> Self {
        Self { id }
    }

    /// The text given to the visitor.
    pub fn encode(&self, key: &TokenKey) -> String {
        let tag = self.tag(&key.current);
        encode(PREFIX, &[&self.id[..], tag.as_bytes()].concat())
    }

    /// Parses a visitor's token; `None` unless [`QuotaToken::encode`] made it with this key.
    pub fn decode(text: &str, key: &TokenKey) -> Option<Self> {
        let bytes: [u8; TOKEN_LEN] = decode(PREFIX, text)?;
        let (id, tag) = bytes.split_first_chunk()?;
        let token = Self { id: *id };
        let tag = blake3::Hash::from_bytes(tag.try_into().ok()?);
        // BLAKE3's hashes compare in constant time.
        key.any(|key| token.tag(key) == tag).then_some(token)
    }

    fn tag(&self, key: &MacKey) -> blake3::Hash {
        key.hash(&[b"v1", &self.id])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    #[test]
    fn a_value_comes_back_as_the_visitor_it_was_made_for() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let token = QuotaToken::new([9; 16]);
        let value = token.encode(&key);
        assert_eq!(value.len(), 80);
        assert_eq!(QuotaToken::decode(&value, &key), Some(token));
    }

    #[test]
    fn a_value_we_did_not_make_names_nobody() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let good = QuotaToken::new([9; 16]).encode(&key);
        let foreign = QuotaToken::new([9; 16]).encode(&Secret::new([2; 32]).keys().quota_token);
        let other = QuotaToken::new([8; 16]).encode(&key);
        let swapped = format!("{}{}", &good[..29], &other[29..]);
        for bad in [
            foreign,
            swapped,
            String::new(),
            "v1.".to_owned(),
            good[..good.len() - 1].to_owned(),
            format!("{good}A"),
            good.replacen("v1", "v2", 1),
            good.replace('.', "-"),
            "\u{e9}".repeat(40),
            good.to_lowercase(),
            "v1.".repeat(10_000),
        ] {
            assert_eq!(QuotaToken::decode(&bad, &key), None, "{bad:.60}");
        }
    }
}
