//! Records what a sender was asked to send.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::lock;

/// Accepts everything, except that it first returns the errors it was given.
#[derive(Debug)]
pub(crate) struct Record<T, E> {
    taken: Mutex<Vec<T>>,
    errors: Mutex<VecDeque<E>>,
}

impl<T, E> Default for Record<T, E> {
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            errors: Mutex::default(),
        }
    }
}

impl<T: Clone, E> Record<T, E> {
    /// Fails the next calls with these errors.
    pub(crate) fn fail_with(&self, errors: impl IntoIterator<Item = E>) {
        lock(&self.errors).extend(errors);
    }

    /// What it took so far, oldest first.
    pub(crate) fn taken(&self) -> Vec<T> {
        lock(&self.taken).clone()
    }

    pub(super) fn take(&self, sent: T) -> Result<(), E> {
        lock(&self.errors).pop_front().map_or(Ok(()), Err)?;
        lock(&self.taken).push(sent);
        Ok(())
    }
}
