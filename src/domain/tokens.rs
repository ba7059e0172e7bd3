//! Tokens that are not stored, because they carry their own data and a MAC of it: the credentials an agent gets when it
//! registers (a client id, a client secret and access tokens), and the token that a visitor's chat turns are counted under.
//! ```text
//! registration  = expires (6 bytes), random (16 bytes)
//! client id     = reg_ registration
//! client secret = las_ MAC(client secret key, registration)
//! access token  = lat_ registration, expires (6 bytes), MAC(access token key, all of these)
//! quota token   = v1. random (16 bytes), MAC(quota token key, all of these)
//! ```
//!
//! `MAC` is keyed BLAKE3, 32 bytes, under keys derived from the data directory's secret, so
//! that none is accepted as another. Instants are milliseconds since the Unix epoch,
//! big-endian. A client id alone proves nothing: it is accepted only together with its secret.
//!
//! The bytes are written in base32 (RFC 4648, capitals, no padding) after a prefix that secret
//! scanners can find. A double click selects the whole text, which is a `b64token` (RFC 6750). Each
//! value has exactly one encoding.

use data_encoding::BASE32_NOPAD;

use super::credential::Fingerprint;
use super::macros::{bytes, hidden};
use super::secret::{MacKey, TokenKey};
use super::time::{DAY_MS, Timestamp};

const CLIENT_ID: &str = "reg_";
const CLIENT_SECRET: &str = "las_";
const ACCESS_TOKEN: &str = "lat_";
const QUOTA_TOKEN: &str = "v1.";

const INSTANT_LEN: usize = 6;
const RANDOM_LEN: usize = 16;
const REGISTRATION_LEN: usize = INSTANT_LEN + RANDOM_LEN;
const TAG_LEN: usize = blake3::OUT_LEN;
const TOKEN_LEN: usize = REGISTRATION_LEN + INSTANT_LEN;

/// The last instant that six bytes can hold, in the year 10889.
const INSTANT_MS_MAX: u64 = (1 << (8 * INSTANT_LEN)) - 1;

/// One registration of an agent. All its tokens count as one client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Registration([u8; REGISTRATION_LEN]);

impl Registration {
    /// Lifetime of a client id and its secret, in milliseconds: 30 days.
    pub const LIFETIME_MS: u64 = 30 * DAY_MS;

    /// A registration made at `now` with these random bytes.
    pub fn new(random: [u8; RANDOM_LEN], now: Timestamp) -> Self {
        let expires_at_ms = now.plus_ms(Self::LIFETIME_MS).as_ms().min(INSTANT_MS_MAX);
        let mut bytes = [0; REGISTRATION_LEN];
        let (of_instant, of_random) = bytes.split_at_mut(INSTANT_LEN);
        of_instant.copy_from_slice(&instant_bytes(Timestamp::from_ms(expires_at_ms)));
        of_random.copy_from_slice(&random);
        Self(bytes)
    }

    /// Parses a client id; `None` if [`Registration::client_id`] cannot have made it. Anybody can
    /// construct one: accept it only together with its secret.
    pub fn from_client_id(text: &str) -> Option<Self> {
        let bytes = decode(CLIENT_ID, text, REGISTRATION_LEN)?;
        bytes.try_into().ok().map(Self)
    }

    /// The public name of the registration.
    pub fn client_id(&self) -> String {
        encode(CLIENT_ID, &self.0)
    }

    /// The secret which, together with the client id, proves that the registration was made here.
    pub fn client_secret(&self, key: &TokenKey) -> String {
        encode(CLIENT_SECRET, self.secret(&key.current).as_bytes())
    }

    /// True if `text` is the client secret. Compares in constant time, as BLAKE3's hashes do.
    pub fn has_secret(&self, text: &str, key: &TokenKey) -> bool {
        let presented = decode(CLIENT_SECRET, text, TAG_LEN);
        presented.is_some_and(|presented| key.any(|key| self.secret(key) == *presented))
    }

    /// From this instant on the client secret and all tokens are invalid.
    pub const fn expires_at(&self) -> Timestamp {
        let [a, b, c, d, e, f, ..] = self.0;
        instant([a, b, c, d, e, f])
    }

    /// True if the client secret is unexpired at `now`. It may have been revoked.
    pub fn is_active(&self, now: Timestamp) -> bool {
        now < self.expires_at()
    }

