//! What the ledger records: one event a line, about one identity. Each event has all that is known of its
//! identity from then on, so that no line before it is needed.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::adapters::consent_entry::{ConfirmationEntry, ConsentEntry};
use crate::adapters::hex::Hex;
use crate::domain::{
    Contact, ContactStatus, Delivery, DeliveryId, DeliveryKind, EmailAddress, Fingerprint, KeyId,
    KeyRecord, Label, LeaveToken, Origin, OriginHash, Registration, Timestamp,
};

/// An event as it stands in the ledger. Instants are milliseconds since the Unix epoch, hashes are
/// lowercase hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Event {
    ContactSubscribed(ContactEntry),
    /// A contact from elsewhere. The clock here knows nothing about when it was signed up.
    ContactImported(ContactEntry),
    /// A known contact was signed up again.
    ContactSeen(ContactEntry),
    /// A contact has left. It stays.
    ContactLeft(ContactEntry),
    /// The mail that asks a contact to confirm was taken, or the contact has confirmed.
    ContactConfirmed(ContactEntry),
    ContactForgotten {
        email: String,
        at: u64,
    },
    /// What remains of a forgotten address.
    TombstoneSet {
        address: Hex<16>,
        at: u64,
        /// Whoever reads its mail wants none.
        #[serde(default, skip_serializing_if = "is_false")]
        refused: bool,
    },
    /// The forgotten address was signed up or imported again.
    TombstoneRemoved {
        address: Hex<16>,
    },
    /// What contacts were asked with, kept once.
    ConsentText {
        digest: Hex<16>,
        text: String,
        at: u64,
    },
    /// Something is to be delivered.
    DeliveryQueued(DeliveryEntry),
    /// An attempt failed, or the delivery was put off or given up.
    DeliveryTried(DeliveryEntry),
    /// It was delivered or dropped.
    DeliveryDone {
        id: Hex<16>,
        at: u64,
    },
    KeyIssued(KeyEntry),
    KeyRevoked(KeyEntry),
    /// An agent's registration with all its tokens.
    TokenRevoked {
        registration: Hex<32>,
        /// The registration's public name.
        client_id: String,
        at: u64,
        /// When the registration expires: from then on the revocation does not matter.
        expires_at: u64,
    },
}

impl Event {
    pub(crate) fn forgotten(email: &EmailAddress, at: Timestamp) -> Self {
        Self::ContactForgotten {
            email: email.as_str().to_owned(),
            at: at.as_ms(),
        }
    }

    pub(crate) fn token_revoked(registration: &Registration, at: Timestamp) -> Self {
        Self::TokenRevoked {
            registration: Hex(*registration.fingerprint().as_bytes()),
            client_id: registration.client_id(),
            at: at.as_ms(),
            expires_at: registration.expires_at().as_ms(),
        }
    }

    /// The contact that it leaves, if it leaves one.
    pub(crate) fn into_contact(self) -> Option<Contact> {
        if let Self::ContactSubscribed(state)
        | Self::ContactImported(state)
        | Self::ContactSeen(state)
        | Self::ContactLeft(state)
        | Self::ContactConfirmed(state) = self
        {
            return Some(state.into());
        }
        None
    }

    /// The state of a contact that it leaves, if it leaves one.
    fn contact(&self) -> Option<&ContactEntry> {
        match self {
            Self::ContactSubscribed(state)
            | Self::ContactImported(state)
            | Self::ContactSeen(state)
            | Self::ContactLeft(state)
            | Self::ContactConfirmed(state) => Some(state),
            Self::ContactForgotten { .. }
            | Self::TombstoneSet { .. }
            | Self::TombstoneRemoved { .. }
            | Self::ConsentText { .. }
            | Self::DeliveryQueued(_)
            | Self::DeliveryTried(_)
            | Self::DeliveryDone { .. }
            | Self::KeyIssued(_)
            | Self::KeyRevoked(_)
            | Self::TokenRevoked { .. } => None,
        }
    }

    /// By what the contact that it leaves is found, too.
    pub(crate) fn token_identity(&self) -> Option<Identity> {
        let token = self.contact()?.leave.as_ref()?;
        Some(Identity::leave_token(&token.0))
    }

    /// The status of the contact that it leaves, if it leaves one.
    pub(crate) fn status(&self) -> Option<ContactStatus> {
        let state = self.contact()?;
        let confirmation = state.confirmation.as_ref();
        Some(match state.left_at {
            _ if confirmation.is_some_and(ConfirmationEntry::is_asked) => ContactStatus::Pending,
            None => ContactStatus::Subscribed,
            Some(_) => ContactStatus::Unsubscribed,
        })
    }

    /// The text that it leaves, if it leaves one.
    pub(crate) fn into_consent_text(self) -> Option<String> {
        if let Self::ConsentText { text, .. } = self {
            return Some(text);
        }
        None
    }

    /// The delivery that it leaves, if it leaves one.
    pub(crate) fn into_delivery(self) -> Option<Delivery> {
        if let Self::DeliveryQueued(state) | Self::DeliveryTried(state) = self {
            return state.into_delivery();
        }
        None
    }

