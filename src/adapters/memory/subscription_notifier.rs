//! A provider that remembers.

use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::contact::Notice;
use crate::ports::{NotifyError, SubscriptionNotifier};

use super::lock;

/// A provider that remembers what it was told. It can be told to fail.
#[derive(Debug, Default)]
pub struct ScriptedSubscriptionNotifier {
    told: Mutex<Vec<Notice>>,
    failure: Mutex<Option<NotifyError>>,
}

impl ScriptedSubscriptionNotifier {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<NotifyError>) {
        *lock(&self.failure) = failure;
    }

    /// The sign-ups it was told of, oldest first.
    #[must_use]
    pub fn told(&self) -> Vec<Notice> {
        lock(&self.told).clone()
    }
}

#[async_trait]
impl SubscriptionNotifier for ScriptedSubscriptionNotifier {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if let Some(failure) = lock(&self.failure).clone() {
            return Err(failure);
        }
        lock(&self.told).push(notice.clone());
        Ok(())
    }
}
