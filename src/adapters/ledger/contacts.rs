//! The newsletter's contacts.

use std::net::IpAddr;

use async_trait::async_trait;
use futures_util::StreamExt as _;

use crate::domain::{
    Channel, Confirming, Contact, ContactStatus, Delivery, EmailAddress, Erasure, ImportOutcome,
    ImportedContact, LeaveToken, MacKey, SignUp, StatusCounts, Subscription, TextDigest, Timestamp,
    Tombstone,
};
use crate::ports::{ContactStore, ContactStream, ERASED_MAX, PageStream, StoreError};

use super::deliveries::{queue, remove_naming};
use super::draft::Draft;
use super::erasure::{forget, has_tombstone, hash, refused_until, remove_tombstone};
use super::record::{Event, Hex, Identity};
use super::store::LedgerStore;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn keep(&self, mut sign_up: SignUp) -> Result<Subscription, StoreError> {
        let (token, notice) = (sign_up.leave_token, sign_up.notice.take());
        let tombstones = self.tombstone_key.clone();
        self.commit(move |draft| {
            let known = draft.find(&identity(&sign_up.email))?.cloned();
            keep_text(draft, &sign_up)?;
            let address = hash(&tombstones, &sign_up.email);
            let tombstone = draft.find(&Identity::tombstone(&address.0))?;
            let is_refused = refused_until(tombstone, sign_up.at).is_some();
            if !is_refused {
                remove_tombstone(draft, &address)?;
            }
            let notice = notice.filter(|due| !(is_refused && due.kind.channel() == Channel::Mail));
            if let Some(mut contact) = known.and_then(Event::into_contact) {
                let by_same_client = contact.renew(sign_up);
                draft.record(Event::ContactSeen((&contact).into()))?;
                if contact.consents_by(token) {
                    notify(draft, notice.as_ref())?;
                }
                return Ok(Subscription::Renewed { by_same_client });
            }
            let contact = Contact::created(sign_up);
            draft.record(Event::ContactSubscribed((&contact).into()))?;
            notify(draft, notice.as_ref())?;
            Ok(Subscription::Created)
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let (generation, identity) = (self.shared.generation(), identity(email));
        // So that nobody can measure whether an address is known, an unknown one costs a read, too.
        let found = self.read(move || {
            let found = generation.find(&identity);
            if matches!(found, Ok(None)) {
                generation.read_any();
            }
            found
        });
        Ok(found
            .await?
            .and_then(|(_place, event)| event.into_contact()))
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        let found = self
            .look_up(Identity::leave_token(token.as_bytes()))
            .await?;
        Ok(found.and_then(Event::into_contact))
    }

    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let token = *token;
        self.commit(move |draft| {
            let found = with_token(draft, &token)?;
            let subscribed = found.filter(|contact| contact.status() == ContactStatus::Subscribed);
            let Some(mut contact) = subscribed else {
                return Ok(false);
            };
            contact.left_at = Some(now);
            draft.record(Event::ContactLeft((&contact).into()))?;
            // The webhook must not be notified of the sign-up after the unsubscribe.
            remove_naming(draft, &contact.email, now)?;
            notify(draft, notice.as_ref())?;
            Ok(true)
        })
        .await
    }

    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError> {
        let found = self
            .look_up(Identity::consent_text(digest.as_bytes()))
            .await?;
        Ok(found.and_then(Event::into_consent_text))
    }

    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<Confirming, StoreError> {
        let token = *token;
        self.commit(move |draft| {
            let Some(mut contact) = with_token(draft, &token)? else {
                return Ok(Confirming::Unknown);
            };
            if !contact.confirm(now, ip) {
                return Ok(match contact.status() {
                    ContactStatus::Subscribed => Confirming::ConfirmedBefore,
                    ContactStatus::Pending | ContactStatus::Unsubscribed => Confirming::Unknown,
                });
            }
            draft.record(Event::ContactConfirmed((&contact).into()))?;
            notify(draft, notice.as_ref())?;
            Ok(Confirming::Confirmed)
        })
        .await
    }

    async fn refuse(&self, token: &LeaveToken, now: Timestamp) -> Result<bool, StoreError> {
        let (token, tombstones) = (*token, self.tombstone_key.clone());
        self.commit(move |draft| {
            let found = with_token(draft, &token)?;
            let Some(contact) = found.filter(Contact::is_pending) else {
                return Ok(false);
            };
            forget(draft, &tombstones, &contact.email, now, true)?;
            Ok(true)
        })
        .await
    }

    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let address = hash(&self.tombstone_key, email);
        let found = self.look_up(Identity::tombstone(&address.0)).await?;
        Ok(refused_until(found.as_ref(), now))
    }

    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError> {
        let address = hash(&self.tombstone_key, email);
        self.commit(move |draft| {
            let tombstone = draft.find(&Identity::tombstone(&address.0))?;
            if let Some(&Event::TombstoneSet {
                at, refused: true, ..
            }) = tombstone
            {
                draft.record(Event::TombstoneSet {
                    address,
                    at,
                    refused: false,
                })?;
            }
            Ok(())
        })
        .await
    }

    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError> {
        let generation = self.shared.generation();
        self.read(move || generation.overdue(before, is_mailed, count))
            .await
    }

    async fn status_counts(&self) -> Result<StatusCounts, StoreError> {
        Ok(self.shared.generation().table().status_counts())
    }

    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError> {
        let is_wanted = move |event: &Event| {
            event.is_new_contact()
                && event.created_at().is_some_and(|at| {
                    since.is_none_or(|since| since <= at) && until.is_none_or(|until| at < until)
                })
        };
        Ok(self.pages(is_wanted, Event::into_contact))
    }

    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        if (since, until) == (None, None) {
            return Ok(self.shared.generation().table().contacts());
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
        rows: Vec<ImportedContact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.commit(move |draft| {
            let rows = rows.into_iter();
            rows.map(|row| import(draft, row, &tombstones, unforget))
                .collect()
        })
        .await
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, now: Timestamp) -> Result<u64, StoreError> {
        let mut count = 0;
        // So that sign-ups do not wait behind all of them.
        for tokens in tokens.chunks(ERASED_MAX) {
            let (tokens, tombstones) = (tokens.to_vec(), self.tombstone_key.clone());
            let expired = self.commit(move |draft| {
                let mut expired = 0;
                for token in tokens {
                    match draft.attempt(|draft| expire(draft, &tombstones, &token, now)) {
                        Ok(was_pending) => expired += u64::from(was_pending),
                        // The other contacts do not wait for it.
                        Err(error) => tracing::error!(%error, "an unconfirmed contact stays"),
                    }
                }
                Ok(expired)
            });
            count += expired.await?;
        }
        Ok(count)
    }

    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError> {
        self.erase(emails.to_vec(), now).await
    }

    fn check(&self) -> Result<(), StoreError> {
        self.shared.check()
    }
}

