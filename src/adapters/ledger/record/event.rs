//! The events of the ledger: one per line, each about one identity. Each event has the whole state of its
//! identity from then on, so that no earlier line is needed.

use serde::{Deserialize, Serialize};

use crate::adapters::hex::Hex;
use crate::domain::{
    Contact, ContactStatus, Delivery, EmailAddress, KeyRecord, Registration, Timestamp, Tombstone,
};

use super::entry::{ContactEntry, DeliveryEntry, KeyEntry};
use super::identity::Identity;

/// An event as written in the ledger. Times are milliseconds since the Unix epoch, hashes are lowercase
/// hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Event {
    ContactSubscribed(ContactEntry),
    /// A contact from elsewhere. Its sign-up time is unknown to the clock here.
    ContactImported(ContactEntry),
    /// A known contact was signed up again.
    ContactSeen(ContactEntry),
    /// A contact has unsubscribed. It stays.
    ContactLeft(ContactEntry),
    /// The relay accepted the email that asks a contact to confirm, or the contact has confirmed.
    ContactConfirmed(ContactEntry),
    ContactForgotten {
        email: String,
        at: u64,
    },
    /// The remains of a forgotten address.
    TombstoneSet {
        address: Hex<16>,
        at: u64,
        /// The recipient refused further email.
        #[serde(default, skip_serializing_if = "is_false")]
        refused: bool,
    },
    /// The forgotten address was signed up or imported again.
    TombstoneRemoved {
        address: Hex<16>,
    },
    /// A consent text, stored once.
    ConsentText {
        digest: Hex<16>,
        text: String,
        at: u64,
    },
    /// A new delivery.
    DeliveryQueued(DeliveryEntry),
    /// An attempt failed, or the delivery was postponed or has failed.
    DeliveryTried(DeliveryEntry),
    /// It was delivered or dropped.
    DeliveryDone {
        id: Hex<16>,
        at: u64,
    },
    KeyIssued(KeyEntry),
    KeyRevoked(KeyEntry),
    /// An agent's registration, with all its tokens.
    TokenRevoked {
        registration: Hex<32>,
        /// Public id of the registration.
        client_id: String,
        at: u64,
        /// Expiry of the registration: the revocation is irrelevant from then on.
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

    /// The contact in it, if any.
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

    /// The state of the contact in it, if any.
    fn contact(&self) -> Option<&ContactEntry> {
        if let Self::ContactSubscribed(state)
        | Self::ContactImported(state)
        | Self::ContactSeen(state)
        | Self::ContactLeft(state)
        | Self::ContactConfirmed(state) = self
        {
            return Some(state);
        }
        None
    }

    /// The token that also finds the contact in it, if any.
    pub(crate) fn token_identity(&self) -> Option<Identity> {
        let token = self.contact()?.leave.as_ref()?;
        Some(Identity::leave_token(&token.0))
    }

    /// The status of the contact in it, if any.
    pub(crate) fn status(&self) -> Option<ContactStatus> {
        self.contact().map(ContactEntry::status)
    }

    /// The text in it, if any.
    pub(crate) fn into_consent_text(self) -> Option<String> {
        if let Self::ConsentText { text, .. } = self {
            return Some(text);
        }
        None
    }

    /// The delivery in it, if any.
    pub(crate) fn into_delivery(self) -> Option<Delivery> {
        if let Self::DeliveryQueued(state) | Self::DeliveryTried(state) = self {
            return state.into_delivery();
        }
        None
    }

    /// The same by reference.
    pub(crate) fn delivery(&self) -> Option<&DeliveryEntry> {
        if let Self::DeliveryQueued(state) | Self::DeliveryTried(state) = self {
            return Some(state);
        }
        None
    }

    /// The key in it, if any.
    pub(crate) fn into_key(self) -> Option<KeyRecord> {
        if let Self::KeyIssued(state) | Self::KeyRevoked(state) = self {
            return state.into_record();
        }
        None
    }

    /// The tombstone in it, if any.
    pub(crate) fn into_tombstone(self) -> Option<Tombstone> {
        let Self::TombstoneSet {
            address,
            at,
            refused,
        } = self
        else {
            return None;
        };
        Some(Tombstone {
            address: address.0,
            refused_at: refused.then(|| Timestamp::from_ms(at)),
        })
    }

    /// Time of the event, if this program's clock measured it.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        let at = match self {
            Self::ContactSubscribed(state) => Some(state.seen_at.unwrap_or(state.at)),
            Self::ContactImported(state) | Self::ContactSeen(state) => state.seen_at,
            Self::ContactLeft(state) => state.left_at,
            Self::ContactConfirmed(state) => {
                state.confirmation.as_ref().and_then(|step| step.last_at())
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

    /// Creation time of its identity.
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

    /// Time from which it is irrelevant, if any.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        if let Self::KeyIssued(KeyEntry { expires_at, .. })
        | Self::KeyRevoked(KeyEntry { expires_at, .. })
        | Self::TokenRevoked { expires_at, .. } = self
        {
            return Some(Timestamp::from_ms(*expires_at));
        }
        None
    }

    /// True if it creates a contact.
    pub(crate) fn is_new_contact(&self) -> bool {
        matches!(self, Self::ContactSubscribed(_) | Self::ContactImported(_))
    }

    /// True if it removes its identity.
    pub(crate) fn is_removal(&self) -> bool {
        matches!(
            self,
            Self::ContactForgotten { .. }
                | Self::TombstoneRemoved { .. }
                | Self::DeliveryDone { .. }
        )
    }

    /// True if it changes an identity that an earlier event created.
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

    /// True if it changes the same identity as created by `creation`.
    pub(crate) fn is_update_of(&self, creation: &Self) -> bool {
        self.is_update() && self.created_at() == creation.created_at()
    }

    /// The creation event with the state of an update; any other event is unchanged.
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

    /// The subject.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
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
