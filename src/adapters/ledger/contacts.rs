//! The newsletter's contacts.
//!
//! **An erasure.** First a line records that each address is forgotten, and contains it: from then on it is not a contact.
//! While the ledger has such lines, every compaction also removes the damaged ledger that a repair kept, and every
//! start compacts it. So a process killed at any point leaves nothing behind for good. Erasures requested while one is
//! running share the next compaction.

use std::net::IpAddr;

use async_trait::async_trait;
use futures_util::StreamExt as _;

use crate::domain::{
    Channel, Contact, Delivery, EmailAddress, Erasure, ImportOutcome, LeaveToken, MacKey, SignUp,
    StatusCounts, Subscription, TextDigest, Timestamp, Tombstone,
};
use crate::ports::{ContactStore, ContactStream, ERASED_MAX, PageStream, REFUSED_MS, StoreError};

use super::draft::Draft;
use super::record::{Content as _, Flaw, Hex, Identity, LEDGER, State};
use super::store::LedgerStore;
use super::writer::LedgerWriter;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn sign_up(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.submit(Some(sign_up.consent.at), move |draft| {
            let known = draft.get(&Identity::contact(&sign_up.email))?;
            if let (Some(digest), Some(text)) = (sign_up.consent.text, &sign_up.consent_text)
                && draft.find(&Identity::consent_text(&digest))?.is_none()
            {
                draft.put(State::ConsentText(text.clone()))?;
            }
            let address = tombstone(&tombstones, &sign_up.email);
            let is_refused = refused_until(draft.get(&address)?, sign_up.consent.at).is_some();
            if !is_refused {
                draft.remove(address)?;
            }
            let (contact, subscription, notice) = Contact::signed_up(known, sign_up);
            draft.put(State::Contact(contact))?;
            let is_due = |due: &Delivery| !(is_refused && due.kind.channel() == Channel::Mail);
            draft.queue(notice.filter(is_due))?;
            Ok(subscription)
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let (generation, identity) = (self.current.generation(), Identity::contact(email));
        // So that nobody can measure whether an address is known, an unknown one costs a read, too.
        let found = self.blocking(move || {
            let found = generation.find(&identity);
            if matches!(found, Ok(None)) {
                generation.read_any();
            }
            found
        });
        let found = found.await?;
        Ok(found.and_then(|(_place, state)| Contact::of(state)))
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        self.look_up(Identity::token(token)).await
    }

    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let token = *token;
        self.submit(Some(now), move |draft| {
            let known = with_token(draft, &token)?;
            draft.change(known, notice, |contact| contact.leave(now))
        })
        .await
    }

    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError> {
        self.look_up(Identity::consent_text(digest)).await
    }

    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let token = *token;
        self.submit(Some(now), move |draft| {
            let known = with_token(draft, &token)?;
            draft.change(known, notice, |contact| contact.confirm(now, ip))
        })
        .await
    }

    async fn refuse(&self, token: &LeaveToken, now: Timestamp) -> Result<bool, StoreError> {
        let (token, tombstones) = (*token, self.tombstone_key.clone());
        self.submit(Some(now), move |draft| {
            let found = with_token(draft, &token)?;
            let Some(contact) = found.filter(Contact::is_pending) else {
                return Ok(false);
            };
            forget(draft, &tombstones, &contact.email, Some(now))?;
            Ok(true)
        })
        .await
    }

    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let found = self.look_up(tombstone(&self.tombstone_key, email)).await?;
        Ok(refused_until(found, now))
    }

    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError> {
        let identity = tombstone(&self.tombstone_key, email);
        self.submit(None, move |draft| {
            let found: Option<Tombstone> = draft.get(&identity)?;
            let Some(mut tombstone) = found.filter(|found| found.refused_at.is_some()) else {
                return Ok(());
            };
            tombstone.refused_at = None;
            draft.put(State::Tombstone(tombstone))
        })
        .await
    }

    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError> {
        let generation = self.current.generation();
        self.blocking(move || generation.overdue(before, is_mailed, count))
            .await
    }

    async fn status_counts(&self) -> Result<StatusCounts, StoreError> {
        Ok(self.current.generation().table().status_counts())
    }

    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError> {
        let is_wanted = move |contact: &Contact| {
            let at = contact.subscribed_at;
            since.is_none_or(|since| since <= at) && until.is_none_or(|until| at < until)
        };
        Ok(self.pages(move |state| Contact::of(state).filter(is_wanted)))
    }

    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        if (since, until) == (None, None) {
            return Ok(self.current.generation().table().contacts());
        }
        let mut pages = self.list(since, until).await?;
        let mut count = 0;
        while let Some(page) = pages.next().await {
            count += page?.len() as u64;
        }
        Ok(count)
    }

    async fn import(
        &self,
        rows: Vec<Contact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.submit(None, move |draft| {
            let rows = rows.into_iter();
            rows.map(|row| import(draft, row, &tombstones, unforget))
                .collect()
        })
        .await
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, now: Timestamp) -> Result<u64, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.for_each(tokens, now, move |draft, token| {
            expire(draft, &tombstones, &token)
        })
        .await
    }

    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError> {
        let mut erasure = Erasure::default();
        // So that sign-ups do not wait behind all of them.
        for emails in emails.chunks(ERASED_MAX) {
            erasure.in_flight += self.count_in_flight(emails);
            let (emails, tombstones) = (emails.to_vec(), self.tombstone_key.clone());
            let forgotten: Vec<_> = self
                .submit(Some(now), move |draft| {
                    let emails = emails.iter();
                    emails
                        .map(|email| forget(draft, &tombstones, email, None))
                        .collect()
                })
                .await?;
            erasure.was_known.extend(forgotten);
        }
        if erasure.was_known.is_empty() {
            return Ok(erasure);
        }
        let compacted = self.compact_if(LedgerWriter::has_forgotten).await;
        erasure.remaining = compacted.err().map(|error| {
            format!(
                "{LEDGER} may still contain an address: {error}; once the cause is fixed, run `landing-api ledger \
                 compact`, or restart"
            )
        });
        Ok(erasure)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.health.check()
    }
}

