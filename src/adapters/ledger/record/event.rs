//! The events of the ledger: one per line, each about one identity. Each event has the whole state of its
//! identity from then on, so that no earlier line is needed.

use serde::{Deserialize, Serialize};

use crate::adapters::stored_json::{
    ContactEntry, DeliveryEntry, Hex, KeyEntry, RevocationEntry, TombstoneEntry,
};
use crate::domain::{
    Contact, Delivery, DeliveryId, EmailAddress, Fingerprint, KeyRecord, LeaveToken, Registration,
    RevokedRegistration, TextDigest, Timestamp, Tombstone,
};

/// An event as written in the ledger. Times are milliseconds since the Unix epoch, hashes are lowercase
/// hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The first state of an identity.
    Created(State),
    /// A later state.
    Changed(State),
    Removed(Identity),
}

impl Event {
    /// The subject.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Self::Created(state) | Self::Changed(state) => state.identity(),
            Self::Removed(identity) => identity.clone(),
        }
    }

    /// The state of the identity from then on, unless it was removed.
    pub(crate) fn state(&self) -> Option<&State> {
        match self {
            Self::Created(state) | Self::Changed(state) => Some(state),
            Self::Removed(_) => None,
        }
    }

    /// Like [`Self::state`], by value.
    pub(crate) fn into_state(self) -> Option<State> {
        match self {
            Self::Created(state) | Self::Changed(state) => Some(state),
            Self::Removed(_) => None,
        }
    }
}

/// The state of an identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum State {
    Contact(#[serde(with = "ContactEntry")] Contact),
    /// The remains of a forgotten address.
    Tombstone(#[serde(with = "TombstoneEntry")] Tombstone),
    /// A consent text, stored once.
    ConsentText(String),
    /// A delivery that is due or has failed.
    Delivery(#[serde(with = "DeliveryEntry")] Delivery),
    Key(#[serde(with = "KeyEntry")] KeyRecord),
    /// An agent's registration that was revoked with all its tokens.
    Revocation(#[serde(with = "RevocationEntry")] RevokedRegistration),
}

impl State {
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Self::Contact(contact) => Identity::contact(&contact.email),
            Self::Tombstone(tombstone) => Identity::Tombstone(Hex(tombstone.address)),
            Self::ConsentText(text) => Identity::consent_text(&TextDigest::of(text)),
            Self::Delivery(delivery) => Identity::delivery(delivery.id),
            Self::Key(key) => Identity::key(&key.fingerprint),
            Self::Revocation(revoked) => Identity::revocation(&revoked.registration),
        }
    }

    /// The token that also finds it, if any.
    pub(crate) fn token(&self) -> Option<Identity> {
        let Self::Contact(contact) = self else {
            return None;
        };
        contact.leave_token.as_ref().map(Identity::token)
    }

    /// Creation time of a contact, which may be removed and created again.
    pub(crate) fn subscribed_at(&self) -> Option<Timestamp> {
        let Self::Contact(contact) = self else {
            return None;
        };
        Some(contact.subscribed_at)
    }

    /// Time from which it is irrelevant, if any.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Key(key) => Some(key.expires_at),
            Self::Revocation(revoked) => Some(revoked.registration.expires_at()),
            Self::Contact(_) | Self::Tombstone(_) | Self::ConsentText(_) | Self::Delivery(_) => {
                None
            }
        }
    }
}

/// The content of a state of one kind.
pub(crate) trait Content: Sized {
    /// The content, if the state is of that kind.
    fn of(state: State) -> Option<Self>;
}

macro_rules! contents {
    ($($kind:ident($of:ty),)+) => {
        $(impl Content for $of {
            fn of(state: State) -> Option<Self> {
                if let State::$kind(content) = state { Some(content) } else { None }
            }
        })+
    };
}

contents! {
    Contact(Contact),
    Tombstone(Tombstone),
    ConsentText(String),
    Delivery(Delivery),
    Key(KeyRecord),
    Revocation(RevokedRegistration),
}

/// The subject of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Identity {
    Contact(String),
    Tombstone(Hex<16>),
    ConsentText(Hex<16>),
    Delivery(Hex<16>),
    Key(Hex<32>),
    Revocation(Hex<32>),
    /// An unsubscribe token, which leads to a contact; never written.
    #[serde(skip)]
    Token(Hex<16>),
}

impl Identity {
    pub(crate) fn contact(email: &EmailAddress) -> Self {
        Self::Contact(email.as_str().to_owned())
    }

    pub(crate) const fn consent_text(digest: &TextDigest) -> Self {
        Self::ConsentText(Hex(*digest.as_bytes()))
    }

    pub(crate) const fn delivery(id: DeliveryId) -> Self {
        Self::Delivery(Hex(*id.as_bytes()))
    }

    pub(crate) const fn key(fingerprint: &Fingerprint) -> Self {
        Self::Key(Hex(*fingerprint.as_bytes()))
    }

    pub(crate) fn revocation(registration: &Registration) -> Self {
        Self::Revocation(Hex(*registration.fingerprint().as_bytes()))
    }

    pub(crate) const fn token(token: &LeaveToken) -> Self {
        Self::Token(Hex(*token.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_that_this_version_does_not_know_are_refused() {
        let seen = |signers: &str| {
            let json = format!(
                r#"{{"changed":{{"contact":{{"email":"a@b.com","at":1,"seen_at":1,"signers":{signers}}}}}}}"#
            );
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
