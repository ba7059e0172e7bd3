//! The token that a visitor's chat turns are counted under: `v1.ID.TAG`, both parts in unpadded
//! URL-safe base64.
//!
//! The id is 128 random bits; the count stays on the server. The tag is 128 bits of keyed BLAKE3, so
//! that nobody can forge a token, and issuing one stores nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use constant_time_eq::constant_time_eq_16;

use super::secret::{MacKey, TokenKey};

const VERSION: &str = "v1";
const ID_LEN: usize = 16;
/// `v1`, two dots, and twice 22 characters for 16 bytes.
const ENCODED_LEN: usize = VERSION.len() + 2 + 2 * 22;

/// A visitor of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaToken {
    id: [u8; ID_LEN],
}

impl QuotaToken {
    /// A new visitor with this random id.
    pub const fn new(id: [u8; ID_LEN]) -> Self {
        Self { id }
    }

    /// The id, for the limiter key.
    pub const fn id(&self) -> &[u8; ID_LEN] {
        &self.id
    }

    /// The text given to the visitor.
    pub fn encode(&self, key: &TokenKey) -> String {
        let id = URL_SAFE_NO_PAD.encode(self.id);
        let tag = URL_SAFE_NO_PAD.encode(self.tag(&key.current));
        format!("{VERSION}.{id}.{tag}")
    }

    /// Parses a visitor's token; `None` unless [`QuotaToken::encode`] made it with this key.
    pub fn decode(value: &str, key: &TokenKey) -> Option<Self> {
        if value.len() != ENCODED_LEN {
            return None;
        }
        let (id, tag) = value
            .strip_prefix(VERSION)?
            .strip_prefix('.')?
            .split_once('.')?;
        let token = Self {
            id: URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?,
        };
        let tag: [u8; 16] = URL_SAFE_NO_PAD.decode(tag).ok()?.try_into().ok()?;
        key.any(|key| constant_time_eq_16(&token.tag(key), &tag))
            .then_some(token)
    }

    fn tag(&self, key: &MacKey) -> [u8; 16] {
        key.hash16(&[VERSION.as_bytes(), &self.id])
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
        assert_eq!(value.len(), ENCODED_LEN);
        assert_eq!(QuotaToken::decode(&value, &key), Some(token));
    }

    #[test]
    fn a_value_we_did_not_make_names_nobody() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let good = QuotaToken::new([9; 16]).encode(&key);
        let foreign = QuotaToken::new([9; 16]).encode(&Secret::new([2; 32]).keys().quota_token);
        let other = QuotaToken::new([8; 16]).encode(&key);
        let swapped = format!("{}{}", &good[..26], &other[26..]);
        for bad in [
            foreign,
            swapped,
            String::new(),
            "v1..".to_owned(),
            good[..good.len() - 1].to_owned(),
            format!("{good}A"),
            good.replacen("v1", "v2", 1),
            good.replace('.', "-"),
            "\u{e9}".repeat(24),
            "v1.".repeat(10_000),
        ] {
            assert_eq!(QuotaToken::decode(&bad, &key), None, "{bad:.60}");
        }
    }
}