    /// Identifies the registration in the limiter and in the revocation list.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.client_id())
    }

    fn secret(&self, key: &MacKey) -> blake3::Hash {
        key.hash(&[&self.0])
    }
}

hidden!(Registration);

/// A stored revocation of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedRegistration {
    /// Once it has expired, the revocation no longer matters.
    pub registration: Registration,
    pub revoked_at: Timestamp,
}

/// The token an agent presents with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// The registration it was issued to.
    pub registration: Registration,
    /// From this instant on it is invalid.
    pub expires_at: Timestamp,
}

impl AccessToken {
    /// Lifetime of a token, in milliseconds: 24 hours.
    pub const LIFETIME_MS: u64 = DAY_MS;

    /// A token of `registration`, issued at `now`. It expires no later than its registration, so a revocation
    /// has to be stored only until then.
    pub fn new(registration: Registration, now: Timestamp) -> Self {
        Self {
            registration,
            expires_at: now
                .plus_ms(Self::LIFETIME_MS)
                .min(registration.expires_at()),
        }
    }

    /// The token's text.
    pub fn encode(&self, key: &TokenKey) -> String {
        let expires_at = instant_bytes(self.expires_at);
        seal(
            ACCESS_TOKEN,
            &[&self.registration.0[..], &expires_at].concat(),
            key,
        )
    }

    /// Parses a token's text; `None` unless [`AccessToken::encode`] made it with this key. It may
    /// have expired, or its registration may be revoked.
    pub fn decode(text: &str, key: &TokenKey) -> Option<Self> {
        let bytes: [u8; TOKEN_LEN] = open(ACCESS_TOKEN, text, key)?;
        let (registration, expires_at) = bytes.split_first_chunk()?;
        Some(Self {
            registration: Registration(*registration),
            expires_at: instant(expires_at.try_into().ok()?),
        })
    }

    /// True if the token is unexpired at `now`. Its registration may have been revoked.
    pub fn is_active(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// A visitor of the assistant, by 128 random bits. The count stays on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaToken([u8; RANDOM_LEN]);

bytes!(QuotaToken: 16);

impl QuotaToken {
    /// The text given to the visitor.
    pub fn encode(&self, key: &TokenKey) -> String {
        seal(QUOTA_TOKEN, &self.0, key)
    }

    /// Parses a visitor's token; `None` unless [`QuotaToken::encode`] made it with this key.
    pub fn decode(text: &str, key: &TokenKey) -> Option<Self> {
        open(QUOTA_TOKEN, text, key).map(Self)
    }
}

/// An instant up to [`INSTANT_MS_MAX`].
fn instant_bytes(instant: Timestamp) -> [u8; INSTANT_LEN] {
    let [_, _, bytes @ ..] = instant.as_ms().to_be_bytes();
    bytes
}

const fn instant([a, b, c, d, e, f]: [u8; INSTANT_LEN]) -> Timestamp {
    Timestamp::from_ms(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// A token of `bytes` and their MAC.
fn seal(prefix: &str, bytes: &[u8], key: &TokenKey) -> String {
    let tag = key.current.hash(&[prefix.as_bytes(), bytes]);
    encode(prefix, &[bytes, tag.as_bytes()].concat())
}

/// The bytes in a token; `None` unless [`seal`] made it with this key.
fn open<const N: usize>(prefix: &str, text: &str, key: &TokenKey) -> Option<[u8; N]> {
    let sealed = decode(prefix, text, N + TAG_LEN)?;
    let (bytes, tag) = sealed.split_first_chunk()?;
    // BLAKE3's hashes compare in constant time.
    let is_ours = key.any(|key| key.hash(&[prefix.as_bytes(), bytes]) == *tag);
    is_ours.then_some(*bytes)
}

fn encode(prefix: &str, bytes: &[u8]) -> String {
    let mut text = prefix.to_owned();
    BASE32_NOPAD.encode_append(bytes, &mut text);
    text
}

/// The bytes after `prefix`. `None` unless `text` is the canonical encoding of this many bytes.
fn decode(prefix: &str, text: &str, length: usize) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(prefix)?;
    if digits.len() != BASE32_NOPAD.encode_len(length) {
        return None;
    }
    BASE32_NOPAD.decode(digits.as_bytes()).ok()
}

#[cfg(test)]
mod tests;