    /// The same, to look at.
    pub(crate) fn delivery(&self) -> Option<&DeliveryEntry> {
        if let Self::DeliveryQueued(state) | Self::DeliveryTried(state) = self {
            return Some(state);
        }
        None
    }

    /// The key that it leaves, if it leaves one.
    pub(crate) fn into_key(self) -> Option<KeyRecord> {
        if let Self::KeyIssued(state) | Self::KeyRevoked(state) = self {
            return state.into_record();
        }
        None
    }

    /// The hash of a forgotten address that it leaves, if it leaves one.
    pub(crate) fn into_tombstone(self) -> Option<[u8; 16]> {
        if let Self::TombstoneSet { address, .. } = self {
            return Some(address.0);
        }
        None
    }

    /// When it happened, if this program's clock said so.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        let at = match self {
            Self::ContactSubscribed(state) => Some(state.seen_at.unwrap_or(state.at)),
            Self::ContactImported(state) | Self::ContactSeen(state) => state.seen_at,
            Self::ContactLeft(state) => state.left_at,
            Self::ContactConfirmed(state) => {
                state.confirmation.as_ref().and_then(|it| it.last_at())
            }
            Self::DeliveryQueued(state) | Self::DeliveryTried(state) => Some(state.changed_at),
            Self::KeyIssued(state) | Self::KeyRevoked(state) => {
                Some(state.revoked_at.unwrap_or(state.at))
            }
            Self::ContactForgotten { at, .. }
            | Self::TombstoneSet { at, .. }
            | Self::ConsentText { at, .. }
            | Self::DeliveryDone { at, .. }
            | Self::TokenRevoked { at, .. } => Some(*at),
            Self::TombstoneRemoved { .. } => None,
        };
        at.map(Timestamp::from_ms)
    }

    /// When its identity was created.
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        let at = match self {
            Self::ContactSubscribed(state)
            | Self::ContactImported(state)
            | Self::ContactSeen(state)
            | Self::ContactLeft(state)
            | Self::ContactConfirmed(state) => Some(state.at),
            Self::DeliveryQueued(state) | Self::DeliveryTried(state) => Some(state.at),
            Self::KeyIssued(state) | Self::KeyRevoked(state) => Some(state.at),
            Self::TombstoneSet { at, .. }
            | Self::ConsentText { at, .. }
            | Self::TokenRevoked { at, .. } => Some(*at),
            Self::ContactForgotten { .. }
            | Self::TombstoneRemoved { .. }
            | Self::DeliveryDone { .. } => None,
        };
        at.map(Timestamp::from_ms)
    }

    /// When it stops to matter, if ever.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        if let Self::KeyIssued(KeyEntry { expires_at, .. })
        | Self::KeyRevoked(KeyEntry { expires_at, .. })
        | Self::TokenRevoked { expires_at, .. } = self
        {
            return Some(Timestamp::from_ms(*expires_at));
        }
        None
    }

    /// Whether it creates a contact.
    pub(crate) fn is_new_contact(&self) -> bool {
        matches!(self, Self::ContactSubscribed(_) | Self::ContactImported(_))
    }

    /// Whether nothing is left of its identity.
    pub(crate) fn is_removal(&self) -> bool {
        matches!(
            self,
            Self::ContactForgotten { .. }
                | Self::TombstoneRemoved { .. }
                | Self::DeliveryDone { .. }
        )
    }

    /// Whether it changes what an event before it created.
    pub(crate) fn is_update(&self) -> bool {
        matches!(
            self,
            Self::ContactSeen(_)
                | Self::ContactLeft(_)
                | Self::ContactConfirmed(_)
                | Self::DeliveryTried(_)
                | Self::KeyRevoked(_)
        )
    }

    /// Whether it changes what `creation`, which is about the same identity, created.
    pub(crate) fn is_update_of(&self, creation: &Self) -> bool {
        self.is_update() && self.created_at() == creation.created_at()
    }

    /// The event that creates what an update leaves; any other stays as it is.
    pub(crate) fn into_creation(self) -> Self {
        if let Self::ContactSeen(state) | Self::ContactLeft(state) | Self::ContactConfirmed(state) =
            self
        {
            Self::ContactSubscribed(state)
        } else if let Self::DeliveryTried(state) = self {
            Self::DeliveryQueued(state)
        } else if let Self::KeyRevoked(state) = self {
            Self::KeyIssued(state)
        } else {
            self
        }
    }

    /// What it is about.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Self::ContactSubscribed(ContactEntry { email, .. })
            | Self::ContactImported(ContactEntry { email, .. })
            | Self::ContactSeen(ContactEntry { email, .. })
            | Self::ContactLeft(ContactEntry { email, .. })
            | Self::ContactConfirmed(ContactEntry { email, .. })
            | Self::ContactForgotten { email, .. } => Identity::contact(email),
            Self::TombstoneSet { address, .. } | Self::TombstoneRemoved { address } => {
                Identity::tombstone(&address.0)
            }
            Self::ConsentText { digest, .. } => Identity::consent_text(&digest.0),
            Self::DeliveryQueued(state) | Self::DeliveryTried(state) => {
                Identity::delivery(&state.id.0)
            }
            Self::DeliveryDone { id, .. } => Identity::delivery(&id.0),
            Self::KeyIssued(state) | Self::KeyRevoked(state) => Identity::key(&state.key.0),
            Self::TokenRevoked { registration, .. } => Identity::registration(&registration.0),
        }
    }
}

