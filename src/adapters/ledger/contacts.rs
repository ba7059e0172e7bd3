//! The newsletter's contacts.

use async_trait::async_trait;
use futures_util::StreamExt as _;

use crate::domain::{
    Contact, EmailAddress, Erasure, ImportOutcome, ImportedContact, MacKey, SignUp, Signers,
    Subscription, Timestamp,
};
use crate::ports::{ContactStore, ContactStream, PageStream, StoreError};

use super::draft::Draft;
use super::erasure::{has_tombstone, hash, remove_tombstone};
use super::record::{Event, Identity};
use super::store::LedgerStore;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn keep(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.commit(move |draft| {
            let SignUp { email, origin, at } = sign_up;
            let known = draft.find(&identity(&email))?.cloned();
            if let Some(mut contact) = known.and_then(Event::into_contact) {
                let by_same_client = contact.signers.renew(origin);
                contact.last_seen_at = at;
                draft.record(Event::ContactSeen((&contact).into()))?;
                return Ok(Subscription::Renewed { by_same_client });
            }
            remove_tombstone(draft, &hash(&tombstones, &email))?;
            let contact = Contact {
                email,
                signers: Signers::from_iter([origin]),
                subscribed_at: at,
                last_seen_at: at,
            };
            draft.record(Event::ContactSubscribed((&contact).into()))?;
            Ok(Subscription::Created)
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let found = self.look_up(identity(email)).await?;
        Ok(found.and_then(Event::into_contact))
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

    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError> {
        self.erase(emails.to_vec(), now).await
    }

    fn check(&self) -> Result<(), StoreError> {
        self.shared.check()
    }
}

impl LedgerStore {
    /// The keyed hashes of the addresses that were erased, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn tombstones(&self) -> Result<PageStream<[u8; 16]>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::TombstoneSet { .. });
        Ok(self.pages(is_wanted, Event::into_tombstone))
    }
}

fn identity(email: &EmailAddress) -> Identity {
    Identity::contact(email.as_str())
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
    let contact = Contact {
        email: row.email,
        signers: Signers::default(),
        subscribed_at: row.subscribed_at,
        last_seen_at: row.subscribed_at,
    };
    draft.record(Event::ContactImported((&contact).into()))?;
    Ok(ImportOutcome::Created)
}