/// Expires the contact with this token, if it is still unconfirmed. Returns whether it was.
fn expire(
    draft: &mut Draft<'_>,
    tombstones: &MacKey,
    token: &LeaveToken,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let Some(mut contact) = with_token(draft, token)?.filter(Contact::is_pending) else {
        return Ok(false);
    };
    if contact.expire() {
        draft.record(Event::ContactLeft((&contact).into()))?;
        remove_naming(draft, &contact.email, now)?;
    } else {
        forget(draft, tombstones, &contact.email, now, false)?;
    }
    Ok(true)
}

impl LedgerStore {
    /// The keyed hashes of erased addresses, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn tombstones(&self) -> Result<PageStream<Tombstone>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::TombstoneSet { .. });
        Ok(self.pages(is_wanted, Event::into_tombstone))
    }

    /// The texts of consents, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn consent_texts(&self) -> Result<PageStream<String>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::ConsentText { .. });
        Ok(self.pages(is_wanted, Event::into_consent_text))
    }
}

fn identity(email: &EmailAddress) -> Identity {
    Identity::contact(email.as_str())
}

/// The contact with this token.
fn with_token(draft: &mut Draft<'_>, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
    let by_token = Identity::leave_token(token.as_bytes());
    let found = draft.find(&by_token)?.cloned();
    let Some(contact) = found.and_then(Event::into_contact) else {
        return Ok(None);
    };
    // This batch may have changed it.
    let last = draft.find(&identity(&contact.email))?.cloned();
    let last = last.and_then(Event::into_contact);
    Ok(last.filter(|last| last.consents_by(*token)))
}

/// Queues the delivery caused by a change.
fn notify(draft: &mut Draft<'_>, notice: Option<&Delivery>) -> Result<(), StoreError> {
    notice.map_or(Ok(()), |delivery| queue(draft, delivery))
}

/// Stores the text of a consent, if it is not stored yet.
fn keep_text(draft: &mut Draft<'_>, sign_up: &SignUp) -> Result<(), StoreError> {
    let (Some(digest), Some(text)) = (sign_up.consent.text, &sign_up.consent_text) else {
        return Ok(());
    };
    let identity = Identity::consent_text(digest.as_bytes());
    if draft.find(&identity)?.is_none() {
        draft.record(Event::ConsentText {
            digest: Hex(*digest.as_bytes()),
            text: text.clone(),
            at: sign_up.at.as_ms(),
        })?;
    }
    Ok(())
}

fn import(
    draft: &mut Draft<'_>,
    row: ImportedContact,
    tombstones: &MacKey,
    unforget: bool,
) -> Result<ImportOutcome, StoreError> {
    if draft.find(&identity(&row.email))?.is_some() {
        return Ok(ImportOutcome::Known);
    }
    let address = hash(tombstones, &row.email);
    if unforget {
        remove_tombstone(draft, &address)?;
    } else if has_tombstone(draft, &address)? {
        return Ok(ImportOutcome::Forgotten);
    }
    let contact = Contact::imported(row);
    draft.record(Event::ContactImported((&contact).into()))?;
    Ok(ImportOutcome::Created)
}
