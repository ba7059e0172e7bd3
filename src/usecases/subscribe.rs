//! Signing an address up for the newsletter.

use crate::domain::client::{Client, Subject};
use crate::domain::contact::{Notice, Origin, RevealExisting, SignUp, Subscription};
use crate::domain::decision::Decision;
use crate::domain::email::EmailAddress;
use crate::domain::policy::PolicyName;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::{
    Admission, ContactStore, Entropy, EntropyError, NotifyError, StoreError, SubscriptionNotifier,
};

use super::meter::{ChargeError, Meter};

/// Where sign-ups go, with the ports this needs.
#[derive(Clone, Copy)]
pub enum Newsletter<'a> {
    /// Contacts are stored by this service.
    Contacts {
        /// The store.
        contacts: &'a dyn ContactStore,
        /// Which clients learn that an address was signed up before.
        reveal: RevealExisting,
        /// Hashes the origin of a sign-up.
        origin_key: &'a MacKey,
    },
    /// Sign-ups are forwarded to a provider; no contact is stored.
    Provider {
        /// The provider's webhook.
        notifier: &'a dyn SubscriptionNotifier,
        /// Generates the ids of notices.
        entropy: &'a dyn Entropy,
    },
}

impl std::fmt::Debug for Newsletter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Contacts { .. } => "Newsletter::Contacts(..)",
            Self::Provider { .. } => "Newsletter::Provider(..)",
        })
    }
}

/// The address is signed up.
#[derive(Debug)]
pub struct Subscribed {
    /// How the sign-up was handled.
    pub outcome: Outcome,
    /// The standing of the newsletter's policies.
    pub decision: Decision,
}

/// How a sign-up was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The contact is stored by this service.
    Kept {
        /// Whether the address was signed up before, as far as this client may know.
        already_exists: Option<bool>,
    },
    /// The provider accepted it.
    PassedOn,
}

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// Too many sign-ups, or the limiter cannot decide.
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// The contact could not be stored. Every charge was refunded.
    #[error("{1}")]
    Store(Decision, StoreError),
    /// The provider did not accept it. The charges to `newsletter` and `newsletter-all` were refunded.
    /// The one to `newsletter-ip` was not ([`Meter::refund`]), so it bounds how often a client can retry.
    #[error("{1}")]
    Provider(Decision, NotifyError),
    /// No random bytes for the notice's id.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// Signs `email` up. The work and the time taken do not depend on whether it was signed up before.
///
/// # Errors
/// [`SubscribeError`] when the address was neither stored nor forwarded.
pub async fn subscribe(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    email: EmailAddress,
) -> Result<Subscribed, SubscribeError> {
    let subjects = [
        (
            PolicyName::Newsletter,
            Subject::SignUp(client.network, &email),
        ),
        (
            PolicyName::NewsletterIp,
            Subject::Network(client.network.end_site()),
        ),
        (PolicyName::NewsletterAll, Subject::Everyone),
    ];
    let admission = meter.charge(client.network, &subjects, now).await?;
    match newsletter {
        Newsletter::Contacts {
            contacts,
            reveal: rule,
            origin_key,
        } => {
            let sign_up = SignUp {
                email,
                origin: origin(origin_key, client),
                at: now,
            };
            keep(contacts, rule, client, sign_up, meter, admission).await
        }
        Newsletter::Provider { notifier, entropy } => {
            let mut id = [0; 16];
            entropy.fill(&mut id)?;
            let notice = Notice { id, email, at: now };
            pass_on(notifier, meter, &notice, admission).await
        }
    }
}

/// Keeps the sign-up as a contact, and refunds it if that fails.
async fn keep(
    contacts: &dyn ContactStore,
    rule: RevealExisting,
    client: &Client,
    sign_up: SignUp,
    meter: Meter<'_>,
    admission: Admission,
) -> Result<Subscribed, SubscribeError> {
    match contacts.subscribe(sign_up).await {
        Ok(subscription) => {
            match subscription {
                Subscription::Created => meter.metrics.sign_ups.increase(),
                Subscription::Renewed { .. } => meter.metrics.renewals.increase(),
            }
            Ok(Subscribed {
                outcome: Outcome::Kept {
                    already_exists: reveal(rule, client, subscription),
                },
                decision: admission.decision,
            })
        }
        Err(error) => {
            let decision = meter.refund_all(admission).await?;
            Err(SubscribeError::Store(decision, error))
        }
    }
}

/// Passes the sign-up on to the provider, and refunds it if that fails.
async fn pass_on(
    notifier: &dyn SubscriptionNotifier,
    meter: Meter<'_>,
    notice: &Notice,
    admission: Admission,
) -> Result<Subscribed, SubscribeError> {
    let notified = notifier.notify(notice).await;
    let webhook = &meter.metrics.webhook;
    match &notified {
        Ok(()) => webhook.delivered.increase(),
        Err(NotifyError::Failed(_)) => webhook.failed.increase(),
        Err(NotifyError::Overloaded) => webhook.overloaded.increase(),
    }
    match notified {
        Ok(()) => Ok(Subscribed {
            outcome: Outcome::PassedOn,
            decision: admission.decision,
        }),
        Err(error) => {
            let decision = meter.refund(admission).await?;
            Err(SubscribeError::Provider(decision, error))
        }
    }
}

fn origin(key: &MacKey, client: &Client) -> Origin {
    let mut network = client.network.hashed(key);
    if client.may_be_shared {
        // A client in the proxy's own network is not the same as a client behind the proxy.
        network = key.hash16(&[b"behind a proxy", &network]);
    }
    let credential = client.credential.as_ref();
    Origin {
        network: network.into(),
        credential: credential.map(|it| Subject::Credential(it).hashed(key).into()),
    }
}

fn reveal(rule: RevealExisting, client: &Client, subscription: Subscription) -> Option<bool> {
    if client.may_be_shared {
        return None;
    }
    match (rule, subscription) {
        (RevealExisting::Never, _) => None,
        (_, Subscription::Created) => Some(false),
        (RevealExisting::Always, Subscription::Renewed { .. }) => Some(true),
        (RevealExisting::SameClient, Subscription::Renewed { by_same_client }) => {
            Some(by_same_client)
        }
    }
}
