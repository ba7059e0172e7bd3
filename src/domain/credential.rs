//! Free API keys: `lak_`, 30 random base62 characters, 6 check digits.
//!
//! The shape follows GitHub's token format: a prefix that secret scanners can find, underscores only, so that
//! a double click selects the whole key, and a checksum (CRC-32 of everything before it, in base62) that
//! catches a mistyped key without a look-up. 30 characters of 62 are 178 bits.
//!
//! The first 8 characters after `lak_` are the key's public id ([`KeyId`]): logs and lists show it. The
//! other 22 random characters, 130 bits, stay secret.

use std::fmt;

use super::macros::{bytes, hidden, names};
use super::text::Label;
use super::time::{DAY_MS, Timestamp};

const PREFIX: &str = "lak_";
const RANDOM_LEN: usize = 30;
const CHECK_LEN: usize = 6;
const KEY_LEN: usize = PREFIX.len() + RANDOM_LEN + CHECK_LEN;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An API key with valid form and check digits. It may be unknown, expired or revoked.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// How long a key is accepted.
    pub const LIFETIME_MS: u64 = 90 * DAY_MS;

    /// Creates a key from random bytes drawn with `fill`, which overwrites the whole buffer.
    ///
    /// Bytes past the largest multiple of 62 are dropped, so that every character is equally
    /// likely.
    pub fn mint(mut fill: impl FnMut(&mut [u8])) -> Self {
        let mut key = String::with_capacity(KEY_LEN);
        key.push_str(PREFIX);
        let mut bytes = [0; 2 * RANDOM_LEN];
        while key.len() < PREFIX.len() + RANDOM_LEN {
            fill(&mut bytes);
            let missing = PREFIX.len() + RANDOM_LEN - key.len();
            let characters = bytes.iter().filter_map(|&byte| unbiased(byte));
            key.extend(characters.take(missing));
        }
        let check = check_digits(&key);
        key.push_str(&check);
        Self(key)
    }

    /// Parses a key and verifies its check digits. `None` for anything that [`ApiKey::mint`] can't return:
    /// another prefix, length or alphabet, or wrong check digits.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(PREFIX)?;
        let is_base62 = body.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if text.len() != KEY_LEN || !is_base62 {
            return None;
        }
        let (checked, check) = text.split_at(KEY_LEN - CHECK_LEN);
        (check_digits(checked) == check).then(|| Self(text.to_owned()))
    }

    /// The key itself, for the response that issues it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The key's hash, which identifies it everywhere else.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }

    /// Its public id.
    pub fn id(&self) -> KeyId {
        let random = self.0.as_bytes().get(PREFIX.len()..);
        let id = random.and_then(<[u8]>::first_chunk);
        // Every key is longer.
        KeyId(*id.unwrap_or(&[b'0'; KeyId::LEN]))
    }
}

/// BLAKE3 of a whole key, or of an agent's client id. A plain fast hash is enough for 128 random bits or
/// more.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(text: &str) -> Self {
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }
}

bytes!(Fingerprint: 32);
hidden!(ApiKey, Fingerprint);

/// A key's public id: the 8 characters after `lak_`. It identifies the key to people and proves nothing. Two
/// keys share one as rarely as two random 47-bit numbers are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId([u8; KeyId::LEN]);

impl KeyId {
    const LEN: usize = 8;

    /// Parses an id of 8 letters and digits, with or without `lak_` before it. A whole key is none: whoever names a key
    /// by itself must know its secret part too.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        let id = <[u8; Self::LEN]>::try_from(text.as_bytes()).ok()?;
        let is_base62 = id.iter().all(u8::is_ascii_alphanumeric);
        is_base62.then_some(Self(id))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.0).unwrap_or_default())
    }
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Identifies the key.
    pub fingerprint: Fingerprint,
    /// Its public id.
    pub id: KeyId,
    /// The owner's name for it.
    pub label: Option<Label>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// From this instant on it is refused.
    pub expires_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl KeyRecord {
    /// State of the key at `now`. A revoked key stays revoked after it has expired.
    pub fn state(&self, now: Timestamp) -> KeyState {
        match self.revoked_at {
            Some(_) => KeyState::Revoked,
            None if now < self.expires_at => KeyState::Active,
            None => KeyState::Expired,
        }
    }
}

