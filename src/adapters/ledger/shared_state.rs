//! What readers share with the writer.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    trouble: Option<String>,
}

impl SharedState {
    /// Whether changes can be kept, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        let inner = self.read();
        inner.index.is_some() && inner.trouble.is_none()
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

    /// Notes why writes fail, or that they work, and logs when that changes.
    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        let mut inner = self.write();
        match (&inner.trouble, &trouble) {
            (None, Some(reason)) => tracing::error!(reason, "the store takes no writes"),
            (Some(_), None) => tracing::info!("the store takes writes again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        inner.trouble = trouble;
    }

    /// The error when a change was given up or a look-up has no index.
    pub(super) fn unavailable(&self) -> StoreError {
        let trouble = self.read().trouble.clone();
        StoreError::Unavailable(trouble.unwrap_or_else(|| "the change was given up".to_owned()))
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
