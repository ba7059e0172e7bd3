//! Making the index from the record.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::ledger::record::{Entry, Flaw, Ledger, each_event};
use crate::adapters::sled_db::remove;
use crate::domain::secret::MacKey;
use crate::ports::StoreError;

use super::sled_index::{Index, IndexError, wipe};

/// How many bytes of events are held, in some 120 MiB of memory, before they are folded into the index
/// in the order of its buckets: half a million short ones. With fewer, each bucket is written more often.
const BYTES_MAX: usize = 64 * 1024 * 1024;

const EVENTS_PER_PROGRESS: u64 = 250_000;

/// Why there is no new index.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RebuildError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("ledger: {0}")]
    Ledger(#[from] Flaw),
}

impl From<&RebuildError> for StoreError {
    fn from(error: &RebuildError) -> Self {
        match error {
            RebuildError::Index(error) => error.clone().into(),
            RebuildError::Ledger(_) => Self::Unavailable(error.to_string()),
        }
    }
}

/// Builds an index of `ledger` under `root`, in a new directory, and removes all others. After an error
/// none is left: indexes take space, and may be what fills the disk.
pub(crate) fn rebuild(
    root: &Path,
    hash_key: &MacKey,
    ledger: &Ledger,
) -> Result<Arc<Index>, RebuildError> {
    let total = ledger.sequence();
    // A new ledger has nothing to tell of.
    if total > 0 {
        tracing::info!(index.events = total, "rebuilding the index from the ledger");
    }
    let made = Index::create(root, hash_key).map_err(RebuildError::from);
    let made = made.and_then(|index| {
        let filled = wipe(root, Some(index.directory()))
            .map_err(|error| IndexError::from(error).into())
            .and_then(|()| fill(&index, ledger.path(), total));
        match filled {
            Ok(()) => Ok(index),
            Err(error) => {
                index.abandon();
                Err(error)
            }
        }
    });
    if made.is_err()
        && let Err(error) = wipe(root, None)
    {
        tracing::warn!(%error, "an index that could not be made cannot be removed");
    }
    made
}

/// Builds an index of `ledger` under `root`, in a new directory beside the present one. After an error it
/// is removed again.
pub(crate) fn renew(
    root: &Path,
    hash_key: &MacKey,
    ledger: &Ledger,
) -> Result<Arc<Index>, RebuildError> {
    let index = Index::create(root, hash_key)?;
    match fill(&index, ledger.path(), ledger.sequence()) {
        Ok(()) => Ok(index),
        Err(error) => {
            let directory = index.directory().to_path_buf();
            index.abandon();
            if let Err(error) = remove(&directory) {
                tracing::warn!(%error, "an index that could not be made cannot be removed");
            }
            Err(error)
        }
    }
}

fn fill(index: &Index, path: &Path, total: u64) -> Result<(), RebuildError> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    each_event(path, |place, event, json| {
        entries.push(Entry::recorded(event, json));
        bytes += json.len();
        if place % EVENTS_PER_PROGRESS == 0 {
            tracing::info!(
                index.done = place,
                index.events = total,
                "rebuilding the index"
            );
        }
        if bytes >= BYTES_MAX {
            index.apply(std::mem::take(&mut entries))?;
            bytes = 0;
        }
        Ok::<_, RebuildError>(())
    })?;
    Ok(index.apply(entries)?)
}
