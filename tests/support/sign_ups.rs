//! A provider that records the sign-ups.

use std::sync::Mutex;

use async_trait::async_trait;
use landing_api::domain::contact::SignUp;
use landing_api::ports::{NotifyError, SignUps};

use super::lock;

/// Records the sign-ups; can be made to fail.
#[derive(Debug, Default)]
pub(crate) struct ScriptedSignUps {
    taken: Mutex<Vec<SignUp>>,
    failure: Mutex<Option<NotifyError>>,
}

impl ScriptedSignUps {
    /// Makes every further call fail with `failure`, or succeed again.
    pub(crate) fn fail_with(&self, failure: Option<NotifyError>) {
        *lock(&self.failure) = failure;
    }

    /// The sign-ups so far, oldest first.
    pub(crate) fn taken(&self) -> Vec<SignUp> {
        lock(&self.taken).clone()
    }
}

#[async_trait]
impl SignUps for ScriptedSignUps {
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError> {
        if let Some(failure) = lock(&self.failure).clone() {
            return Err(failure);
        }
        lock(&self.taken).push(sign_up);
        Ok(())
    }
}
