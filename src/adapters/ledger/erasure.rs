//! Erasing addresses from every file of the store.
//!
//! First a line records that each address is forgotten, and contains it: from then on it is not a contact. While
//! the ledger has such lines, every compaction also removes the files kept next to it, and every start compacts
//! it. So a process killed at any point leaves nothing behind for good. Erasures requested while one is running
//! share the next compaction.

use crate::domain::{EmailAddress, Erasure, MacKey, Remainder, Timestamp};
use crate::ports::{ERASED_MAX, REFUSED_MS, StoreError};

use super::deliveries::remove_naming;
use super::draft::Draft;
use super::record::{Event, Hex, Identity, LEDGER};
use super::store::LedgerStore;

impl LedgerStore {
    /// Forgets `emails` and erases them from every file.
    pub(super) async fn erase(
        &self,
        emails: Vec<EmailAddress>,
        at: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let mut erasure = Erasure::default();
        // So that sign-ups do not wait behind all of them.
        for emails in emails.chunks(ERASED_MAX) {
            erasure.in_flight += self.count_in_flight(emails);
            let (emails, tombstones) = (emails.to_vec(), self.tombstone_key.clone());
            let forgotten: Vec<_> = self
                .commit(move |draft| {
                    let emails = emails.iter();
                    emails
                        .map(|email| forget(draft, &tombstones, email, at, false))
                        .collect()
                })
                .await?;
            erasure.was_known.extend(forgotten);
        }
        if erasure.was_known.is_empty() {
            return Ok(erasure);
        }
        let (file, way_out) = (
            LEDGER.to_owned(),
            "run `landing-api ledger compact`, or restart",
        );
        match self.compact().await {
            Ok(_) => erasure.rewritten.push(file),
            Err(error) => erasure.remaining.push(Remainder {
                file,
                reason: format!("{error}; once the cause is fixed, {way_out}"),
            }),
        }
        Ok(erasure)
    }
}

/// The hash of a forgotten address.
pub(super) fn hash(key: &MacKey, email: &EmailAddress) -> Hex<16> {
    Hex(email.tombstone(key))
}

pub(super) fn has_tombstone(draft: &mut Draft<'_>, address: &Hex<16>) -> Result<bool, StoreError> {
    Ok(draft.find(&Identity::tombstone(&address.0))?.is_some())
}

pub(super) fn remove_tombstone(draft: &mut Draft<'_>, address: &Hex<16>) -> Result<(), StoreError> {
    if has_tombstone(draft, address)? {
        let address = *address;
        draft.record(Event::TombstoneRemoved { address })?;
    }
    Ok(())
}

/// End of the suppression of the address with this tombstone, if its recipient refused within [`REFUSED_MS`].
pub(super) fn refused_until(tombstone: Option<&Event>, now: Timestamp) -> Option<Timestamp> {
    let refused_at = tombstone?.clone().into_tombstone()?.refused_at;
    let until = refused_at.map(|at| at.plus_ms(REFUSED_MS));
    until.filter(|until| now < *until)
}

/// Records that the address is forgotten, known or not, and whether its recipient refused. Returns whether there
/// was a contact.
pub(super) fn forget(
    draft: &mut Draft<'_>,
    tombstones: &MacKey,
    email: &EmailAddress,
    at: Timestamp,
    refused: bool,
) -> Result<bool, StoreError> {
    let was_known = draft.find(&Identity::contact(email.as_str()))?.is_some();
    draft.record(Event::forgotten(email, at))?;
    remove_naming(draft, email, at)?;
    let address = hash(tombstones, email);
    if refused || !has_tombstone(draft, &address)? {
        draft.record(Event::TombstoneSet {
            address,
            at: at.as_ms(),
            refused,
        })?;
    }
    Ok(was_known)
}
