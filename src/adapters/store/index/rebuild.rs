//! Making the index again from the ledger.

use std::path::Path;

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
    let mut meta = Meta {
        secret: head.secret.clone(),
        generation: head.generation,
        sequence: 0,
        tally: Tally::default(),
    };
    let mut overlay = Overlay::new(&index, hash_key, meta.tally);
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
            index.write(&buckets)?;
        }
        Ok::<_, RebuildError>(())
    })?;
    let (buckets, tally) = overlay.take();
    meta.tally = tally;
    index.write(&buckets)?;
    Ok((index, meta))
}
