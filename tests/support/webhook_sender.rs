//! A program that records what it is told.

use async_trait::async_trait;
use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{DeliveryId, DeliveryKind, Failure};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::WebhookSender;

use super::record::Record;

pub(crate) type ScriptedWebhookSender = Record<(DeliveryId, String), Failure>;

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
        self.take((id, body.to_owned()))
    }
}
