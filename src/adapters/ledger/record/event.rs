//! What the ledger records: one event a line, about one identity.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::domain::agent::Registration;
use crate::domain::contact::{Origin, SignUp};
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;

/// An event as it stands in the ledger. Instants are milliseconds since the Unix epoch, hashes are
/// lowercase hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Event {
    ContactSubscribed {
        email: String,
        network: Hex<16>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential: Option<Hex<16>>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    ContactSeen {
        email: String,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    ContactForgotten {
        email: String,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    KeyIssued {
        key: Hex<32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
        #[serde(with = "milliseconds")]
        expires_at: Timestamp,
    },
    KeyRevoked {
        key: Hex<32>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    /// An agent's registration with all its tokens. Since format 2.
    TokenRevoked {
        registration: Hex<32>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
        /// When the registration expires: from then on the revocation does not matter.
        #[serde(with = "milliseconds")]
        expires_at: Timestamp,
    },
}

impl Event {
    pub(crate) fn subscribed(sign_up: &SignUp) -> Self {
        let Origin {
            network,
            credential,
        } = sign_up.origin;
        Self::ContactSubscribed {
            email: sign_up.email.as_str().to_owned(),
            network: Hex(network),
            credential: credential.map(Hex),
            at: sign_up.at,
        }
    }

    pub(crate) fn seen(email: &EmailAddress, at: Timestamp) -> Self {
        Self::ContactSeen {
            email: email.as_str().to_owned(),
            at,
        }
    }

    pub(crate) fn forgotten(email: &EmailAddress, at: Timestamp) -> Self {
        Self::ContactForgotten {
            email: email.as_str().to_owned(),
            at,
        }
    }

    pub(crate) fn issued(record: &KeyRecord) -> Self {
        Self::KeyIssued {
            key: Hex(*record.fingerprint.as_bytes()),
            label: record.label.as_ref().map(|label| label.as_str().to_owned()),
            at: record.issued_at,
            expires_at: record.expires_at,
        }
    }

    pub(crate) fn revoked(fingerprint: &Fingerprint, at: Timestamp) -> Self {
        Self::KeyRevoked {
            key: Hex(*fingerprint.as_bytes()),
            at,
        }
    }

    pub(crate) fn token_revoked(registration: &Registration, at: Timestamp) -> Self {
        Self::TokenRevoked {
            registration: Hex(*registration.fingerprint().as_bytes()),
            at,
            expires_at: registration.expires_at(),
        }
    }

    /// When it happened.
    pub(crate) fn at(&self) -> Timestamp {
        let (Self::ContactSubscribed { at, .. }
        | Self::ContactSeen { at, .. }
        | Self::ContactForgotten { at, .. }
        | Self::KeyIssued { at, .. }
        | Self::KeyRevoked { at, .. }
        | Self::TokenRevoked { at, .. }) = self;
        *at
    }

    /// When it stops to matter, if ever.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::KeyIssued { expires_at, .. } | Self::TokenRevoked { expires_at, .. } => {
                Some(*expires_at)
            }
            Self::ContactSubscribed { .. }
            | Self::ContactSeen { .. }
            | Self::ContactForgotten { .. }
            | Self::KeyRevoked { .. } => None,
        }
    }

    /// What it is about.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Self::ContactSubscribed { email, .. }
            | Self::ContactSeen { email, .. }
            | Self::ContactForgotten { email, .. } => Identity::contact(email),
            Self::KeyIssued { key, .. } | Self::KeyRevoked { key, .. } => Identity::key(&key.0),
            Self::TokenRevoked { registration, .. } => Identity::registration(&registration.0),
        }
    }
}

/// What an event is about: a contact, a key or a registration. The text has no white space.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity(Box<str>);

impl Identity {
    pub(crate) fn contact(email: &str) -> Self {
        Self(["c", email].concat().into())
    }

    pub(crate) fn key(fingerprint: &[u8; 32]) -> Self {
        Self(format!("k{}", HEXLOWER.encode_display(fingerprint)).into())
    }

    pub(crate) fn registration(fingerprint: &[u8; 32]) -> Self {
        Self(format!("r{}", HEXLOWER.encode_display(fingerprint)).into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// An instant as milliseconds since the Unix epoch.
mod milliseconds {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::domain::time::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(at.as_ms())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        u64::deserialize(from).map(Timestamp::from_ms)
    }
}

/// Bytes as hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&HEXLOWER.encode_display(&self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format_args!("expected {} hexadecimal digits", 2 * N))
        })
    }
}
