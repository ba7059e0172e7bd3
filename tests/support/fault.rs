//! Fault injection.

use std::sync::Mutex;

use landing_api::ports::StoreError;

use super::lock;

/// The error that a store should return, if any.
#[derive(Debug, Default)]
pub(super) struct Fault(Mutex<Option<StoreError>>);

impl Fault {
    pub(super) fn set(&self, failure: Option<StoreError>) {
        *lock(&self.0) = failure;
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        lock(&self.0).clone().map_or(Ok(()), Err)
    }
}
