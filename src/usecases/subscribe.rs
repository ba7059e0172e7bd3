//! Signing an address up for the newsletter.

use crate::domain::client::{Client, Subject};
use crate::domain::contact::{Origin, RevealExisting, SignUp, Subscription};
use crate::domain::decision::Decision;
use crate::domain::email::EmailAddress;
use crate::domain::policy::PolicyName;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, LimiterError, StoreError};

use super::meter::Meter;

/// What the newsletter works with.
#[derive(Clone, Copy)]
pub struct Newsletter<'a> {
    /// Keeps the contacts.
    pub contacts: &'a dyn ContactStore,
    /// Who is told that an address was there already.
    pub reveal: RevealExisting,
    /// Hides who signed a contact up.
    pub origin_key: &'a MacKey,
}

impl std::fmt::Debug for Newsletter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Newsletter")
            .field("reveal", &self.reveal)
            .finish_non_exhaustive()
    }
}

/// The address is signed up.
#[derive(Debug)]
pub struct Subscribed {
    /// Whether it was there already, for a client that may know.
    pub already_exists: Option<bool>,
    /// How the newsletter's policies stand.
    pub decision: Decision,
}

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// Too many sign-ups.
    #[error("rate limited")]
    Refused(Decision),
    /// The contact could not be kept. The charge stays: the attempt cost the same.
    #[error("{1}")]
    Store(Decision, StoreError),
    /// The limiter cannot decide.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
}

/// Signs `email` up. The same work is done, and the same time taken, whether or not it was there.
///
/// # Errors
/// [`SubscribeError`] when the address was not kept.
pub async fn subscribe(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    email: EmailAddress,
) -> Result<Subscribed, SubscribeError> {
    let charges = meter.charges(
        client.network,
        &[
            (
                PolicyName::Newsletter,
                Subject::SignUp(client.network, &email),
            ),
            (PolicyName::NewsletterIp, Subject::Network(client.network)),
        ],
    );
    let decision = meter.limiter.acquire(&charges, now).await?.decision;
    if decision.is_refused() {
        return Err(SubscribeError::Refused(decision));
    }
    let origin = origin(newsletter.origin_key, client);
    let sign_up = SignUp {
        email,
        origin,
        at: now,
    };
    match newsletter.contacts.subscribe(sign_up).await {
        Ok(subscription) => Ok(Subscribed {
            already_exists: reveal(newsletter.reveal, client, &origin, subscription),
            decision,
        }),
        Err(error) => Err(SubscribeError::Store(decision, error)),
    }
}

fn origin(key: &MacKey, client: &Client) -> Origin {
    Origin {
        network: client.network.hashed(key),
        credential: client
            .credential
            .map(|fingerprint| key.hash16(&[b"credential", fingerprint.as_bytes()])),
    }
}

fn reveal(
    rule: RevealExisting,
    client: &Client,
    origin: &Origin,
    subscription: Subscription,
) -> Option<bool> {
    if client.forwarding_untrusted {
        return None;
    }
    match (rule, subscription) {
        (RevealExisting::Never, _) => None,
        (_, Subscription::Created) => Some(false),
        (RevealExisting::Always, Subscription::Renewed(_)) => Some(true),
        (RevealExisting::SameClient, Subscription::Renewed(first)) => {
            first.is_shared_with(origin).then_some(true)
        }
    }
}