/// A contact in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactEntry {
    email: String,
    /// When it was first signed up.
    at: u64,
    /// When it was last signed up, if it was again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen_at: Option<u64>,
    /// The last clients, the newest at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signers: Vec<Signer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consent: Option<ConsentEntry>,
    /// That it is to be confirmed, and how it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmation: Option<ConfirmationEntry>,
    /// When it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_at: Option<u64>,
    /// By what it leaves.
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
            signers: contact.signers.iter().copied().map(Into::into).collect(),
            consent: contact.consent.as_ref().map(Into::into),
            confirmation: contact.confirmation.as_ref().map(Into::into),
            left_at: contact.left_at.map(Timestamp::as_ms),
            leave: contact.leave_token.map(|it| Hex(*it.as_bytes())),
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
            leave_token: state.leave.map(|it| LeaveToken::from_bytes(it.0)),
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
            credential: signer.credential.map(|it| it.0),
        }
    }
}

/// A delivery in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryEntry {
    id: Hex<16>,
    pub(crate) kind: String,
    /// Whose address is in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    body: String,
    pub(crate) at: u64,
    /// When the state became this one.
    changed_at: u64,
    pub(crate) due_at: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead_at: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_false(it: &bool) -> bool {
    !*it
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl DeliveryEntry {
    /// The delivery as it is at this time.
    pub(crate) fn new(delivery: &Delivery, at: Timestamp) -> Self {
        Self {
            id: Hex(*delivery.id.as_bytes()),
            kind: delivery.kind.as_str().to_owned(),
            email: delivery.email.as_ref().map(|it| it.as_str().to_owned()),
            body: delivery.body.clone(),
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

    /// `None` if it is one of a later version.
    pub(crate) fn into_delivery(self) -> Option<Delivery> {
        Some(Delivery {
            id: self.id(),
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

impl KeyEntry {
    fn into_record(self) -> Option<KeyRecord> {
        Some(KeyRecord {
            fingerprint: Fingerprint::from_bytes(self.key.0),
            id: KeyId::parse(&self.id)?,
            // Every recorded label was parsed when the key was issued.
            label: self.label.and_then(|label| Label::parse(label).ok()),
            issued_at: Timestamp::from_ms(self.at),
            expires_at: Timestamp::from_ms(self.expires_at),
            revoked_at: self.revoked_at.map(Timestamp::from_ms),
        })
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

    pub(crate) fn is_contact(&self) -> bool {
        self.0.starts_with('c')
    }

    pub(crate) fn key(fingerprint: &[u8; 32]) -> Self {
        Self(format!("k{}", HEXLOWER.encode_display(fingerprint)).into())
    }

    pub(crate) fn registration(fingerprint: &[u8; 32]) -> Self {
        Self(format!("r{}", HEXLOWER.encode_display(fingerprint)).into())
    }

    pub(crate) fn leave_token(token: &[u8; 16]) -> Self {
        Self(format!("l{}", HEXLOWER.encode_display(token)).into())
    }

    /// Whether it is but another way to a contact.
    pub(crate) fn is_leave_token(&self) -> bool {
        self.0.starts_with('l')
    }

    pub(crate) fn delivery(id: &[u8; 16]) -> Self {
        Self(format!("q{}", HEXLOWER.encode_display(id)).into())
    }

    pub(crate) fn consent_text(digest: &[u8; 16]) -> Self {
        Self(format!("x{}", HEXLOWER.encode_display(digest)).into())
    }

    /// `address` is the hash of a forgotten address.
    pub(crate) fn tombstone(address: &[u8; 16]) -> Self {
        Self(format!("t{}", HEXLOWER.encode_display(address)).into())
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
    fn an_update_is_one_of_what_was_created_at_its_time() {
        let event = |kind: &str, at: u64| {
            let json = format!(r#"{{"{kind}":{{"email":"a@b.com","at":{at}}}}}"#);
            serde_json::from_str::<Event>(&json).unwrap()
        };
        let creation = event("contact_subscribed", 1);
        for (kind, at, expected) in [
            ("contact_seen", 1, true),
            ("contact_seen", 2, false),
            ("contact_subscribed", 1, false),
        ] {
            let is_update = event(kind, at).is_update_of(&creation);
            assert_eq!(is_update, expected, "{kind} at {at}");
        }
    }

    #[test]
    fn signers_that_this_version_does_not_know_are_refused() {
        let seen = |signers: &str| {
            let json =
                format!(r#"{{"contact_seen":{{"email":"a@b.com","at":1,"signers":{signers}}}}}"#);
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
