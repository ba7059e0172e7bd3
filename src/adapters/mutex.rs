//! Locking without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic in one of its critical sections. Each of them changes the value
/// in one step, or can be repeated.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
