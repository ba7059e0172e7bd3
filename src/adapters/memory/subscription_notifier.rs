//! A provider that records the sign-ups.

use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::contact::Notice;
use crate::ports::{NotifyError, SubscriptionNotifier};

use super::lock;

/// Records the sign-ups; can be made to fail.
#[derive(Debug, Default)]
pub struct ScriptedSubscriptionNotifier {
    told: Mutex<Vec<Notice>>,
    failure: Mutex<Option<NotifyError>>,
}

impl ScriptedSubscriptionNotifier {
    /// Makes every further call fail with `failure`, or succeed again.
    pub fn fail_with(&self, failure: Option<NotifyError>) {
        *lock(&self.failure) = failure;
    }

    /// The sign-ups so far, oldest first.
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
