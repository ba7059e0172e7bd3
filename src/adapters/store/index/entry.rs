//! What the index keeps of a contact, of a key and of a revoked token, as bytes.

use crate::domain::contact::{Contact, Origin};
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::email::EmailAddress;
use crate::domain::text::Label;
use crate::domain::time::Timestamp;

/// Flags, two instants, a network and a credential.
const CONTACT_BYTES_MAX: usize = 1 + 8 + 8 + 16 + 16;

const HAS_CREDENTIAL: u8 = 1;
const HAS_SEEN_LINE: u8 = 2;
const IS_REVOKED: u8 = 1;
const HAS_LABEL: u8 = 2;

/// The name of a contact's entry.
pub(crate) fn contact_name(email: &str) -> Vec<u8> {
    [b"c", email.as_bytes()].concat()
}

/// The name of a key's entry.
pub(crate) fn key_name(fingerprint: &[u8; 32]) -> Vec<u8> {
    [b"k", fingerprint.as_slice()].concat()
}

/// The name of the entry about a registration whose tokens are revoked.
pub(crate) fn revocation_name(fingerprint: &[u8; 32]) -> Vec<u8> {
    [b"r", fingerprint.as_slice()].concat()
}

/// When an entry no longer matters, and how many lines of the ledger there are about it; nothing
/// for an entry that stays.
pub(super) fn expiry(name: &[u8], value: &[u8]) -> Option<(Timestamp, u64)> {
    match name.first()? {
        b'k' => KeyEntry::from_bytes(value).map(|key| (key.expires_at, key.lines())),
        b'r' => RevocationEntry::from_bytes(value).map(|it| (it.expires_at, 1)),
        _ => None,
    }
}

/// A contact without its address, which is the entry's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContactEntry {
    pub(crate) origin: Origin,
    pub(crate) subscribed_at: Timestamp,
    pub(crate) last_seen_at: Timestamp,
    /// Whether the ledger has a line about a later sighting.
    pub(crate) has_seen_line: bool,
}

impl ContactEntry {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut flags = 0;
        if self.origin.credential.is_some() {
            flags |= HAS_CREDENTIAL;
        }
        if self.has_seen_line {
            flags |= HAS_SEEN_LINE;
        }
        let mut bytes = Vec::with_capacity(CONTACT_BYTES_MAX);
        bytes.push(flags);
        bytes.extend_from_slice(&self.subscribed_at.as_ms().to_be_bytes());
        bytes.extend_from_slice(&self.last_seen_at.as_ms().to_be_bytes());
        bytes.extend_from_slice(&self.origin.network);
        bytes.extend(self.origin.credential.into_iter().flatten());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (subscribed_at, rest) = rest.split_first_chunk()?;
        let (last_seen_at, rest) = rest.split_first_chunk()?;
        let (&network, rest) = rest.split_first_chunk()?;
        let credential = if flags & HAS_CREDENTIAL == 0 {
            None
        } else {
            Some(*rest.first_chunk()?)
        };
        Some(Self {
            origin: Origin {
                network,
                credential,
            },
            subscribed_at: instant(*subscribed_at),
            last_seen_at: instant(*last_seen_at),
            has_seen_line: flags & HAS_SEEN_LINE != 0,
        })
    }

    pub(crate) fn into_contact(self, email: EmailAddress) -> Contact {
        Contact {
            email,
            origin: self.origin,
            subscribed_at: self.subscribed_at,
            last_seen_at: self.last_seen_at,
        }
    }
}

/// A key without its fingerprint, which is the entry's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyEntry {
    pub(crate) label: Option<String>,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) revoked_at: Option<Timestamp>,
}

impl KeyEntry {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut flags = 0;
        if self.revoked_at.is_some() {
            flags |= IS_REVOKED;
        }
        if self.label.is_some() {
            flags |= HAS_LABEL;
        }
        let mut bytes = vec![flags];
        bytes.extend_from_slice(&self.issued_at.as_ms().to_be_bytes());
        bytes.extend_from_slice(&self.expires_at.as_ms().to_be_bytes());
        bytes.extend_from_slice(&self.revoked_at.unwrap_or_default().as_ms().to_be_bytes());
        bytes.extend_from_slice(self.label.as_deref().unwrap_or("").as_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (issued_at, rest) = rest.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        let (revoked_at, rest) = rest.split_first_chunk()?;
        let label = std::str::from_utf8(rest).ok()?;
        Some(Self {
            label: (flags & HAS_LABEL != 0).then(|| label.to_owned()),
            issued_at: instant(*issued_at),
            expires_at: instant(*expires_at),
            revoked_at: (flags & IS_REVOKED != 0).then(|| instant(*revoked_at)),
        })
    }

    /// How many lines of the ledger there are about it.
    pub(super) fn lines(&self) -> u64 {
        1 + u64::from(self.revoked_at.is_some())
    }

    pub(crate) fn into_record(self, fingerprint: Fingerprint) -> KeyRecord {
        KeyRecord {
            fingerprint,
            // The service records no label that does not parse.
            label: self.label.and_then(|label| Label::parse(label).ok()),
            issued_at: self.issued_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
        }
    }
}

/// A registration whose tokens are revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RevocationEntry {
    /// When it would have expired.
    pub(crate) expires_at: Timestamp,
}

impl RevocationEntry {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.expires_at.as_ms().to_be_bytes().to_vec()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            expires_at: instant(bytes.try_into().ok()?),
        })
    }
}

fn instant(bytes: [u8; 8]) -> Timestamp {
    Timestamp::from_ms(u64::from_be_bytes(bytes))
}
