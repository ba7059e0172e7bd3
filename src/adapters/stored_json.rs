//! The stored forms of contacts, deliveries, keys and revocations in JSON: in the lines of the ledger, and in the
//! tables of several nodes. An entry of a later version is refused.

use std::net::IpAddr;

use data_encoding::HEXLOWER;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{
    Confirmation, Consent, Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, EndedConsent,
    Fingerprint, KeyId, KeyRecord, Label, Language, LeaveToken, LimitKey, Origin, OriginHash,
    Registration, RevokedRegistration, SignUpWay, Signers, Source, TextDigest, Timestamp,
    Tombstone,
};

/// Bytes as hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&HEXLOWER.encode_display(&self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = <&str>::deserialize(deserializer)?;
        let bytes = HEXLOWER.decode(digits.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let expected = || format!("expected {} hexadecimal digits", 2 * N);
        bytes.map(Self).ok_or_else(|| D::Error::custom(expected()))
    }
}

/// A value with another form in JSON.
pub(crate) trait Wire: Sized {
    type Json: Serialize + DeserializeOwned;

    fn to_json(&self) -> Self::Json;

    /// `None` for a value of a later version.
    fn from_json(json: Self::Json) -> Option<Self>;
}

/// Writes and reads fields in that form.
pub(crate) struct Stored;

impl Stored {
    pub(crate) fn serialize<T: Wire, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.to_json().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Wire, D: Deserializer<'de>>(
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
    TextDigest as Hex<16>: |digest| Hex(*digest.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    OriginHash as Hex<8>: |hash| Hex(*hash.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    DeliveryId as Hex<16>: |id| Hex(*id.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    LimitKey as Hex<16>: |key| Hex(*key.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    [u8; 16] as Hex<16>: |bytes| Hex(*bytes), |hex| Some(hex.0);
    DeliveryKind as String: |kind| kind.as_str().to_owned(), |name| Self::from_name(&name);
    Fingerprint as Hex<32>: |print| Hex(*print.as_bytes()), |hex| Some(Self::from_bytes(hex.0));
    KeyId as String: |id| id.to_string(), |text| Self::parse(&text);
    Label as String: |label| label.as_str().to_owned(), |text| Self::parse(text).ok();
    Registration as String: |registration| registration.client_id(), |id| Self::from_client_id(&id);
    SignUpWay as String: |way| way.as_str().to_owned(), |name| Self::from_name(&name);
    Language as String: |language| language.as_str().to_owned(), |tag| Self::of_tag(&tag);
    Source as String: |name| name.as_str().to_owned(), |text| Self::parse(&text);
    Signers as Vec<SignerJson>: |signers| signers.iter().map(Origin::to_json).collect(),
        |json| json.into_iter().map(Origin::from_json).collect();
}

impl<T: Wire> Wire for Option<T> {
    type Json = Option<T::Json>;

    fn to_json(&self) -> Self::Json {
        self.as_ref().map(T::to_json)
    }

    fn from_json(json: Self::Json) -> Option<Self> {
        json.map_or(Some(None), |json| T::from_json(json).map(Some))
    }
}

/// A contact.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Contact", deny_unknown_fields)]
pub(crate) struct ContactEntry {
    #[serde(with = "Stored")]
    email: EmailAddress,
    /// The last clients that signed it up, the newest at the end.
    #[serde(with = "Stored", default, skip_serializing_if = "has_none")]
    signers: Signers,
    #[serde(with = "Stored", rename = "at")]
    subscribed_at: Timestamp,
    #[serde(with = "Stored", rename = "seen_at")]
    last_seen_at: Timestamp,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    consent: Option<Consent>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    confirmation: Option<Confirmation>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    left_at: Option<Timestamp>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    previous: Option<EndedConsent>,
    #[serde(with = "Stored", rename = "leave")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leave_token: Option<LeaveToken>,
}

fn has_none(signers: &Signers) -> bool {
    signers.iter().next().is_none()
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Consent", deny_unknown_fields)]
struct ConsentEntry {
    #[serde(with = "Stored")]
    at: Timestamp,
    #[serde(with = "Stored", rename = "by")]
    way: SignUpWay,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    text: Option<TextDigest>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<IpAddr>,
}

/// That a confirmation was requested, and how it was given.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Confirmation", deny_unknown_fields)]
struct ConfirmationEntry {
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    mailed_at: Option<Timestamp>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    undeliverable_at: Option<Timestamp>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<IpAddr>,
}

/// The proof of the consent before.
#[derive(Serialize, Deserialize)]
#[serde(remote = "EndedConsent", deny_unknown_fields)]
struct EndedConsentEntry {
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    consent: Option<Consent>,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    confirmation: Option<Confirmation>,
    #[serde(with = "Stored")]
    left_at: Timestamp,
}

/// A client that signed a contact up, as hashes.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Origin", deny_unknown_fields)]
struct SignerEntry {
    #[serde(with = "Stored")]
    network: OriginHash,
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    credential: Option<OriginHash>,
}

/// The remains of a forgotten address.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Tombstone", deny_unknown_fields)]
pub(crate) struct TombstoneEntry {
    #[serde(with = "Stored")]
    address: [u8; 16],
    /// When the recipient refused further email, if so.
    #[serde(with = "Stored", default, skip_serializing_if = "Option::is_none")]
    refused_at: Option<Timestamp>,
}

/// Values that are not fields of an event.
macro_rules! alone {
    ($($name:ident: $of:ty as $entry:literal,)+) => {
        $(#[derive(Serialize, Deserialize)]
        pub(crate) struct $name(#[serde(with = $entry)] $of);

        wire! { $of as $name: |value| $name(value.clone()), |json| Some(json.0); })+
    };
}

alone! {
    ContactJson: Contact as "ContactEntry",
    ConsentJson: Consent as "ConsentEntry",
    ConfirmationJson: Confirmation as "ConfirmationEntry",
    EndedConsentJson: EndedConsent as "EndedConsentEntry",
    SignerJson: Origin as "SignerEntry",
    KeyJson: KeyRecord as "KeyEntry",
    RevocationJson: RevokedRegistration as "RevocationEntry",
}

/// A delivery.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Delivery", deny_unknown_fields)]
pub(crate) struct DeliveryEntry {
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

/// A key.
#[derive(Serialize, Deserialize)]
#[serde(remote = "KeyRecord", deny_unknown_fields)]
pub(crate) struct KeyEntry {
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
pub(crate) struct RevocationEntry {
    /// Its public id contains its fingerprint and its expiry.
    #[serde(with = "Stored", rename = "client_id")]
    registration: Registration,
    #[serde(with = "Stored", rename = "at")]
    revoked_at: Timestamp,
}
