//! What was sent.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::lock;

/// Takes everything, but for what it was told to answer otherwise.
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
    /// Answers what comes next with these errors.
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