/// Expires the contact with this token, if it is still unconfirmed. Returns whether it was.
fn expire(draft: &mut Draft<'_>, tombstones: &MacKey, token: &LeaveToken) -> Result<bool, Flaw> {
    let Some(contact) = with_token(draft, token)?.filter(Contact::is_pending) else {
        return Ok(false);
    };
    let email = contact.email.clone();
    if !draft.change(Some(contact), None, Contact::expire)? {
        forget(draft, tombstones, &email, None)?;
    }
    Ok(true)
}

impl LedgerStore {
    /// The keyed hashes of erased addresses, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn tombstones(&self) -> Result<PageStream<Tombstone>, StoreError> {
        Ok(self.pages(Tombstone::of))
    }

    /// The texts of consents, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn consent_texts(&self) -> Result<PageStream<String>, StoreError> {
        Ok(self.pages(String::of))
    }
}

/// The trace of a forgotten address.
fn tombstone(key: &MacKey, email: &EmailAddress) -> Identity {
    Identity::Tombstone(Hex(email.tombstone(key)))
}

/// End of the suppression of the address with this tombstone, if its recipient refused within [`REFUSED_MS`].
fn refused_until(tombstone: Option<Tombstone>, now: Timestamp) -> Option<Timestamp> {
    let until = tombstone?.refused_at?.plus_ms(REFUSED_MS);
    Some(until).filter(|until| now < *until)
}

/// Records that the address is forgotten, known or not, and when its recipient refused, if so. Returns whether
/// there was a contact.
fn forget(
    draft: &mut Draft<'_>,
    tombstones: &MacKey,
    email: &EmailAddress,
    refused_at: Option<Timestamp>,
) -> Result<bool, Flaw> {
    let was_known = draft.remove(Identity::contact(email))?;
    draft.remove_naming(email)?;
    let tombstone = State::Tombstone(Tombstone {
        address: email.tombstone(tombstones),
        refused_at,
    });
    if refused_at.is_some() || draft.find(&tombstone.identity())?.is_none() {
        draft.put(tombstone)?;
    }
    Ok(was_known)
}

/// The contact with this token.
fn with_token(draft: &mut Draft<'_>, token: &LeaveToken) -> Result<Option<Contact>, Flaw> {
    let Some(contact) = draft.get::<Contact>(&Identity::token(token))? else {
        return Ok(None);
    };
    // This batch may have changed it.
    let last: Option<Contact> = draft.get(&Identity::contact(&contact.email))?;
    Ok(last.filter(|last| last.leave_token == Some(*token)))
}

fn import(
    draft: &mut Draft<'_>,
    row: Contact,
    tombstones: &MacKey,
    unforget: bool,
) -> Result<ImportOutcome, Flaw> {
    if draft.find(&Identity::contact(&row.email))?.is_some() {
        return Ok(ImportOutcome::Known);
    }
    let address = tombstone(tombstones, &row.email);
    if unforget {
        draft.remove(address)?;
    } else if draft.find(&address)?.is_some() {
        return Ok(ImportOutcome::Forgotten);
    }
    draft.put(State::Contact(row))?;
    Ok(ImportOutcome::Created)
}
