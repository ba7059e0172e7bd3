//! Confirming a sign-up by an emailed link. Its refusal is an unsubscribe ([`super::leave`]).

use std::net::IpAddr;

use crate::domain::{Contact, DeliveryKind, LeaveToken, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError, WebhookSender};

use super::notices::notice_of;

/// Confirms the contact with this token. Returns whether it was unconfirmed.
///
/// Anybody may ask without a limit, so only a token that changes something reaches the store's queue.
pub async fn confirm(
    contacts: &dyn ContactStore,
    webhook: Option<&dyn WebhookSender>,
    metrics: &Metrics,
    (token, contact): (&LeaveToken, &Contact),
    ip: Option<IpAddr>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let notice = notice_of(webhook, DeliveryKind::Confirmed, contact, now);
    let is_new = contact.is_pending() && contacts.confirm(token, ip, notice, now).await?;
    if is_new {
        metrics.confirmations.given.increase();
    }
    Ok(is_new)
}
