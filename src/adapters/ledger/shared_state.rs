//! What readers share with the writer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::adapters::files::FileId;
use crate::adapters::mutex::lock;
use crate::ports::StoreError;

use super::index::{Credentials, Index, IndexError};
use super::record::{Event, Identity, Kept};

/// How often a failing store is logged.
const PAUSE_BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// Where look-ups are made, and whether changes can be kept.
#[derive(Default)]
pub(super) struct SharedState {
    state: RwLock<State>,
    outage: Mutex<Outage>,
}

#[derive(Default)]
struct State {
    lookups: Lookups,
    /// Why writes fail, if they do.
    trouble: Option<StoreError>,
    /// The ledger's file.
    file: Option<FileId>,
}

#[derive(Clone, Default)]
enum Lookups {
    /// The index has to be made again, or the store is closed.
    #[default]
    Nowhere,
    Index(Arc<Index>),
    /// No index can be made at the moment.
    Credentials(Arc<Credentials>),
}

/// What is logged of an outage.
#[derive(Default)]
struct Outage {
    /// Requests that failed since it was last logged.
    failures: u64,
    logged: Option<Instant>,
    /// It was logged, its end was not.
    is_announced: bool,
}

impl SharedState {
    /// Whether changes can be kept, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        let state = self.read();
        matches!(state.lookups, Lookups::Index(_)) && state.trouble.is_none()
    }

    /// The ledger's file.
    pub(super) fn file(&self) -> Option<FileId> {
        self.read().file
    }

    pub(super) fn set_file(&self, file: Option<FileId>) {
        self.write().file = file;
    }

    pub(super) fn index(&self) -> Option<Arc<Index>> {
        match &self.read().lookups {
            Lookups::Index(index) => Some(Arc::clone(index)),
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    pub(super) fn set_index(&self, index: Arc<Index>) {
        self.write().lookups = Lookups::Index(index);
    }

    pub(super) fn has_credentials(&self) -> bool {
        matches!(self.read().lookups, Lookups::Credentials(_))
    }

    /// Until there is an index, credentials are looked up here.
    pub(super) fn set_credentials(&self, credentials: Credentials) {
        self.write().lookups = Lookups::Credentials(Arc::new(credentials));
    }

    pub(super) fn take_index(&self) -> Option<Arc<Index>> {
        let mut state = self.write();
        match std::mem::take(&mut state.lookups) {
            Lookups::Index(index) => Some(index),
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    /// Gives the index up after it has failed.
    pub(super) fn give_index_up(&self, error: &IndexError) {
        tracing::error!(%error, "the index failed and has to be made again");
        self.abandon_index();
    }

    /// Gives the index up. It has to be made again.
    pub(super) fn abandon_index(&self) {
        let index = self.take_index();
        if let Some(index) = index {
            index.abandon();
        }
    }

    /// What is kept of `identity`. `None` if there is nowhere to look.
    pub(super) fn find(
        &self,
        identity: &Identity,
    ) -> Option<Result<Option<Kept<Event>>, IndexError>> {
        let lookups = self.read().lookups.clone();
        match lookups {
            Lookups::Index(index) => Some(index.find_events(identity)),
            Lookups::Credentials(credentials) if !identity.is_contact() => {
                Some(Ok(credentials.find(identity)))
            }
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    /// Notes why writes fail, or that they work.
    pub(super) fn set_trouble(&self, trouble: Option<StoreError>) {
        let is_displaced = |trouble: &Option<_>| matches!(trouble, Some(StoreError::Displaced(_)));
        let mut state = self.write();
        let before = std::mem::replace(&mut state.trouble, trouble);
        // A person has to act, and soon.
        if is_displaced(&state.trouble) && !is_displaced(&before) {
            tracing::error!(reason = ?state.trouble, "the store takes no writes");
        }
        drop(state);
        if before.is_some() && self.is_sound() {
            let mut outage = lock(&self.outage);
            if std::mem::take(&mut outage.is_announced) {
                let failures = std::mem::take(&mut outage.failures);
                tracing::info!(store.failures = failures, "the store works again");
            }
        }
    }

    /// Counts a request that failed for `error`, and logs that once a minute.
    pub(super) fn count_failure(&self, error: &StoreError) {
        let mut outage = lock(&self.outage);
        outage.failures += 1;
        let is_due = |logged: Instant| logged.elapsed() >= PAUSE_BETWEEN_WARNINGS;
        if outage.logged.is_none_or(is_due) {
            let failures = outage.failures;
            tracing::warn!(%error, store.failures = failures, "requests fail for the store");
            *outage = Outage {
                failures: 0,
                logged: Some(Instant::now()),
                is_announced: true,
            };
        }
    }

    /// The error when a change was given up or there is nowhere to look.
    pub(super) fn unavailable(&self) -> StoreError {
        let trouble = self.read().trouble.clone();
        trouble.unwrap_or_else(|| StoreError::Unavailable("the change was given up".to_owned()))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}
