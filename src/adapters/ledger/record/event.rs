//! What the ledger records: one event a line, about one identity.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::domain::agent::Registration;
use crate::domain::contact::{ImportedContact, Origin, OriginHash, SignUp, Signers};
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
        network: ShortHash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential: Option<ShortHash>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    ContactSeen {
        email: String,
        /// The last clients, including this one and the first, so that the lines before this one are
        /// not needed.
        signers: Vec<Signer>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    /// A contact from elsewhere, whose clients are unknown.
    ContactImported {
        email: String,
        /// When it was signed up there, which the clock here knows nothing about.
        #[serde(with = "milliseconds")]
        subscribed_at: Timestamp,
    },
    ContactForgotten {
        email: String,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    /// What remains of a forgotten address.
    TombstoneSet {
        address: Hex<16>,
        #[serde(with = "milliseconds")]
        at: Timestamp,
    },
    /// The forgotten address was signed up or imported again.
    TombstoneRemoved { address: Hex<16> },
    KeyIssued {
        key: Hex<32>,
        /// The key's public id.
        id: String,
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
    /// An agent's registration with all its tokens.
    TokenRevoked {
        registration: Hex<32>,
        /// The registration's public name.
        client_id: String,
        #[serde(with = "milliseconds")]
        at: Timestamp,
        /// When the registration expires: from then on the revocation does not matter.
        #[serde(with = "milliseconds")]
        expires_at: Timestamp,
    },
}

impl Event {
    pub(crate) fn subscribed(sign_up: &SignUp) -> Self {
        let Signer {
            network,
            credential,
        } = sign_up.origin.into();
        Self::ContactSubscribed {
            email: sign_up.email.as_str().to_owned(),
            network,
            credential,
            at: sign_up.at,
        }
    }

    pub(crate) fn imported(row: &ImportedContact) -> Self {
        Self::ContactImported {
            email: row.email.as_str().to_owned(),
            subscribed_at: row.subscribed_at,
        }
    }

    pub(crate) fn seen(email: &EmailAddress, signers: &Signers, at: Timestamp) -> Self {
        Self::ContactSeen {
            email: email.as_str().to_owned(),
            signers: signers.iter().copied().map(Into::into).collect(),
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
            id: record.id.to_string(),
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
            client_id: registration.client_id(),
            at,
            expires_at: registration.expires_at(),
        }
    }

    /// When it happened, if this program's clock said so.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        match self {
            Self::ContactSubscribed { at, .. }
            | Self::ContactSeen { at, .. }
            | Self::ContactForgotten { at, .. }
            | Self::TombstoneSet { at, .. }
            | Self::KeyIssued { at, .. }
            | Self::KeyRevoked { at, .. }
            | Self::TokenRevoked { at, .. } => Some(*at),
            Self::ContactImported { .. } | Self::TombstoneRemoved { .. } => None,
        }
    }

    /// When the contact that it creates was signed up, if it creates one.
    pub(crate) fn subscribed_at(&self) -> Option<Timestamp> {
        match self {
            Self::ContactSubscribed { at, .. } => Some(*at),
            Self::ContactImported { subscribed_at, .. } => Some(*subscribed_at),
            Self::ContactSeen { .. }
            | Self::ContactForgotten { .. }
            | Self::TombstoneSet { .. }
            | Self::TombstoneRemoved { .. }
            | Self::KeyIssued { .. }
            | Self::KeyRevoked { .. }
            | Self::TokenRevoked { .. } => None,
        }
    }

    /// When it stops to matter, if ever.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::KeyIssued { expires_at, .. } | Self::TokenRevoked { expires_at, .. } => {
                Some(*expires_at)
            }
            Self::ContactSubscribed { .. }
            | Self::ContactSeen { .. }
            | Self::ContactImported { .. }
            | Self::ContactForgotten { .. }
            | Self::TombstoneSet { .. }
            | Self::TombstoneRemoved { .. }
            | Self::KeyRevoked { .. } => None,
        }
    }

    /// What it is about.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Self::ContactSubscribed { email, .. }
            | Self::ContactSeen { email, .. }
            | Self::ContactImported { email, .. }
            | Self::ContactForgotten { email, .. } => Identity::contact(email),
            Self::TombstoneSet { address, .. } | Self::TombstoneRemoved { address } => {
                Identity::tombstone(&address.0)
            }
            Self::KeyIssued { key, .. } | Self::KeyRevoked { key, .. } => Identity::key(&key.0),
            Self::TokenRevoked { registration, .. } => Identity::registration(&registration.0),
        }
    }
}

/// A client that signed a contact up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signer {
    pub(crate) network: ShortHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credential: Option<ShortHash>,
}

impl From<Origin> for Signer {
    fn from(origin: Origin) -> Self {
        Self {
            network: ShortHash(origin.network),
            credential: origin.credential.map(ShortHash),
        }
    }
}

impl From<Signer> for Origin {
    fn from(signer: Signer) -> Self {
        Self {
            network: signer.network.0,
            credential: signer.credential.map(|it| it.0),
        }
    }
}

/// What an event is about: a contact, a forgotten address, a key or a registration. The text has no white
/// space.
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

    /// `address` is the hash of a forgotten address.
    pub(crate) fn tombstone(address: &[u8; 16]) -> Self {
        Self(format!("t{}", HEXLOWER.encode_display(address)).into())
    }

    pub(crate) fn is_credential(&self) -> bool {
        self.0.starts_with(['k', 'r'])
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

impl<const N: usize> Hex<N> {
    fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
        bytes.try_into().ok().map(Self)
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&HEXLOWER.encode_display(&self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(<&str>::deserialize(deserializer)?).ok_or_else(|| {
            serde::de::Error::custom(format_args!("expected {} hexadecimal digits", 2 * N))
        })
    }
}

/// A hash of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortHash(OriginHash);

impl Serialize for ShortHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Hex(*self.0.as_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ShortHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Hex::deserialize(deserializer).map(|it| Self(OriginHash::from_bytes(it.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_that_this_version_does_not_know_are_refused() {
        let seen = |signers: &str| {
            let json =
                format!(r#"{{"contact_seen":{{"email":"a@b.com","signers":{signers},"at":1}}}}"#);
            serde_json::from_str::<Event>(&json)
        };
        assert!(seen(r#"[{"network":"0001020304050607"}]"#).is_ok());
        for bad in [
            "null",
            "{}",
            "[{}]",
            r#"["0001020304050607"]"#,
            r#"[{"network":""}]"#,
            r#"[{"network":"000102030405060"}]"#,
            r#"[{"network":"00010203040506070"}]"#,
            r#"[{"network":"000102030405060g"}]"#,
            r#"[{"network":"000102030405060A"}]"#,
            r#"[{"network":"0001020304050607","device":"0001020304050607"}]"#,
        ] {
            assert!(seen(bad).is_err(), "{bad}");
        }
    }
}
