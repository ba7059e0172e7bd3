//! The newsletter's contacts.

use std::net::IpAddr;

use async_trait::async_trait;

use crate::domain::{
    Confirming, Contact, DAY_MS, Delivery, EmailAddress, Erasure, ImportOutcome, ImportedContact,
    LeaveToken, Leaving, SignUp, StatusCounts, Subscription, TextDigest, Timestamp,
};

use super::{PageStream, StoreError};

/// Contacts, page by page.
pub type ContactStream = PageStream<Contact>;

/// For how long nobody is asked again who has refused: 30 days.
pub const REFUSED_MS: u64 = 30 * DAY_MS;

/// The most contacts or deliveries that go in one change: sign-ups do not wait for all of them.
pub const ERASED_MAX: usize = 500;

/// Keeps the newsletter's contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates the contact, or updates it ([`Contact::renew`]). `Ok` means that the change
    /// is durable, with the sign-up's notice if the consent is a new one. Concurrent sign-ups of one address take effect
    /// one after the other, so exactly one is [`Subscription::Created`].
    async fn keep(&self, sign_up: SignUp) -> Result<Subscription, StoreError>;

    /// The contact with this address.
    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError>;

    /// The contact with this token.
    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError>;

    /// Unsubscribes the contact with this token, durably, if it is subscribed. It stays, as one that left. The `notice`
    /// is delivered if it had not left before.
    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<Leaving, StoreError>;

    /// A text that contacts name.
    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError>;

    /// Confirms the contact with this token, durably ([`Contact::confirm`]). The `notice` is delivered if that
    /// changes anything.
    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<Confirming, StoreError>;

    /// Forgets the contact with this token, if it is to be confirmed, durably, and sends its address no mail for
    /// [`REFUSED_MS`]. [`super::StoreMaintenance::finish_erasures`] erases it from the files. Returns whether there was
    /// such a contact.
    async fn refuse(&self, token: &LeaveToken, now: Timestamp) -> Result<bool, StoreError>;

    /// End of the suppression of this address, if it is suppressed at `now`: its recipient refused.
    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Ends the suppression of this address, durably. It stays forgotten.
    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError>;

    /// Up to `count` contacts whose time to be confirmed runs since `before` or longer ([`Contact::pending_since`]);
    /// if `is_mailed`, only those whose mail has ended.
    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError>;

    /// How many of all contacts get no newsletter.
    async fn status_counts(&self) -> Result<StatusCounts, StoreError>;

    /// The contacts first signed up from `since` on and before `until`, in the order in which they were
    /// added. Contacts that are added, changed or erased meanwhile may or may not be among them, and are as
    /// they were or as they are; all others are, once.
    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError>;

    /// How many contacts [`ContactStore::list`] lists.
    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError>;

    /// Adds contacts that have no origin, durably and all together, and returns what became of each, in
    /// order. Known contacts are left as they are, those that have left, too. Forgotten addresses are left out, unless `unforget`.
    async fn import(
        &self,
        rows: Vec<ImportedContact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError>;

    /// Erases the contacts with these addresses durably, and the addresses from every file of the store.
    /// What remains of each address, known or not, is a keyed hash, by which [`ContactStore::import`]
    /// recognises it. A sign-up of the address is taken as any other, and removes the hash.
    ///
    /// Deliveries that name one of the addresses are dropped.
    ///
    /// A file that could not be rid of an address is no error: the [`Erasure`] names it.
    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError>;

    /// Lets those of the contacts with these tokens go that are still to be confirmed, durably, and drops what is to be
    /// delivered to them. One that had left before is one that left again; the others are forgotten as by
    /// [`ContactStore::forget`], and [`super::StoreMaintenance::finish_erasures`] erases them from the files. Returns
    /// how many they were.
    async fn expire(&self, tokens: Vec<LeaveToken>, now: Timestamp) -> Result<u64, StoreError>;

    /// Whether the store takes writes, as far as it knows at once.
    fn check(&self) -> Result<(), StoreError>;
}