names! {
    /// State of an issued key.
    pub enum KeyState {
        /// Accepted.
        Active => "active",
        /// Refused: past its expiry, and not revoked.
        Expired => "expired",
        /// Refused: revoked.
        Revoked => "revoked",
    }
}

/// `byte` as a base62 character. `None` for the few values that would favour some characters.
fn unbiased(byte: u8) -> Option<char> {
    const FAIR: u8 = u8::MAX - u8::MAX % 62;
    if byte >= FAIR {
        return None;
    }
    BASE62.get(usize::from(byte % 62)).map(|&c| char::from(c))
}

/// CRC-32 of `text` in base62, most significant digit first, padded to six.
fn check_digits(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECK_LEN];
    for digit in digits.iter_mut().rev() {
        if let Some(&c) = usize::try_from(rest % 62).ok().and_then(|i| BASE62.get(i)) {
            *digit = c;
        }
        rest /= 62;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> ApiKey {
        let mut next = seed;
        ApiKey::mint(|bytes| {
            for byte in bytes {
                next = next.wrapping_mul(31).wrapping_add(17);
                *byte = next;
            }
        })
    }

    #[test]
    fn a_minted_key_has_the_published_shape_and_parses() {
        let key = key(1);
        assert_eq!(key.expose().len(), 40);
        assert!(key.expose().starts_with("lak_"));
        let mut digits = key.expose()[4..].bytes();
        assert!(digits.all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(ApiKey::parse(key.expose()), Some(key));
    }

    #[test]
    fn check_digits_are_the_crc_32_of_all_that_precedes() {
        // Computed with zlib: 3534206866 and 1336975621 in base62.
        for (character, digits) in [("0", "3rBAeY"), ("z", "1SToQv")] {
            let checked = format!("lak_{}", character.repeat(30));
            assert_eq!(check_digits(&checked), digits);
        }
    }

    #[test]
    fn every_single_changed_character_is_noticed() {
        let key = key(2);
        for position in 0..key.expose().len() {
            let mut bytes = key.expose().as_bytes().to_vec();
            bytes[position] = if bytes[position] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(ApiKey::parse(&changed), None, "{position}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let good = key(3).expose().to_owned();
        for bad in [
            String::new(),
            "lak_".to_owned(),
            good[1..].to_owned(),
            good[..39].to_owned(),
            format!("{good}0"),
            format!(" {good}"),
            good.replace("lak_", "lat_"),
            good.to_uppercase(),
            "é".repeat(20),
        ] {
            assert_eq!(ApiKey::parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn bytes_that_would_favour_some_characters_are_dropped() {
        assert_eq!(unbiased(247), Some('z'));
        assert_eq!(unbiased(248), None);
        assert_eq!(unbiased(255), None);
    }

    #[test]
    fn an_id_is_read_with_or_without_its_prefix_and_nothing_else_is() {
        let key = key(5);
        assert_eq!(key.id().to_string(), key.expose()[4..12]);
        for text in [&key.expose()[4..12], &key.expose()[..12]] {
            assert_eq!(KeyId::parse(text), Some(key.id()));
        }
        let key = key.expose();
        let short = ["", "lak_", "1234567", "123456789", "1234 678", "ééééé"];
        for bad in short.into_iter().chain([key, &key[..39]]) {
            assert_eq!(KeyId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        let key = key(4);
        assert_eq!(format!("{key:?}"), "ApiKey(..)");
        assert_eq!(format!("{:?}", key.fingerprint()), "Fingerprint(..)");
    }
}
