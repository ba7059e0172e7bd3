//! The subjects of events.

use data_encoding::HEXLOWER;

/// The subject of an event: a contact, a forgotten address, a key or a registration. The text has no white
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

    /// True if it only leads to a contact.
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
