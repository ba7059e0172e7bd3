//! [`SignUps`] over the operator's webhook, while the visitor waits.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::adapters::outbound::refusal_in_words;
use crate::domain::{DeliveryId, DeliveryKind, SignUp};
use crate::ports::{Entropy, NotifyError, SignUps, random};

use super::client::{CONNECTIONS_MAX, PostError, WebhookClient, message};

/// Deadline of a sign-up: waiting for a connection, DNS, TCP, TLS and the response.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Sign-ups that are posted or wait for a connection; more are refused at once.
const ACCEPTED_MAX: usize = 256;

/// Posts sign-ups.
pub struct WebhookNotifier {
    webhook: WebhookClient,
    accepted: Semaphore,
    posted: Semaphore,
    /// Generates the ids by which the provider recognises a repetition.
    entropy: Arc<dyn Entropy>,
}

impl WebhookNotifier {
    /// Posts through `webhook`.
    pub fn new(webhook: WebhookClient, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            webhook,
            accepted: Semaphore::new(ACCEPTED_MAX),
            posted: Semaphore::new(CONNECTIONS_MAX),
            entropy,
        }
    }

    async fn post(&self, sign_up: &SignUp) -> Result<(), NotifyError> {
        let id = random(&*self.entropy).map_err(|error| failed(&error))?;
        let id = DeliveryId::from_bytes(id).to_string();
        let data = json!({ "email": sign_up.email.as_str() });
        let body = message(DeliveryKind::Subscribed, sign_up.at, &data);
        let posted = self.webhook.post(&id, body, sign_up.at, DEADLINE).await;
        let (status, headers) = posted.map_err(|error| match error {
            PostError::Failed(error) => failed(&error),
            PostError::Stopped => failed(&"interrupted because the service is stopping"),
        })?;
        match status.is_success() {
            true => Ok(()),
            false => Err(failed(&refusal_in_words(status, &headers))),
        }
    }
}

fn failed(why: &dyn Display) -> NotifyError {
    NotifyError::Failed(why.to_string())
}

#[async_trait]
impl SignUps for WebhookNotifier {
    /// The provider may have received a sign-up that timed out or was interrupted, and gets it again when the
    /// visitor retries.
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError> {
        let Ok(_accepted) = self.accepted.try_acquire() else {
            return Err(NotifyError::Overloaded);
        };
        let posted = timeout(DEADLINE, async {
            // The semaphore is never closed, so `acquire` does not fail.
            let _permit = self.posted.acquire().await;
            self.post(&sign_up).await
        });
        posted.await.unwrap_or_else(|_elapsed| {
            let seconds = DEADLINE.as_secs();
            Err(failed(&format!("no response within {seconds} seconds")))
        })
    }
}
