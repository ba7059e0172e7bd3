//! Contacts and what may be told about them.

use super::email::EmailAddress;
use super::time::Timestamp;

/// Somebody signing an address up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignUp {
    /// The address.
    pub email: EmailAddress,
    /// Who does it.
    pub origin: Origin,
    /// When.
    pub at: Timestamp,
}

/// Who signed a contact up, as keyed hashes that tell nothing but whether two are the same.
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

/// What became of a sign-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// The address is new.
    Created,
    /// The address was there already, signed up by this origin.
    Renewed(Origin),
}

/// What the newsletter's provider is told of a sign-up where no contact is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Random, so that the provider can tell a repetition from another sign-up.
    pub id: [u8; 16],
    /// The address.
    pub email: EmailAddress,
    /// When it was signed up.
    pub at: Timestamp,
}

/// What is kept of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The address.
    pub email: EmailAddress,
    /// Who signed it up first.
    pub origin: Origin,
    /// When that was.
    pub subscribed_at: Timestamp,
    /// When it was last signed up again; the same instant if never.
    pub last_seen_at: Timestamp,
}

/// Who is told that an address was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevealExisting {
    /// Nobody.
    Never,
    /// Whoever signed it up.
    SameClient,
    /// Everybody.
    Always,
}
