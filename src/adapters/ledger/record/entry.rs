//! Contents of events: the state of a contact, a delivery or a key from then on.

use serde::{Deserialize, Serialize};

use crate::adapters::consent_entry::{ConfirmationEntry, ConsentEntry};
use crate::adapters::hex::Hex;
use crate::domain::{
    Contact, ContactStatus, Delivery, DeliveryId, DeliveryKind, EmailAddress, Fingerprint, KeyId,
    KeyRecord, Label, LeaveToken, LimitKey, Origin, OriginHash, Timestamp,
};

/// A contact in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactEntry {
    pub(super) email: String,
    /// Time of the first sign-up.
    pub(super) at: u64,
    /// Time of the last sign-up, if it was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seen_at: Option<u64>,
    /// The last clients that signed it up, the newest at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signers: Vec<Signer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consent: Option<ConsentEntry>,
    /// Double opt-in: that it was requested, and how it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confirmation: Option<ConfirmationEntry>,
    /// Time of unsubscribing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left_at: Option<u64>,
    /// The token that unsubscribes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) leave: Option<Hex<16>>,
}

impl ContactEntry {
    pub(super) fn status(&self) -> ContactStatus {
        let confirmation = self.confirmation.as_ref();
        match self.left_at {
            _ if confirmation.is_some_and(ConfirmationEntry::is_asked) => ContactStatus::Pending,
            None => ContactStatus::Subscribed,
            Some(_) => ContactStatus::Unsubscribed,
        }
    }
}

impl From<&Contact> for ContactEntry {
    fn from(contact: &Contact) -> Self {
        let is_seen_again = contact.last_seen_at != contact.subscribed_at;
        Self {
            email: contact.email.as_str().to_owned(),
            at: contact.subscribed_at.as_ms(),
            seen_at: is_seen_again.then_some(contact.last_seen_at.as_ms()),
            signers: contact.signers.iter().copied().map(Into::into).collect(),
            consent: contact.consent.as_ref().map(Into::into),
            confirmation: contact.confirmation.as_ref().map(Into::into),
            left_at: contact.left_at.map(Timestamp::as_ms),
            leave: contact.leave_token.map(|token| Hex(*token.as_bytes())),
        }
    }
}

impl From<ContactEntry> for Contact {
    fn from(state: ContactEntry) -> Self {
        Self {
            email: EmailAddress::from_stored(state.email),
            signers: state.signers.into_iter().map(Into::into).collect(),
            subscribed_at: Timestamp::from_ms(state.at),
            last_seen_at: Timestamp::from_ms(state.seen_at.unwrap_or(state.at)),
            consent: state.consent.and_then(ConsentEntry::into_consent),
            confirmation: state.confirmation.map(Into::into),
            left_at: state.left_at.map(Timestamp::from_ms),
            leave_token: state.leave.map(|token| LeaveToken::from_bytes(token.0)),
        }
    }
}

/// A client that signed a contact up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signer {
    network: ShortHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<ShortHash>,
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
            credential: signer.credential.map(|hash| hash.0),
        }
    }
}

/// A delivery in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryEntry {
    pub(super) id: Hex<16>,
    pub(crate) kind: String,
    /// The address in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Hex<16>>,
    pub(crate) at: u64,
    /// Time of the last change of the state.
    pub(super) changed_at: u64,
    pub(crate) due_at: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead_at: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl DeliveryEntry {
    /// The state of the delivery at this time.
    pub(crate) fn new(delivery: &Delivery, at: Timestamp) -> Self {
        Self {
            id: Hex(*delivery.id.as_bytes()),
            kind: delivery.kind.as_str().to_owned(),
            email: delivery.email.as_ref().map(|text| text.as_str().to_owned()),
            body: delivery.body.clone(),
            network: delivery.network.map(|key| Hex(*key.as_bytes())),
            at: delivery.queued_at.as_ms(),
            changed_at: at.as_ms(),
            due_at: delivery.due_at.as_ms(),
            attempts: delivery.attempts,
            error: delivery.last_error.clone(),
            dead_at: delivery.dead_at.map(Timestamp::as_ms),
        }
    }

    pub(crate) const fn id(&self) -> DeliveryId {
        DeliveryId::from_bytes(self.id.0)
    }

    pub(crate) fn network(&self) -> Option<LimitKey> {
        self.network.map(|key| LimitKey::from_bytes(key.0))
    }

    /// `None` for a delivery of a later version.
    pub(crate) fn into_delivery(self) -> Option<Delivery> {
        Some(Delivery {
            id: self.id(),
            network: self.network(),
            kind: DeliveryKind::from_name(&self.kind)?,
            email: self.email.map(EmailAddress::from_stored),
            body: self.body,
            queued_at: Timestamp::from_ms(self.at),
            due_at: Timestamp::from_ms(self.due_at),
            attempts: self.attempts,
            last_error: self.error,
            dead_at: self.dead_at.map(Timestamp::from_ms),
        })
    }
}

/// A key in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    pub(super) key: Hex<32>,
    /// The key's public id.
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    pub(super) at: u64,
    pub(super) expires_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revoked_at: Option<u64>,
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

impl KeyEntry {
    /// `None` for a key of a later version.
    pub(super) fn into_record(self) -> Option<KeyRecord> {
        Some(KeyRecord {
            fingerprint: Fingerprint::from_bytes(self.key.0),
            id: KeyId::parse(&self.id)?,
            // Every stored label was parsed when the key was issued.
            label: self.label.and_then(|label| Label::parse(label).ok()),
            issued_at: Timestamp::from_ms(self.at),
            expires_at: Timestamp::from_ms(self.expires_at),
            revoked_at: self.revoked_at.map(Timestamp::from_ms),
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
        Hex::deserialize(deserializer).map(|hash| Self(OriginHash::from_bytes(hash.0)))
    }
}
