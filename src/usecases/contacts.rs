//! What the operator does with contacts.

use futures_util::StreamExt as _;

use crate::domain::contact::{ImportOutcome, ImportedContact};
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, StoreError};

/// How many rows an import should hand over at a time. Each change is durable as a whole, and sign-ups wait
/// for it, about a second. With 5,000 rows a million takes four times as long.
pub const IMPORT_ROWS: usize = 100_000;

/// How many contacts were first signed up from `since` on and before `until`.
///
/// # Errors
/// [`StoreError`] when the store cannot be read.
pub async fn count(
    contacts: &dyn ContactStore,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<u64, StoreError> {
    let mut pages = contacts.list(since, until).await?;
    let mut count = 0;
    while let Some(page) = pages.next().await {
        count += page?.len() as u64;
    }
    Ok(count)
}

/// What an import has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Contacts that are new.
    pub created: u64,
    /// Contacts that were there, which were left as they are.
    pub known: u64,
    /// Addresses that were erased on request, which were left out.
    pub forgotten: u64,
}

/// Adds contacts from elsewhere, at most [`IMPORT_ROWS`] at a time, and counts them in `imported`. Importing
/// the same rows again changes nothing. Forgotten addresses are left out, unless `unforget`.
///
/// # Errors
/// [`StoreError`] when none of these rows was added. What `imported` counts stays added.
pub async fn import(
    contacts: &dyn ContactStore,
    rows: Vec<ImportedContact>,
    unforget: bool,
    imported: &mut Imported,
) -> Result<(), StoreError> {
    for outcome in contacts.import(rows, unforget).await? {
        let counted = match outcome {
            ImportOutcome::Created => &mut imported.created,
            ImportOutcome::Known => &mut imported.known,
            ImportOutcome::Forgotten => &mut imported.forgotten,
        };
        *counted += 1;
    }
    Ok(())
}
