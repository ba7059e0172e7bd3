//! Fault injection.

use std::sync::{Mutex, MutexGuard};

use landing_api::ports::StoreError;

use super::lock;

/// The data of a store that can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct Faulty<T> {
    kept: Mutex<T>,
    failure: Mutex<Option<StoreError>>,
}

impl<T> Faulty<T> {
    /// From now on every call fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        *lock(&self.failure) = failure;
    }

    pub(super) fn fault(&self) -> Result<(), StoreError> {
        lock(&self.failure).clone().map_or(Ok(()), Err)
    }

    /// The data, or the failure that was set.
    pub(super) fn get(&self) -> Result<MutexGuard<'_, T>, StoreError> {
        self.fault().map(|()| self.kept())
    }

    /// The data, even while calls fail.
    pub(super) fn kept(&self) -> MutexGuard<'_, T> {
        lock(&self.kept)
    }
}
