//! Erasing addresses from every file of the store.
//!
//! First it is recorded that they are forgotten, in lines that name them: from then on they are no contacts.
//! While these lines stand in the ledger, every start repeats what follows: the addresses are blanked in the
//! files that were kept beside the ledger, and the ledger is compacted. So a process that is killed at any
//! point leaves nothing behind for good. Erasures that are asked for while one runs share the next compaction.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::domain::{EmailAddress, Erasure, MacKey, Remainder, Timestamp};
use crate::ports::{REFUSED_MS, StoreError};

use super::deliveries::remove_naming;
use super::draft::Draft;
use super::kept_files::blank;
use super::record::{Event, Hex, Identity};
use super::store::LedgerStore;

impl LedgerStore {
    /// Forgets `emails` and erases them from every file.
    pub(super) async fn erase(
        &self,
        emails: Vec<EmailAddress>,
        at: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let addresses: HashSet<_> = emails.iter().map(|it| it.as_str().to_owned()).collect();
        let in_flight = self.count_in_flight(&emails);
        let tombstones = self.tombstone_key.clone();
        let forgotten = self.commit(move |draft| {
            let emails = emails.iter();
            emails
                .map(|email| forget(draft, &tombstones, email, at, false))
                .collect()
        });
        let erasure = Erasure {
            was_known: forgotten.await?,
            in_flight,
            ..Erasure::default()
        };
        self.erase_from_files(addresses, erasure).await
    }

    /// Erases forgotten addresses from every file, and adds what became of each file to `erasure`.
    pub(super) async fn erase_from_files(
        &self,
        addresses: HashSet<String>,
        mut erasure: Erasure,
    ) -> Result<Erasure, StoreError> {
        if addresses.is_empty() {
            return Ok(erasure);
        }
        let (files, ledger) = (Arc::clone(&self.files), self.path.clone());
        let blanked = spawn_blocking(move || blank(files.as_ref(), &ledger, &addresses)).await;
        let blanked = blanked.map_err(|_panic| self.shared.unavailable())?;
        for (file, done) in blanked {
            let way_out = "forget the addresses again, or remove the file";
            report(&mut erasure, &file, done, way_out);
        }
        let compacted = self.compacted().await;
        let done = compacted.map(drop).map_err(|error| error.to_string());
        let way_out = "the next compaction drops them: `landing-api ledger compact`, or a restart";
        report(&mut erasure, &self.path, done, way_out);
        Ok(erasure)
    }
}

/// Adds what became of `file` to the report. After an error `way_out` says what to do.
fn report(erasure: &mut Erasure, file: &Path, done: Result<(), String>, way_out: &str) {
    let name = file.file_name().unwrap_or_default();
    let file = name.to_string_lossy().into_owned();
    match done {
        Ok(()) => erasure.rewritten.push(file),
        Err(error) => erasure.remaining.push(Remainder {
            file,
            reason: format!("{error}; {way_out}"),
        }),
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

/// Whether whoever reads its mail wanted none within [`REFUSED_MS`].
pub(super) fn is_refused(
    draft: &mut Draft<'_>,
    address: &Hex<16>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    Ok(match draft.find(&Identity::tombstone(&address.0))? {
        Some(Event::TombstoneSet { at, refused, .. }) => {
            *refused && now < Timestamp::from_ms(*at).plus_ms(REFUSED_MS)
        }
        Some(_) | None => false,
    })
}

/// Records that the address is forgotten, known or not, and whether whoever reads its mail wants none. Returns
/// whether there was a contact.
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
