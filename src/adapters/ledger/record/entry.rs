//! The contents of events as JSON. An entry of a later version is refused.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::adapters::consent_entry::{ConfirmationEntry, ConsentEntry};
use crate::adapters::hex::Hex;
use crate::domain::{
    Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, Fingerprint, KeyId, KeyRecord,
    Label, LeaveToken, LimitKey, Origin, OriginHash, Registration, RevokedRegistration, Timestamp,
};

/// A value with another form in JSON.
pub(super) trait Wire: Sized {
    type Json: Serialize + DeserializeOwned;

    fn to_json(&self) -> Self::Json;

    /// `None` for a value of a later version.
    fn from_json(json: Self::Json) -> Option<Self>;
}

/// Writes and reads fields in that form.
pub(super) struct Stored;

impl Stored {
    pub(super) fn serialize<T: Wire, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.to_json().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Wire, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let value = T::from_json(T::Json::deserialize(deserializer)?);
        value.ok_or_else(|| D::Error::custom("unknown to this version"))
    }
}

/// The form of each type: from a value, and back.
macro_rules! wire {
    ($($of:ty as $json:ty: |$value:ident| $to:expr, |$stored:ident| $from:expr;)+) => {
        $(impl Wire for $of {
            type Json = $json;

            fn to_json(&self) -> $json {
                let $value = self;
                $to
            }

            fn from_json($stored: $json) -> Option<Self> {
                $from
            }
        })+
    };
}

wire! {
    Timestamp as u64: |at| at.as_ms(), |ms| Some(Self::from_ms(ms));
    EmailAddress as String: |email| email.as_str().to_owned(), |text| Some(Self::from_stored(text));
    LeaveToken as Hex<16>: |token| Hex(*token.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    OriginHash as Hex<8>: |hash| Hex(*hash.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    DeliveryId as Hex<16>: |id| Hex(*id.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    LimitKey as Hex<16>: |key| Hex(*key.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    DeliveryKind as String: |kind| kind.as_str().to_owned(), |name| Self::from_name(&name);
    Fingerprint as Hex<32>: |print| Hex(*print.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    KeyId as String: |id| id.to_string(), |text| Self::parse(&text);
    Label as String: |label| label.as_str().to_owned(), |text| Self::parse(text).ok();
    Registration as String: |registration| registration.client_id(), |id| Self::from_client_id(&id);
}

impl<T: Wire> Wire for Option<T> {
    type Json = Option<T::Json>;

    fn to_json(&self) -> Self::Json {
        self.as_ref().map(T::to_json)
    }

    fn from_json(json: Self::Json) -> Option<Self> {
        match json {
            Some(json) => T::from_json(json).map(Some),
            None => Some(None),
        }
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

impl Wire for Contact {
    type Json = ContactEntry;

    fn to_json(&self) -> ContactEntry {
        let is_seen_again = self.last_seen_at != self.subscribed_at;
        ContactEntry {
            email: self.email.to_json(),
            at: self.subscribed_at.to_json(),
            seen_at: is_seen_again.then_some(self.last_seen_at.to_json()),
            signers: self.signers.iter().map(Wire::to_json).collect(),
            consent: self.consent.as_ref().map(Into::into),
            confirmation: self.confirmation.as_ref().map(Into::into),
            left_at: self.left_at.to_json(),
            leave: self.leave_token.to_json(),
        }
    }

    fn from_json(entry: ContactEntry) -> Option<Self> {
        Some(Self {
            email: EmailAddress::from_stored(entry.email),
            signers: entry
                .signers
                .into_iter()
                .filter_map(Wire::from_json)
                .collect(),
            subscribed_at: Timestamp::from_ms(entry.at),
            last_seen_at: Timestamp::from_ms(entry.seen_at.unwrap_or(entry.at)),
            consent: entry.consent.and_then(ConsentEntry::into_consent),
            confirmation: entry.confirmation.map(Into::into),
            left_at: entry.left_at.map(Timestamp::from_ms),
            leave_token: entry.leave.map(|token| LeaveToken::from_bytes(token.0)),
        })
    }
}

/// A client that signed a contact up, as hashes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signer {
    network: Hex<8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<Hex<8>>,
}

impl Wire for Origin {
    type Json = Signer;

    fn to_json(&self) -> Signer {
        Signer {
            network: self.network.to_json(),
            credential: self.credential.to_json(),
        }
    }

    fn from_json(signer: Signer) -> Option<Self> {
        Some(Self {
            network: Wire::from_json(signer.network)?,
            credential: Wire::from_json(signer.credential)?,
        })
    }
}

/// A delivery in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Delivery", deny_unknown_fields)]
pub(super) struct DeliveryEntry {
    #[serde(with = "Stored")]
    id: DeliveryId,
    #[serde(with = "Stored")]
    kind: DeliveryKind,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    email: Option<EmailAddress>,
    body: String,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    network: Option<LimitKey>,
    #[serde(with = "Stored", rename = "at")]
    queued_at: Timestamp,
    #[serde(with = "Stored")]
    due_at: Timestamp,
    #[serde(default)]
    attempts: u32,
    #[serde(rename = "error", default, skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    dead_at: Option<Timestamp>,
}

/// A key in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(remote = "KeyRecord", deny_unknown_fields)]
pub(super) struct KeyEntry {
    #[serde(with = "Stored", rename = "key")]
    fingerprint: Fingerprint,
    #[serde(with = "Stored")]
    id: KeyId,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    label: Option<Label>,
    #[serde(with = "Stored", rename = "at")]
    issued_at: Timestamp,
    #[serde(with = "Stored")]
    expires_at: Timestamp,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
}

/// The revocation of an agent's registration.
#[derive(Serialize, Deserialize)]
#[serde(remote = "RevokedRegistration", deny_unknown_fields)]
pub(super) struct RevocationEntry {
    /// Its public id contains its fingerprint and its expiry.
    #[serde(with = "Stored", rename = "client_id")]
    registration: Registration,
    #[serde(with = "Stored", rename = "at")]
    revoked_at: Timestamp,
}
