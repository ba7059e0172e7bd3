//! Signing an address up by a plain form, which bots send as well as people.

use crate::domain::client::{Client, LimitKey, Subject};
use crate::domain::decision::Decision;
use crate::domain::email::EmailAddress;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::proof_of_work::{LIFETIME_MS, Proof};
use crate::domain::time::Timestamp;
use crate::ports::{Admission, Charge};

use super::meter::{ChargeError, Meter};
use super::subscribe::{Newsletter, SubscribeError, Subscribed, subscribe};

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// The network has to bring a proof of work, or wait.
    #[error("a proof of work is wanted")]
    ProofWanted(Decision),
    /// The proof of work was used before.
    #[error("a proof of work was used before")]
    ProofUsed,
    /// What fails for any sign-up.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

/// Signs `email` up. Without a proof the sign-up counts under the policy of forms, past which a proof is
/// wanted. A proof counts once, on all nodes that share their windows. Neither is used up by a sign-up that
/// fails.
///
/// # Errors
/// [`FormError`] when the address was neither stored nor forwarded.
pub async fn subscribe_by_form(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    email: EmailAddress,
    proof: Option<Proof>,
) -> Result<Subscribed, FormError> {
    let admission = match proof {
        Some(proof) => use_up(meter, proof, now).await?,
        None => count(meter, client, now).await?,
    };
    match subscribe(newsletter, meter, now, client, email).await {
        Ok(subscribed) => Ok(subscribed),
        Err(error) => {
            let refunded = meter.refund_all(admission).await;
            refunded.map_err(SubscribeError::from)?;
            Err(error.into())
        }
    }
}

/// Counts the sign-up under the policy of forms.
async fn count(meter: Meter<'_>, client: &Client, now: Timestamp) -> Result<Admission, FormError> {
    let end_site = Subject::Network(client.network.end_site());
    let subjects = [(PolicyName::NewsletterForm, end_site)];
    let charged = meter.charge(client.network, &subjects, now).await;
    charged.map_err(|error| match error {
        ChargeError::Refused(decision) => FormError::ProofWanted(decision),
        ChargeError::Limiter(_) => SubscribeError::from(error).into(),
    })
}

/// Counts the proof in a window of its own, which holds one, for as long as the proof is good.
async fn use_up(meter: Meter<'_>, proof: Proof, now: Timestamp) -> Result<Admission, FormError> {
    let policy = PolicyName::NewsletterForm;
    let Ok(quota) = Quota::new(1, LIFETIME_MS) else {
        return Err(FormError::ProofUsed);
    };
    let charge = Charge {
        policy,
        quota,
        key: LimitKey::tagged(policy, *proof.id()),
        group: None,
    };
    let admission = meter.acquire(&[charge], now).await;
    let admission = admission.map_err(|error| SubscribeError::from(ChargeError::from(error)))?;
    if admission.decision.is_refused() {
        return Err(FormError::ProofUsed);
    }
    Ok(admission)
}
