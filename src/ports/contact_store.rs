//! The newsletter's contacts.

use std::net::IpAddr;

use async_trait::async_trait;

use crate::domain::{
    Contact, DAY_MS, Delivery, EmailAddress, Erasure, ImportOutcome, LeaveToken, SignUp,
    StatusCounts, Subscription, TextDigest, Timestamp,
};

use super::{PageStream, StoreError};

/// Contacts in pages.
pub type ContactStream = PageStream<Contact>;

/// Suppression of an address that refused: it receives no confirmation email for 30 days.
pub const REFUSED_MS: u64 = 30 * DAY_MS;

/// Most contacts or deliveries in one change, so that sign-ups do not wait behind all of them.
pub const ERASED_MAX: usize = 500;

/// Stores the newsletter's contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates the contact or updates it ([`Contact::renew`]). `Ok` means that the change is durable, together
    /// with the sign-up's notice if the consent is new. Concurrent sign-ups of one address take effect one after
    /// the other, so exactly one is [`Subscription::Created`].
    async fn sign_up(&self, sign_up: SignUp) -> Result<Subscription, StoreError>;

    /// The contact with this address.
    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError>;

    /// The contact with this token.
    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError>;

    /// Unsubscribes the contact with this token durably, if it is subscribed, and delivers the `notice`. The
    /// contact stays, as unsubscribed. Returns whether it was subscribed.
    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// A consent text that contacts refer to.
    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError>;

    /// Confirms the contact with this token durably ([`Contact::confirm`]), if it is unconfirmed, and delivers the
    /// `notice`. Returns whether it was unconfirmed.
    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Forgets the contact with this token durably, if it is unconfirmed, and sends its address no email for
    /// [`REFUSED_MS`]. [`super::StoreMaintenance::finish_erasures`] erases it from the files. Returns whether there
    /// was such a contact.
    async fn refuse(&self, token: &LeaveToken, now: Timestamp) -> Result<bool, StoreError>;

    /// End of the suppression of this address, if it is suppressed at `now` because its recipient refused.
    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Ends the suppression of this address, durably. It stays forgotten.
    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError>;

    /// Up to `count` contacts unconfirmed since `before` or longer ([`Contact::pending_since`]); with
    /// `is_mailed`, only those whose email needs no further attempt.
    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError>;

    /// Number of contacts per status, of those that get no newsletter.
    async fn status_counts(&self) -> Result<StatusCounts, StoreError>;

    /// The contacts first signed up from `since` on and before `until`, in the order in which they were
    /// added. Contacts added, changed or erased during the listing may be missing, or appear in the old or the
    /// new state; all others appear exactly once.
    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError>;

    /// Number of contacts that [`ContactStore::list`] lists.
    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError>;

    /// Adds imported contacts, durably and all together, and returns the outcome of each, in order.
    /// Known contacts are left unchanged, even if unsubscribed. Forgotten addresses are skipped, unless `unforget`.
    async fn import(
        &self,
        rows: Vec<Contact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError>;

    /// Erases the contacts with these addresses durably, and the addresses from every file of the store. A
    /// keyed hash of each address remains, known or not, by which [`ContactStore::import`] recognises it. A new
    /// sign-up of the address is accepted as usual and removes the hash.
    ///
    /// Deliveries to one of the addresses, or about it, are dropped.
    ///
    /// A file from which an address could not be erased is no error: the [`Erasure`] names it.
    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError>;

    /// Expires those of the contacts with these tokens that are still unconfirmed, durably, and drops their
    /// deliveries. Contacts that had unsubscribed before are unsubscribed again; the others are forgotten as by
    /// [`ContactStore::forget`], and [`super::StoreMaintenance::finish_erasures`] erases them from the files. Returns
    /// the number of expired contacts.
    async fn expire(&self, tokens: Vec<LeaveToken>, now: Timestamp) -> Result<u64, StoreError>;

    /// Fails if the store is known not to be writable. Does not wait.
    fn check(&self) -> Result<(), StoreError>;
}
