//! Erasing addresses from every file of the store.
//!
//! First a line records that each address is forgotten, and contains it: from then on it is not a contact. While
//! the ledger has such lines, every compaction also removes the damaged ledger that a repair kept, and every
//! start compacts it. So a process killed at any point leaves nothing behind for good. Erasures requested while one is running
//! share the next compaction.

use crate::domain::{EmailAddress, Erasure, MacKey, Timestamp, Tombstone};
use crate::ports::{ERASED_MAX, REFUSED_MS, StoreError};

use super::deliveries::remove_naming;
use super::draft::Draft;
use super::record::{Flaw, Hex, Identity, LEDGER, State};
use super::store::LedgerStore;
use super::writer::LedgerWriter;

impl LedgerStore {
    /// Forgets `emails` and erases them from every file.
    pub(super) async fn erase(
        &self,
        emails: &[EmailAddress],
        at: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let mut erasure = Erasure::default();
        // So that sign-ups do not wait behind all of them.
        for emails in emails.chunks(ERASED_MAX) {
            erasure.in_flight += self.count_in_flight(emails);
            let (emails, tombstones) = (emails.to_vec(), self.tombstone_key.clone());
            let forgotten: Vec<_> = self
                .commit(Some(at), move |draft| {
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
}

/// The trace of a forgotten address.
pub(super) fn tombstone(key: &MacKey, email: &EmailAddress) -> Identity {
    Identity::Tombstone(Hex(email.tombstone(key)))
}

/// End of the suppression of the address with this tombstone, if its recipient refused within [`REFUSED_MS`].
pub(super) fn refused_until(tombstone: Option<&State>, now: Timestamp) -> Option<Timestamp> {
    let refused_at = tombstone?.clone().into_tombstone()?.refused_at;
    let until = refused_at.map(|at| at.plus_ms(REFUSED_MS));
    until.filter(|until| now < *until)
}

/// Records that the address is forgotten, known or not, and when its recipient refused, if so. Returns whether
/// there was a contact.
pub(super) fn forget(
    draft: &mut Draft<'_>,
    tombstones: &MacKey,
    email: &EmailAddress,
    refused_at: Option<Timestamp>,
) -> Result<bool, Flaw> {
    let was_known = draft.remove(Identity::contact(email))?;
    remove_naming(draft, email)?;
    let tombstone = State::Tombstone(Tombstone {
        address: email.tombstone(tombstones),
        refused_at,
    });
    if refused_at.is_some() || draft.find(&tombstone.identity())?.is_none() {
        draft.put(tombstone)?;
    }
    Ok(was_known)
}
