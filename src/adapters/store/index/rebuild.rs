//! Making the index again from the ledger.

use std::path::Path;

use crate::adapters::sled_db;
use crate::adapters::store::ledger::{Flaw, Head, each_event};
use crate::domain::secret::MacKey;

use super::overlay::Overlay;
use super::sled_index::{Index, IndexError};
use super::{Meta, Tally};

/// How many events are held in memory before they are written. With more, rebuilding takes more
/// memory; with fewer, more time, because each time most buckets are written again.
const EVENTS_PER_WRITE: u64 = 500_000;

const EVENTS_PER_PROGRESS: u64 = 250_000;

/// Why there is no new index.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RebuildError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("ledger: {0}")]
    Ledger(#[from] Flaw),
}

/// Makes an index under `root` of the verified ledger at `path`, which holds `total` events.
pub(crate) fn rebuild(
    root: &Path,
    hash_key: &MacKey,
    path: &Path,
    head: &Head,
    total: u64,
) -> Result<(Index, Meta), RebuildError> {
    tracing::info!(index.events = total, "rebuilding the index from the ledger");
    let index = Index::fresh(root)?;
    match fill(&index, hash_key, path, head, total) {
        Ok(meta) => Ok((index, meta)),
        Err(error) => {
            // On a full disk each try would leave one more behind.
            let directory = index.directory().to_owned();
            index.abandon();
            if let Err(error) = sled_db::remove(&directory) {
                tracing::warn!(%error, "an index that could not be made cannot be removed");
            }
            Err(error)
        }
    }
}

/// Puts what the ledger at `path` records into an empty index.
fn fill(
    index: &Index,
    hash_key: &MacKey,
    path: &Path,
    head: &Head,
    total: u64,
) -> Result<Meta, RebuildError> {
    let mut meta = Meta {
        secret: head.secret.clone(),
        generation: head.generation,
        sequence: 0,
        tally: Tally::default(),
    };
    let mut overlay = Overlay::new(index, hash_key, meta.tally);
    each_event(path, |place, event| {
        overlay.apply(&event)?;
        meta.sequence = place;
        if place % EVENTS_PER_PROGRESS == 0 {
            tracing::info!(
                index.done = place,
                index.events = total,
                "rebuilding the index"
            );
        }
        if place % EVENTS_PER_WRITE == 0 {
            let (buckets, _tally) = overlay.take();
            index.write_all(&buckets)?;
        }
        Ok::<_, RebuildError>(())
    })?;
    let (buckets, tally) = overlay.take();
    meta.tally = tally;
    index.write_all(&buckets)?;
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    #[test]
    fn an_index_that_cannot_be_made_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let head = Head {
            format: 2,
            generation: 1,
            base: 0,
            secret: String::new(),
        };
        let hash_key = Secret::new([1; 32]).keys().index;
        let ledger = root.path().with_extension("missing");
        for _ in 0..3 {
            let rebuilt = rebuild(root.path(), &hash_key, &ledger, &head, 1);
            assert!(matches!(rebuilt, Err(RebuildError::Ledger(_))));
            assert_eq!(root.path().read_dir().unwrap().count(), 0);
        }
    }
}
