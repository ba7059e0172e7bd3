//! A program that records what it is told.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{DeliveryId, DeliveryKind, Failure};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::WebhookSender;

use super::lock;

/// Takes every message, but for those that it was told to answer otherwise.
#[derive(Debug, Default)]
pub(crate) struct ScriptedWebhookSender {
    taken: Mutex<Vec<(DeliveryId, String)>>,
    errors: Mutex<VecDeque<Failure>>,
}

impl ScriptedWebhookSender {
    /// Answers the next messages with these errors.
    pub(crate) fn fail_with(&self, errors: impl IntoIterator<Item = Failure>) {
        lock(&self.errors).extend(errors);
    }

    /// What it took so far, oldest first.
    pub(crate) fn taken(&self) -> Vec<(DeliveryId, String)> {
        lock(&self.taken).clone()
    }
}

#[async_trait]
impl WebhookSender for ScriptedWebhookSender {
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String {
        let email = email.map_or("somebody", EmailAddress::as_str);
        format!("{} {email} {token} {}", kind.as_str(), at.as_ms())
    }

    async fn send(&self, id: DeliveryId, body: &str, _now: Timestamp) -> Result<(), Failure> {
        if let Some(error) = lock(&self.errors).pop_front() {
            return Err(error);
        }
        lock(&self.taken).push((id, body.to_owned()));
        Ok(())
    }
}
