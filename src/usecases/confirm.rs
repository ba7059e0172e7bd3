//! Confirming a sign-up by an emailed link. Its refusal is an unsubscribe ([`super::leave`]).

use std::net::IpAddr;

use crate::domain::{Confirming, ContactStatus, DeliveryKind, LeaveToken, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, StoreError};

use super::notices::Notices;

/// Confirms the contact with this token. Confirming twice has the same outcome twice.
///
/// Anybody may ask without a limit, so only a token that changes something reaches the store's queue.
pub async fn confirm(
    contacts: &dyn ContactStore,
    notices: Notices<'_>,
    metrics: &Metrics,
    token: &LeaveToken,
    ip: Option<IpAddr>,
    now: Timestamp,
) -> Result<Confirming, StoreError> {
    let Some(contact) = contacts.find_by_token(token).await? else {
        return Ok(Confirming::Unknown);
    };
    match contact.status() {
        ContactStatus::Subscribed => return Ok(Confirming::ConfirmedBefore),
        ContactStatus::Unsubscribed => return Ok(Confirming::Unknown),
        ContactStatus::Pending => {}
    }
    let notice = notices.of_contact(DeliveryKind::Confirmed, &contact, now);
    let confirming = contacts.confirm(token, ip, notice, now).await?;
    if confirming == Confirming::Confirmed {
        metrics.confirmations.given.increase();
    }
    Ok(confirming)
}
