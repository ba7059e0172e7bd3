//! Signing up an address for the newsletter; the newsletter's ports, and the events about its contacts.

use crate::domain::{
    Client, Consent, Contact, Decision, Delivery, DeliveryId, DeliveryKind, EmailAddress, Failure,
    LeaveToken, MacKey, Origin, OriginHash, PolicyName, SignUp, Subject, Subscription, Timestamp,
};
use crate::metrics::Metrics;
use crate::ports::{ContactStore, Entropy, LimiterError, StoreError, WebhookSender, random};

use super::meter::{ChargeError, Meter};
use super::opt_in::OptIn;

/// The ports and settings of the newsletter.
#[derive(Clone, Copy)]
pub struct Newsletter<'a> {
    /// Counts sign-ups.
    pub meter: Meter<'a>,
    pub contacts: &'a dyn ContactStore,
    /// The provider that sign-ups are posted to instead of being stored, if any.
    pub provider: Option<&'a dyn WebhookSender>,
    /// Hashes the origin of a sign-up.
    pub origin_key: &'a MacKey,
    /// Random bytes for unsubscribe tokens.
    pub entropy: &'a dyn Entropy,
    /// The operator's webhook, notified of sign-ups, if any.
    pub webhook: Option<&'a dyn WebhookSender>,
    /// Asks contacts to confirm, if required.
    pub opt_in: Option<OptIn<'a>>,
}

impl Newsletter<'_> {
    /// The event for the contact with this address and token; `None` without a webhook. The event of an erasure
    /// has the token alone.
    pub(super) fn notice(
        &self,
        kind: DeliveryKind,
        email: &EmailAddress,
        token: &LeaveToken,
        now: Timestamp,
    ) -> Option<Delivery> {
        let email = (kind != DeliveryKind::Erased).then_some(email);
        let body = self.webhook?.write(kind, email, token, now);
        let id = DeliveryId::new(kind, token, now);
        Some(Delivery::new(id, kind, email.cloned(), body, now))
    }
}

/// Evidence of a sign-up, as claimed by the client.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub consent: Consent,
    /// Wording on the page, if it is one of this service: the text of the consent's digest.
    pub text: Option<String>,
}

#[derive(Debug)]
pub struct Subscribed {
    /// True if the provider has accepted it, or the operator's webhook will be notified; false if it is only stored.
    pub is_notified: bool,
    /// True if the address was signed up before, as far as this client may know.
    pub already_exists: Option<bool>,
    /// The standing of the newsletter's policies.
    pub decision: Decision,
}

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// Every charge was refunded, except `newsletter-ip` if the provider failed ([`Meter::refund`]): so it bounds
    /// how often a client can retry.
    #[error("{1}")]
    Failed(Decision, SignUpFailure),
}

/// The fault behind a sign-up that was charged, but is not stored.
#[derive(Debug, thiserror::Error)]
pub enum SignUpFailure {
    /// The limiter can't decide if the contact may be asked to confirm.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The text is for the log, never for a client, and contains no address.
    #[error("provider failed: {0}")]
    Provider(String),
}

/// Signs up `email`. The work and the time taken don't depend on earlier sign-ups of the address.
pub async fn subscribe(
    newsletter: Newsletter<'_>,
    client: &Client,
    email: EmailAddress,
    evidence: Evidence,
) -> Result<Subscribed, SubscribeError> {
    let (meter, network) = (newsletter.meter, client.network);
    let subjects = [
        (PolicyName::Newsletter, Subject::SignUp(network, &email)),
        (PolicyName::NewsletterIp, client.network_subject()),
        (PolicyName::NewsletterPrefix, Subject::Prefix(network)),
        (PolicyName::NewsletterAll, Subject::Everyone),
    ];
    let mut admission = meter
        .charge(network, &subjects, evidence.consent.at)
        .await?;
    if client.may_be_shared {
        // The pair's window would reveal that the address was signed up from this network a while ago.
        admission.decision = admission.decision.hiding(PolicyName::Newsletter);
    }
    match pass_on_or_store(newsletter, client, email, evidence).await {
        Ok(shown) => Ok(Subscribed {
            is_notified: shown.is_none(),
            already_exists: shown.and_then(|shown| already_exists(client, shown)),
            decision: admission.decision,
        }),
        Err(failure) => {
            let decision = match failure {
                SignUpFailure::Provider(_) => meter.refund(admission).await,
                SignUpFailure::Limiter(_) | SignUpFailure::Store(_) => {
                    meter.refund_all(admission).await
                }
            };
            Err(SubscribeError::Failed(decision, failure))
        }
    }
}

