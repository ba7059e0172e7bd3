//! What readers share with the writer.

use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::adapters::files::FileId;
use crate::ports::StoreError;

use super::index::{CredentialMap, Index, IndexError};
use super::record::{Event, Identity, Kept};

/// The shortest time between two log lines about a failing store.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Where look-ups are answered from, and whether changes can be kept.
#[derive(Default)]
pub(super) struct SharedState {
    inner: RwLock<Inner>,
    outage: Mutex<Outage>,
}

#[derive(Default)]
struct Inner {
    lookups: Lookups,
    /// Why writes fail, if they do.
    write_error: Option<StoreError>,
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
    Credentials(Arc<CredentialMap>),
}

/// What is logged about an outage.
#[derive(Default)]
struct Outage {
    /// Requests that failed since the last log line.
    failures: u64,
    logged_at: Option<Instant>,
    /// Whether the outage was logged and its end was not.
    is_announced: bool,
}

impl SharedState {
    /// Whether changes can be kept, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        let inner = self.inner.read();
        matches!(inner.lookups, Lookups::Index(_)) && inner.write_error.is_none()
    }

    /// The ledger's file.
    pub(super) fn file(&self) -> Option<FileId> {
        self.inner.read().file
    }

    pub(super) fn set_file(&self, file: Option<FileId>) {
        self.inner.write().file = file;
    }

    pub(super) fn index(&self) -> Option<Arc<Index>> {
        match &self.inner.read().lookups {
            Lookups::Index(index) => Some(Arc::clone(index)),
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    pub(super) fn set_index(&self, index: Arc<Index>) {
        self.inner.write().lookups = Lookups::Index(index);
    }

    pub(super) fn has_credentials(&self) -> bool {
        matches!(self.inner.read().lookups, Lookups::Credentials(_))
    }

    /// Sets where credentials are looked up until there is an index.
    pub(super) fn set_credentials(&self, credentials: CredentialMap) {
        self.inner.write().lookups = Lookups::Credentials(Arc::new(credentials));
    }

    pub(super) fn take_index(&self) -> Option<Arc<Index>> {
        let mut inner = self.inner.write();
        match std::mem::take(&mut inner.lookups) {
            Lookups::Index(index) => Some(index),
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    /// Logs that the index failed, and abandons it.
    pub(super) fn fail_index(&self, error: &IndexError) {
        tracing::error!(%error, "the index failed and has to be made again");
        self.abandon_index();
    }

    /// Drops the index, which has to be built again.
    pub(super) fn abandon_index(&self) {
        let index = self.take_index();
        if let Some(index) = index {
            index.abandon();
        }
    }

    /// The kept events of `identity`. `None` if there is nowhere to look.
    pub(super) fn find(
        &self,
        identity: &Identity,
    ) -> Option<Result<Option<Kept<Event>>, IndexError>> {
        let lookups = self.inner.read().lookups.clone();
        match lookups {
            Lookups::Index(index) => Some(index.find_events(identity)),
            Lookups::Credentials(credentials) if identity.is_credential() => {
                Some(Ok(credentials.find(identity)))
            }
            Lookups::Nowhere | Lookups::Credentials(_) => None,
        }
    }

    /// Sets why writes fail, or that they work.
    pub(super) fn set_write_error(&self, write_error: Option<StoreError>) {
        let mut inner = self.inner.write();
        let before = std::mem::replace(&mut inner.write_error, write_error);
        // Logged at once, because the operator has to act.
        if let Some(reason @ StoreError::Displaced(_)) = &inner.write_error
            && !matches!(before, Some(StoreError::Displaced(_)))
        {
            tracing::error!(%reason, "the store takes no writes");
        }
        drop(inner);
        if before.is_some() && self.is_sound() {
            let mut outage = self.outage.lock();
            if std::mem::take(&mut outage.is_announced) {
                let failures = std::mem::take(&mut outage.failures);
                tracing::info!(store.failures = failures, "the store works again");
            }
        }
    }

    /// Counts a request that failed with `error`. Logs failures once a minute.
    pub(super) fn count_failure(&self, error: &StoreError) {
        let mut outage = self.outage.lock();
        outage.failures += 1;
        let is_due = |at: Instant| at.elapsed() >= WARNING_INTERVAL;
        if outage.logged_at.is_none_or(is_due) {
            let failures = outage.failures;
            tracing::warn!(%error, store.failures = failures, "requests fail for the store");
            *outage = Outage {
                failures: 0,
                logged_at: Some(Instant::now()),
                is_announced: true,
            };
        }
    }

    /// The error when a change was given up or there is nowhere to look.
    pub(super) fn unavailable(&self) -> StoreError {
        let write_error = self.inner.read().write_error.clone();
        write_error.unwrap_or_else(|| StoreError::Unavailable("the change was given up".to_owned()))
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}
