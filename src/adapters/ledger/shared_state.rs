//! What readers share with the writer.

use std::fmt;
use std::mem::discriminant;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::adapters::files::FileId;
use crate::ports::StoreError;

use super::index::Index;

/// The index, and whether changes can be kept.
#[derive(Default)]
pub(super) struct SharedState(RwLock<Inner>);

#[derive(Default)]
struct Inner {
    /// `None` while it has to be made again, and after the close.
    index: Option<Arc<Index>>,
    /// Why writes fail, if they do.
    trouble: Option<StoreError>,
    /// The ledger's file.
    file: Option<FileId>,
}

impl SharedState {
    /// Whether changes can be kept, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        let inner = self.read();
        inner.index.is_some() && inner.trouble.is_none()
    }

    /// The ledger's file.
    pub(super) fn file(&self) -> Option<FileId> {
        self.read().file
    }

    pub(super) fn set_file(&self, file: Option<FileId>) {
        self.write().file = file;
    }

    pub(super) fn index(&self) -> Option<Arc<Index>> {
        self.read().index.clone()
    }

    pub(super) fn set_index(&self, index: Arc<Index>) {
        self.write().index = Some(index);
    }

    pub(super) fn take_index(&self) -> Option<Arc<Index>> {
        self.write().index.take()
    }

    /// Gives the index up. It has to be made again.
    pub(super) fn abandon_index(&self) {
        let index = self.take_index();
        if let Some(index) = index {
            index.abandon();
        }
    }

    /// Notes why writes fail, or that they work, and logs when the kind of trouble changes.
    pub(super) fn set_trouble(&self, trouble: Option<StoreError>) {
        let mut inner = self.write();
        if inner.trouble.as_ref().map(discriminant) != trouble.as_ref().map(discriminant) {
            match &trouble {
                Some(reason) => tracing::error!(%reason, "the store takes no writes"),
                None => tracing::info!("the store takes writes again"),
            }
        }
        inner.trouble = trouble;
    }

    /// The error when a change was given up or a look-up has no index.
    pub(super) fn unavailable(&self) -> StoreError {
        let trouble = self.read().trouble.clone();
        trouble.unwrap_or_else(|| StoreError::Unavailable("the change was given up".to_owned()))
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}
