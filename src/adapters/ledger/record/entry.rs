//! The contents of events as JSON.

use std::marker::PhantomData;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::adapters::consent_entry::{ConfirmationEntry, ConsentEntry};
use crate::adapters::hex::Hex;
use crate::domain::{
    Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, Fingerprint, KeyId, KeyRecord,
    Label, LeaveToken, LimitKey, Origin, OriginHash, Registration, RevokedRegistration, Timestamp,
};

/// Writes and reads a value as the entry `E`.
pub(super) struct Stored<E>(PhantomData<E>);

impl<E> Stored<E> {
    pub(super) fn serialize<'a, T, S>(value: &'a T, serializer: S) -> Result<S::Ok, S::Error>
    where
        E: From<&'a T> + Serialize,
        S: Serializer,
    {
        E::from(value).serialize(serializer)
    }

    /// An entry of a later version is refused.
    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        E: TryInto<T> + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let value = E::deserialize(deserializer)?.try_into();
        value.map_err(|_error| D::Error::custom("unknown to this version"))
    }
}

/// A contact in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactEntry {
    email: String,
    /// Time of the first sign-up.
    at: u64,
    /// Time of the last sign-up, if it was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen_at: Option<u64>,
    /// The last clients that signed it up, the newest at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signers: Vec<Signer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consent: Option<ConsentEntry>,
    /// Double opt-in: that it was requested, and how it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmation: Option<ConfirmationEntry>,
    /// Time of unsubscribing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_at: Option<u64>,
    /// The token that unsubscribes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leave: Option<Hex<16>>,
}

impl From<&Contact> for ContactEntry {
    fn from(contact: &Contact) -> Self {
        let is_seen_again = contact.last_seen_at != contact.subscribed_at;
        Self {
            email: contact.email.as_str().to_owned(),
            at: contact.subscribed_at.as_ms(),
            seen_at: is_seen_again.then_some(contact.last_seen_at.as_ms()),
            signers: contact.signers.iter().map(Into::into).collect(),
            consent: contact.consent.as_ref().map(Into::into),
            confirmation: contact.confirmation.as_ref().map(Into::into),
            left_at: contact.left_at.map(Timestamp::as_ms),
            leave: contact.leave_token.map(|token| Hex(*token.as_bytes())),
        }
    }
}

impl From<ContactEntry> for Contact {
    fn from(entry: ContactEntry) -> Self {
        Self {
            email: EmailAddress::from_stored(entry.email),
            signers: entry.signers.into_iter().map(Into::into).collect(),
            subscribed_at: Timestamp::from_ms(entry.at),
            last_seen_at: Timestamp::from_ms(entry.seen_at.unwrap_or(entry.at)),
            consent: entry.consent.and_then(ConsentEntry::into_consent),
            confirmation: entry.confirmation.map(Into::into),
            left_at: entry.left_at.map(Timestamp::from_ms),
            leave_token: entry.leave.map(|token| LeaveToken::from_bytes(token.0)),
        }
    }
}

/// A client that signed a contact up, as hashes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signer {
    network: Hex<8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<Hex<8>>,
}

impl From<&Origin> for Signer {
    fn from(origin: &Origin) -> Self {
        Self {
            network: Hex(*origin.network.as_bytes()),
            credential: origin.credential.map(|hash| Hex(*hash.as_bytes())),
        }
    }
}

impl From<Signer> for Origin {
    fn from(signer: Signer) -> Self {
        Self {
            network: OriginHash::from_bytes(signer.network.0),
            credential: signer.credential.map(|hash| OriginHash::from_bytes(hash.0)),
        }
    }
}

/// A delivery in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveryEntry {
    id: Hex<16>,
    kind: String,
    /// The address in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Hex<16>>,
    at: u64,
    due_at: u64,
    #[serde(default)]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dead_at: Option<u64>,
}

impl From<&Delivery> for DeliveryEntry {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: Hex(*delivery.id.as_bytes()),
            kind: delivery.kind.as_str().to_owned(),
            email: delivery.email.as_ref().map(|text| text.as_str().to_owned()),
            body: delivery.body.clone(),
            network: delivery.network.map(|key| Hex(*key.as_bytes())),
            at: delivery.queued_at.as_ms(),
            due_at: delivery.due_at.as_ms(),
            attempts: delivery.attempts,
            error: delivery.last_error.clone(),
            dead_at: delivery.dead_at.map(Timestamp::as_ms),
        }
    }
}

impl TryFrom<DeliveryEntry> for Delivery {
    type Error = ();

    fn try_from(entry: DeliveryEntry) -> Result<Self, ()> {
        Ok(Self {
            id: DeliveryId::from_bytes(entry.id.0),
            network: entry.network.map(|key| LimitKey::from_bytes(key.0)),
            kind: DeliveryKind::from_name(&entry.kind).ok_or(())?,
            email: entry.email.map(EmailAddress::from_stored),
            body: entry.body,
            queued_at: Timestamp::from_ms(entry.at),
            due_at: Timestamp::from_ms(entry.due_at),
            attempts: entry.attempts,
            last_error: entry.error,
            dead_at: entry.dead_at.map(Timestamp::from_ms),
        })
    }
}

/// A key in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyEntry {
    key: Hex<32>,
    /// The key's public id.
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    at: u64,
    expires_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<u64>,
}

impl From<&KeyRecord> for KeyEntry {
    fn from(record: &KeyRecord) -> Self {
        Self {
            key: Hex(*record.fingerprint.as_bytes()),
            id: record.id.to_string(),
            label: record.label.as_ref().map(|label| label.as_str().to_owned()),
            at: record.issued_at.as_ms(),
            expires_at: record.expires_at.as_ms(),
            revoked_at: record.revoked_at.map(Timestamp::as_ms),
        }
    }
}

impl TryFrom<KeyEntry> for KeyRecord {
    type Error = ();

    fn try_from(entry: KeyEntry) -> Result<Self, ()> {
        Ok(Self {
            fingerprint: Fingerprint::from_bytes(entry.key.0),
            id: KeyId::parse(&entry.id).ok_or(())?,
            // Every stored label was parsed when the key was issued.
            label: entry.label.and_then(|label| Label::parse(label).ok()),
            issued_at: Timestamp::from_ms(entry.at),
            expires_at: Timestamp::from_ms(entry.expires_at),
            revoked_at: entry.revoked_at.map(Timestamp::from_ms),
        })
    }
}

/// The revocation of an agent's registration.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevocationEntry {
    /// Public id of the registration, which contains its fingerprint and its expiry.
    client_id: String,
    at: u64,
}

impl From<&RevokedRegistration> for RevocationEntry {
    fn from(revoked: &RevokedRegistration) -> Self {
        Self {
            client_id: revoked.registration.client_id(),
            at: revoked.revoked_at.as_ms(),
        }
    }
}

impl TryFrom<RevocationEntry> for RevokedRegistration {
    type Error = ();

    fn try_from(entry: RevocationEntry) -> Result<Self, ()> {
        Ok(Self {
            registration: Registration::from_client_id(&entry.client_id).ok_or(())?,
            revoked_at: Timestamp::from_ms(entry.at),
        })
    }
}
