//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{
    Contact, Erasure, ImportOutcome, ImportedContact, SignUp, Signers, Subscription,
};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, ContactStream, PageStream, StoreError};

use super::draft::Draft;
use super::erasure::{has_tombstone, hash, remove_tombstone};
use super::index::IndexError;
use super::record::{Event, Hex, Identity, Kept, Signer};
use super::store::LedgerStore;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn keep(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.commit(move |draft| {
            let found = draft.find(&identity(&sign_up.email))?;
            if let Some(mut signers) = found.as_ref().map(signers) {
                let by_same_client = signers.renew(sign_up.origin);
                draft.record(&Event::seen(&sign_up.email, &signers, sign_up.at))?;
                Ok(Subscription::Renewed { by_same_client })
            } else {
                remove_tombstone(draft, &hash(&tombstones, &sign_up.email))?;
                draft.record(&Event::subscribed(&sign_up))?;
                Ok(Subscription::Created)
            }
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let found = self.look_up(&identity(email)).await?;
        Ok(found.and_then(contact))
    }

    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError> {
        let is_wanted = move |event: &Event| {
            event.subscribed_at().is_some_and(|at| {
                since.is_none_or(|since| since <= at) && until.is_none_or(|until| at < until)
            })
        };
        self.pages(is_wanted, contact).await
    }

    async fn import(
        &self,
        rows: Vec<ImportedContact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let tombstones = self.tombstone_key.clone();
        self.commit(move |draft| {
            let address = |row: &ImportedContact| hash(&tombstones, &row.email);
            let addresses: Vec<_> = rows.iter().map(address).collect();
            let rows = rows.iter().zip(&addresses);
            let identities = rows
                .clone()
                .flat_map(|(row, address)| [identity(&row.email), Identity::tombstone(&address.0)]);
            draft.prefetch(identities.collect())?;
            rows.map(|(row, address)| import(draft, row, address, unforget))
                .collect()
        })
        .await
    }

    async fn forget(&self, emails: &[EmailAddress], now: Timestamp) -> Result<Erasure, StoreError> {
        let (emails, tombstones) = (emails.to_vec(), self.tombstone_key.clone());
        self.run(move |writer| writer.forget(emails, tombstones, now))
            .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.check_writes().await
    }
}

impl LedgerStore {
    /// The keyed hashes of the addresses that were erased, for a store that takes over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    pub async fn tombstones(&self) -> Result<PageStream<[u8; 16]>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::TombstoneSet { .. });
        let address = |kept: Kept<Event>| {
            let Event::TombstoneSet { address, .. } = kept.first else {
                return None;
            };
            Some(address.0)
        };
        self.pages(is_wanted, address).await
    }
}

fn identity(email: &EmailAddress) -> Identity {
    Identity::contact(email.as_str())
}

/// Imports a row. `address` is the hash of its address.
fn import(
    draft: &mut Draft<'_>,
    row: &ImportedContact,
    address: &Hex<16>,
    unforget: bool,
) -> Result<ImportOutcome, IndexError> {
    if draft.find(&identity(&row.email))?.is_some() {
        return Ok(ImportOutcome::Known);
    }
    if unforget {
        remove_tombstone(draft, address)?;
    } else if has_tombstone(draft, address)? {
        return Ok(ImportOutcome::Forgotten);
    }
    draft.record(&Event::imported(row))?;
    Ok(ImportOutcome::Created)
}

/// Builds the contact from its kept events.
fn contact(kept: Kept<Event>) -> Option<Contact> {
    let signers = signers(&kept);
    let subscribed_at = kept.first.subscribed_at()?;
    let (Event::ContactSubscribed { email, .. } | Event::ContactImported { email, .. }) =
        kept.first
    else {
        return None;
    };
    Some(Contact {
        email: EmailAddress::from_stored(email),
        signers,
        subscribed_at,
        last_seen_at: kept
            .last
            .as_ref()
            .and_then(Event::at)
            .unwrap_or(subscribed_at),
    })
}

/// The last clients that signed the contact up, from its kept events.
fn signers(kept: &Kept<Event>) -> Signers {
    let mut first = None;
    // An imported contact has none.
    if let Event::ContactSubscribed {
        network,
        credential,
        ..
    } = kept.first
    {
        first = Some(Signer {
            network,
            credential,
        });
    }
    let last = match &kept.last {
        Some(Event::ContactSeen { signers, .. }) => signers,
        _ => first.as_slice(),
    };
    last.iter().copied().map(Into::into).collect()
}
