//! Contacts, keys and revoked tokens: an append-only ledger, with sled as its index.
//!
//! | Module | Does |
//! |---|---|
//! | `ledger` | the record: events, lines, and the file of them |
//! | `index` | look-ups over the ledger: in sled, and what changed lately in memory |
//! | `change` | what somebody asked for: decided, then answered |
//! | `draft` | a batch while it is decided |
//! | `committer` | the one writer: decides, records, indexes, answers |
//! | `desk` | where changes wait for it, and on whose thread it works |
//! | `open` | from what the last process left to all of these |
//! | `contacts`, `credentials` | the ports |
//!
//! What holds:
//! - A change is answered after its line stands in the ledger and was synced, in the ledger's file or
//!   in its journal, and never if it was not.
//! - The ledger is the record. Nothing in the index is ever needed to read or rewrite it: it lags
//!   behind in sled until a clean stop, and is trusted after one only.
//! - A position is a generation and a sequence number, never a place in a file.

mod change;
mod committer;
mod contacts;
mod credentials;
mod desk;
mod draft;
mod error;
mod index;
pub(super) mod ledger;
mod open;

pub use error::OpenError;
pub use ledger::{AppendFile, Files, SystemFiles};
pub use open::Tuning;

use std::fs::File;
use std::sync::Arc;

use crate::adapters::data_dir::DataDir;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use change::asked;
use committer::Shared;
use desk::Desk;
use draft::Draft;
use index::IndexError;

/// Contacts, keys and revoked tokens in a data directory.
#[derive(Debug)]
pub struct SledStore {
    desk: Arc<Desk>,
    shared: Arc<Shared>,
    hash_key: MacKey,
    /// Held until the committer is gone, which [`Drop`] waits for.
    _lock: Arc<File>,
}

impl SledStore {
    /// Opens the store: verifies every line of the ledger, makes the index again unless a clean
    /// stop left a good one, writes the ledger anew if it is of an earlier format or holds much that
    /// no longer counts at `now`, and starts the committer.
    ///
    /// # Errors
    /// [`OpenError`] when the ledger cannot be trusted or written.
    pub fn open(data_dir: &DataDir, now: Timestamp) -> Result<Self, OpenError> {
        Self::open_with(data_dir, now, Tuning::default())
    }

    /// Opens the store with other numbers or files than the usual ones.
    ///
    /// # Errors
    /// As [`SledStore::open`].
    pub fn open_with(
        data_dir: &DataDir,
        now: Timestamp,
        tuning: Tuning,
    ) -> Result<Self, OpenError> {
        open::open(data_dir, now, tuning)
    }

    /// Finishes the changes that wait and leaves a good index for the next start. Every call
    /// after the first does nothing. Without it, the next start makes the index again. It blocks
    /// for as long as the disk takes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the index cannot be left good. No change is lost then.
    pub fn close(&self) -> Result<(), StoreError> {
        self.desk.close().map_or(Ok(()), |committer| {
            committer
                .finish()
                .map_err(|error| StoreError::Unavailable(error.to_string()))
        })
    }

    /// Whether changes can be kept.
    async fn check_writes(&self) -> Result<(), StoreError> {
        if self.shared.is_sound() {
            return Ok(());
        }
        // The committer repairs what it can before it looks at any change, this empty one too.
        self.commit(|_draft| Ok(())).await
    }

    /// Has the committer decide a change, and waits until what it recorded is safe.
    async fn commit<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (change, answer) = asked(decide);
        self.desk.hand_in(change)?;
        match answer.await {
            Ok(outcome) => outcome,
            Err(_given_up) => Err(self.shared.unavailable()),
        }
    }

    /// Looks an entry up as it is after the last answered change.
    fn look_up<T>(
        &self,
        name: &[u8],
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let index = self.shared.index();
        let Some(index) = index.as_ref() else {
            // Its trouble is asked without holding the index: the committer holds them the other
            // way round.
            drop(index);
            return Err(self.shared.unavailable());
        };
        index
            .find(&self.hash_key, name, parse)
            .map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        drop(self.desk.close());
        self.shared.abandon_index();
    }
}

#[cfg(test)]
mod tests;
