//! Contacts, and what may be revealed about them.

use super::email::EmailAddress;
use super::time::Timestamp;

/// A request to sign an address up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignUp {
    /// The address.
    pub email: EmailAddress,
    /// The client.
    pub origin: Origin,
    /// When.
    pub at: Timestamp,
}

/// The client that signed a contact up, as keyed hashes: they only show whether two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The network.
    pub network: [u8; 16],
    /// The credential, if one was presented.
    pub credential: Option<[u8; 16]>,
}

impl Origin {
    /// Whether `other` shares the network or the credential.
    #[must_use]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        self.network == other.network
            || (self.credential.is_some() && self.credential == other.credential)
    }
}

/// The outcome of a sign-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// The address is new.
    Created,
    /// The address was signed up before, first by this origin.
    Renewed(Origin),
}

/// A sign-up as it is passed on to the newsletter's provider where no contact is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Random, so that the provider can recognise a repeated delivery.
    pub id: [u8; 16],
    /// The address.
    pub email: EmailAddress,
    /// When it was signed up.
    pub at: Timestamp,
}

/// A stored contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The address.
    pub email: EmailAddress,
    /// The client that signed it up first.
    pub origin: Origin,
    /// When it was first signed up.
    pub subscribed_at: Timestamp,
    /// When it was last signed up; the same instant if only once.
    pub last_seen_at: Timestamp,
}

/// Who learns that an address was signed up before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevealExisting {
    /// Nobody.
    Never,
    /// The client that signed it up.
    SameClient,
    /// Everybody.
    Always,
}
