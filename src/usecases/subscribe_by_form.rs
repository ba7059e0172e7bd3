//! Signing an address up by a plain form, which bots send as well as people.

use crate::domain::{
    Client, Decision, EmailAddress, LimitKey, PolicyName, Proof, Quota, Subject, Timestamp,
};
use crate::ports::{Admission, Charge};

use super::meter::{ChargeError, Meter};
use super::subscribe::{Evidence, Newsletter, SubscribeError, Subscribed, subscribe};

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeByFormError {
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

/// What a form is charged beside what every sign-up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormCharge {
    /// Nothing: forms are not checked.
    Nothing,
    /// It counts under the policy of forms, past which a proof of work is wanted.
    Count,
    /// Its proof of work, which counts once, on all nodes that share their windows.
    Proof(Proof),
}

impl FormCharge {
    /// The charge of a form that brings this `proof`.
    pub fn of(checks_forms: bool, proof: Option<Proof>) -> Self {
        match proof {
            _ if !checks_forms => Self::Nothing,
            Some(proof) => Self::Proof(proof),
            None => Self::Count,
        }
    }
}

/// Signs `email` up. A sign-up that fails gives back what the form was charged.
pub async fn subscribe_by_form(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    email: EmailAddress,
    evidence: Evidence,
    charge: FormCharge,
) -> Result<Subscribed, SubscribeByFormError> {
    let admission = match charge {
        FormCharge::Nothing => None,
        FormCharge::Count => Some(count(meter, client, now).await?),
        FormCharge::Proof(proof) => Some(use_up(meter, proof, now).await?),
    };
    match subscribe(newsletter, meter, now, client, email, evidence).await {
        Ok(subscribed) => Ok(subscribed),
        Err(error) => {
            if let Some(admission) = admission {
                meter.refund_all(admission).await;
            }
            Err(error.into())
        }
    }
}

/// Counts the sign-up under the policy of forms.
async fn count(
    meter: Meter<'_>,
    client: &Client,
    now: Timestamp,
) -> Result<Admission, SubscribeByFormError> {
    let by_network = Subject::Network(client.network);
    let subjects = [(PolicyName::NewsletterForm, by_network)];
    let charged = meter.charge(client.network, &subjects, now).await;
    charged.map_err(|error| match error {
        ChargeError::Refused(decision) => SubscribeByFormError::ProofWanted(decision),
        ChargeError::Limiter(_) => SubscribeError::from(error).into(),
    })
}

/// Counts the proof in a window of its own.
async fn use_up(
    meter: Meter<'_>,
    proof: Proof,
    now: Timestamp,
) -> Result<Admission, SubscribeByFormError> {
    let charge = Charge {
        policy: PolicyName::NewsletterForm,
        quota: Quota::PROOF,
        key: LimitKey::of_proof(&proof),
        group: None,
    };
    let admission = meter.acquire(&[charge], now).await;
    let admission = admission.map_err(|error| SubscribeError::from(ChargeError::from(error)))?;
    if admission.decision.is_refused() {
        return Err(SubscribeByFormError::ProofUsed);
    }
    Ok(admission)
}