/// Posts a sign-up to the provider, or stores it with its delivery: the confirmation email with double opt-in,
/// otherwise the event for the webhook. `None` if it is posted, or the webhook will be notified.
async fn pass_on_or_store(
    newsletter: Newsletter<'_>,
    client: &Client,
    email: EmailAddress,
    Evidence { consent, text }: Evidence,
) -> Result<Option<Subscription>, SignUpFailure> {
    let (meter, now) = (newsletter.meter, consent.at);
    let new = LeaveToken::from_bytes(random(newsletter.entropy));
    if let Some(provider) = newsletter.provider {
        return pass_on(provider, &email, &new, now, meter.metrics).await;
    }
    let (leave_token, (notice, mail)) = match newsletter.opt_in {
        None => {
            let kind = DeliveryKind::Subscribed;
            let notice = newsletter.notice(kind, &email, &new, now);
            (new, (notice, None))
        }
        Some(opt_in) => {
            // The links of an unconfirmed contact stay valid.
            let found = newsletter.contacts.find(&email).await?;
            let pending = found.filter(Contact::is_pending);
            let token = pending.and_then(|contact| contact.leave_token);
            let token = token.unwrap_or(new);
            let asked = opt_in.ask(meter, client, &email, &token, consent.language, now);
            (token, asked.await?.unzip())
        }
    };
    let sign_up = SignUp {
        email,
        origin: origin(newsletter.origin_key, meter.key, client),
        consent,
        consent_text: text,
        leave_token,
        notice,
        is_to_be_confirmed: newsletter.opt_in.is_some(),
    };
    let stored = newsletter.contacts.sign_up(sign_up).await;
    if let (Err(_), Some(mail)) = (&stored, mail) {
        meter.refund_all(mail).await;
    }
    let subscription = stored?;
    match subscription {
        Subscription::Created => meter.metrics.sign_ups.increase(),
        Subscription::Renewed { .. } => meter.metrics.renewals.increase(),
    }
    Ok(newsletter.webhook.is_none().then_some(subscription))
}

/// The provider may have received a sign-up that timed out, and gets it again when the visitor retries.
async fn pass_on(
    provider: &dyn WebhookSender,
    email: &EmailAddress,
    token: &LeaveToken,
    now: Timestamp,
    metrics: &Metrics,
) -> Result<Option<Subscription>, SignUpFailure> {
    let kind = DeliveryKind::Subscribed;
    let body = provider.write(kind, Some(email), token, now);
    let id = DeliveryId::new(kind, token, now);
    match provider.send(id, &body, now).await {
        Ok(()) => {
            metrics.sign_ups.increase();
            metrics.deliveries(kind.channel()).made.increase();
            Ok(None)
        }
        Err(Failure::Later { error, .. } | Failure::Final(error)) => {
            metrics.deliveries(kind.channel()).failed.increase();
            Err(SignUpFailure::Provider(error))
        }
    }
}

fn origin(key: &MacKey, limiter_key: &MacKey, client: &Client) -> Origin {
    let hash = |subject: Subject<'_>| OriginHash::new(key, &subject.hashed(limiter_key));
    let network = hash(client.network_subject());
    let credential = client.credential.as_ref();
    Origin {
        network: if client.may_be_shared {
            network.behind_proxy()
        } else {
            network
        },
        credential: credential.map(|fingerprint| hash(Subject::Credential(fingerprint))),
    }
}

/// A client learns only of its own earlier sign-ups, and nothing if it may be several people.
fn already_exists(client: &Client, subscription: Subscription) -> Option<bool> {
    let own = Subscription::Renewed {
        by_same_client: true,
    };
    (!client.may_be_shared).then_some(subscription == own)
}
