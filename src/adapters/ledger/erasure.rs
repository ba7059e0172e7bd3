//! Erasing addresses from every file of the store.
//!
//! First it is recorded that they are forgotten, in lines that name them. While these lines stand in the
//! ledger, every start repeats what follows: the addresses are blanked in the files that were kept beside
//! the ledger, the ledger is compacted, and the index is made anew in a new directory, because sled keeps
//! bytes that it no longer needs. So a process that is killed at any point leaves nothing behind for good.

use std::collections::HashSet;
use std::path::Path;

use crate::domain::contact::{Erasure, Remainder};
use crate::domain::email::EmailAddress;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::draft::Draft;
use super::index::IndexError;
use super::kept_files::blank;
use super::record::{Event, Flaw, Hex, Identity, each_event};
use super::writer::LedgerWriter;

impl LedgerWriter {
    /// Forgets `emails` and erases them from every file.
    pub(super) fn forget(
        &mut self,
        emails: Vec<EmailAddress>,
        tombstones: MacKey,
        at: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let addresses: HashSet<_> = emails.iter().map(|it| it.as_str().to_owned()).collect();
        let was_known = self.commit_one(move |draft| {
            let emails = emails.iter();
            emails
                .map(|email| forget(draft, &tombstones, email, at))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let mut erasure = Erasure {
            was_known,
            ..Erasure::default()
        };
        if !addresses.is_empty() {
            self.erase(&addresses, &mut erasure);
        }
        Ok(erasure)
    }

    fn erase(&mut self, addresses: &HashSet<String>, erasure: &mut Erasure) {
        let ledger = self.ledger.path().to_path_buf();
        match blank(&ledger, addresses) {
            Ok(blanked) => {
                for (file, done) in blanked {
                    let done = done.map_err(|error| error.to_string());
                    report(
                        erasure,
                        &file,
                        done,
                        "forget the addresses again, or remove the file",
                    );
                }
            }
            Err(error) => report(
                erasure,
                &ledger.with_extension("*"),
                Err(error.to_string()),
                "forget the addresses again",
            ),
        }
        self.is_index_stale = true;
        let compacted = self.compact_now();
        // An index of the ledger as it was would hold them, too.
        let renewed = compacted.clone().and_then(|()| self.renew_index());
        let index = self.index_root.clone();
        for (file, done) in [(ledger, compacted), (index, renewed)] {
            let done = done.map_err(|error| error.to_string());
            let way_out =
                "the next compaction drops them: `landing-api ledger compact`, or a restart";
            report(erasure, &file, done, way_out);
        }
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

/// The addresses that the ledger at `path` records as forgotten. A process did not end their erasure.
pub(super) fn forgotten(path: &Path) -> Result<HashSet<String>, Flaw> {
    let mut forgotten = HashSet::new();
    each_event(path, |_place, event, _json| {
        if let Event::ContactForgotten { email, .. } = event {
            forgotten.insert(email.clone());
        }
        Ok::<_, Flaw>(())
    })?;
    Ok(forgotten)
}

/// Blanks `forgotten` addresses in the files kept beside the ledger at `path`, at a start, which goes on
/// whatever becomes of it.
pub(super) fn blank_kept(path: &Path, forgotten: &HashSet<String>) {
    let blanked = blank(path, forgotten);
    let failed = match blanked {
        Ok(blanked) => blanked.into_iter().find_map(|(_, done)| done.err()),
        Err(error) => Some(error),
    };
    if let Some(error) = failed {
        tracing::warn!(
            %error,
            "a file that was kept beside the ledger may hold an address that was forgotten: remove it"
        );
    }
}

/// The hash of a forgotten address.
pub(super) fn hash(key: &MacKey, email: &EmailAddress) -> Hex<16> {
    Hex(email.tombstone(key))
}

pub(super) fn has_tombstone(draft: &mut Draft<'_>, address: &Hex<16>) -> Result<bool, IndexError> {
    Ok(draft.find(&Identity::tombstone(&address.0))?.is_some())
}

pub(super) fn remove_tombstone(draft: &mut Draft<'_>, address: &Hex<16>) -> Result<(), IndexError> {
    if has_tombstone(draft, address)? {
        let address = *address;
        draft.record(&Event::TombstoneRemoved { address })?;
    }
    Ok(())
}

/// Records that the address is forgotten, known or not, and returns whether there was a contact.
fn forget(
    draft: &mut Draft<'_>,
    tombstones: &MacKey,
    email: &EmailAddress,
    at: Timestamp,
) -> Result<bool, IndexError> {
    let was_known = draft.find(&Identity::contact(email.as_str()))?.is_some();
    draft.record(&Event::forgotten(email, at))?;
    let address = hash(tombstones, email);
    if !has_tombstone(draft, &address)? {
        draft.record(&Event::TombstoneSet { address, at })?;
    }
    Ok(was_known)
}
