//! Signing up an address for the newsletter.

use std::net::IpAddr;

use crate::domain::{
    Client, Consent, Decision, Delivery, DeliveryKind, EmailAddress, Language, LeaveToken, MacKey,
    Origin, OriginHash, PolicyName, RevealExisting, SignUp, SignUpWay, Source, Subject,
    Subscription, TextDigest, Timestamp,
};
use crate::metrics::Metrics;
use crate::ports::{
    Admission, ContactStore, Entropy, EntropyError, LimiterError, NotifyError, SignUps, StoreError,
    random,
};

use super::meter::{ChargeError, Meter};
use super::notices::Notices;
use super::opt_in::{OptIn, pending_token};

#[derive(Clone, Copy)]
pub struct Newsletter<'a> {
    pub contacts: &'a dyn ContactStore,
    /// Receives the sign-ups in place of the store, if any.
    pub provider: Option<&'a dyn SignUps>,
    /// Clients that learn an address was signed up before.
    pub reveal: RevealExisting,
    /// Hashes the origin of a sign-up.
    pub origin_key: &'a MacKey,
    /// Random bytes for unsubscribe tokens.
    pub entropy: &'a dyn Entropy,
    /// Events for the operator's program.
    pub notices: Notices<'a>,
    /// Asks contacts to confirm, if required.
    pub opt_in: Option<OptIn<'a>>,
}

/// Evidence of a sign-up, as claimed by the client.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub way: SignUpWay,
    /// The language of the page.
    pub language: Option<Language>,
    /// Wording on the page, if it is one of this service.
    pub text: Option<String>,
    /// The page.
    pub source: Option<Source>,
    /// The client's address, if it is stored.
    pub ip: Option<IpAddr>,
}

#[derive(Debug)]
pub struct Subscribed {
    pub outcome: Outcome,
    /// The standing of the newsletter's policies.
    pub decision: Decision,
}

/// Outcome of a sign-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The contact is stored by this service.
    Kept {
        /// True if the address was signed up before, as far as this client may know.
        already_exists: Option<bool>,
    },
    /// The provider accepted it, or the contact is stored and the operator's program is notified.
    PassedOn,
}

/// The address is not signed up.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// There were no random bytes for its token. Every charge was refunded.
    #[error("{1}")]
    Entropy(Decision, EntropyError),
    /// The contact couldn't be stored. Every charge was refunded.
    #[error("{1}")]
    Store(Decision, StoreError),
    /// The provider did not accept it. The charges to `newsletter` and `newsletter-all` were refunded. The
    /// one to `newsletter-ip` was not ([`Meter::refund`]), so it bounds how often a client can retry.
    #[error("{1}")]
    Provider(Decision, NotifyError),
}

/// Signs up `email`. The work and the time taken don't depend on earlier sign-ups of the address.
pub async fn subscribe(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    email: EmailAddress,
    evidence: Evidence,
) -> Result<Subscribed, SubscribeError> {
    let network = client.network;
    let subjects = [
        (PolicyName::Newsletter, Subject::SignUp(network, &email)),
        (PolicyName::NewsletterIp, client.network_subject()),
        (PolicyName::NewsletterPrefix, Subject::Prefix(network)),
        (PolicyName::NewsletterAll, Subject::Everyone),
    ];
    let mut admission = meter.charge(network, &subjects, now).await?;
    if !is_told(newsletter.reveal, client) {
        // The pair's window would reveal that the address was signed up from this network a while ago.
        admission.decision = admission.decision.hiding(PolicyName::Newsletter);
    }
    let language = evidence.language;
    let prepared = prepare(newsletter, meter, client, &email, language, now).await;
    let Prepared {
        leave_token,
        notice,
        mail,
    } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let decision = meter.refund_all(admission).await;
            return Err(error.after(decision));
        }
    };
    let sign_up = SignUp {
        email,
        origin: origin(newsletter.origin_key, meter.key, client),
        at: now,
        consent: Consent {
            at: now,
            way: evidence.way,
            language: evidence.language,
            text: evidence.text.as_deref().map(TextDigest::of),
            source: evidence.source,
            ip: evidence.ip,
        },
        consent_text: evidence.text,
        leave_token,
        notice,
        is_to_be_confirmed: newsletter.opt_in.is_some(),
    };
    let metrics = meter.metrics;
    let outcome = if let Some(provider) = newsletter.provider {
        if let Err(error) = pass_on(provider, sign_up, metrics).await {
            let decision = meter.refund(admission).await;
            return Err(SubscribeError::Provider(decision, error));
        }
        Outcome::PassedOn
    } else {
        match keep(newsletter, client, sign_up, metrics).await {
            Ok(outcome) => outcome,
            Err(error) => {
                if let Some(mail) = mail {
                    meter.refund_all(mail).await;
                }
                let decision = meter.refund_all(admission).await;
                return Err(SubscribeError::Store(decision, error));
            }
        }
    };
    Ok(Subscribed {
        outcome,
        decision: admission.decision,
    })
}

/// The parts of a new contact.
struct Prepared {
    leave_token: LeaveToken,
    /// The event or email to deliver.
    notice: Option<Delivery>,
    /// The charge for it, if it is an email.
    mail: Option<Admission>,
}

/// The token or the delivery could not be made.
enum PrepareError {
    Entropy(EntropyError),
    Store(StoreError),
    Limiter(LimiterError),
}

impl PrepareError {
    fn after(self, decision: Decision) -> SubscribeError {
        match self {
            Self::Entropy(error) => SubscribeError::Entropy(decision, error),
            Self::Store(error) => SubscribeError::Store(decision, error),
            Self::Limiter(error) => SubscribeError::NotCharged(error.into()),
        }
    }
}

/// The token of a new contact, and its delivery: with double opt-in the email that asks to confirm, otherwise
/// the event for the operator's program.
async fn prepare(
    newsletter: Newsletter<'_>,
    meter: Meter<'_>,
    client: &Client,
    email: &EmailAddress,
    language: Option<Language>,
    now: Timestamp,
) -> Result<Prepared, PrepareError> {
    let new = random(newsletter.entropy).map(LeaveToken::from_bytes);
    let new = new.map_err(PrepareError::Entropy)?;
    let Some(opt_in) = newsletter.opt_in else {
        let kind = DeliveryKind::Subscribed;
        return Ok(Prepared {
            leave_token: new,
            notice: newsletter.notices.of(kind, email, &new, now),
            mail: None,
        });
    };
    let known = pending_token(newsletter.contacts, email).await;
    let token = known.map_err(PrepareError::Store)?.unwrap_or(new);
    let asked = opt_in
        .ask(meter, client, email, &token, language, now)
        .await;
    let (notice, mail) = asked.map_err(PrepareError::Limiter)?.unzip();
    Ok(Prepared {
        leave_token: token,
        notice,
        mail,
    })
}

async fn keep(
    newsletter: Newsletter<'_>,
    client: &Client,
    sign_up: SignUp,
    metrics: &Metrics,
) -> Result<Outcome, StoreError> {
    let subscription = newsletter.contacts.keep(sign_up).await?;
    let counter = match subscription {
        Subscription::Created => &metrics.sign_ups,
        Subscription::Renewed { .. } => &metrics.renewals,
    };
    counter.increase();
    Ok(match newsletter.notices.webhook {
        Some(_) => Outcome::PassedOn,
        None => Outcome::Kept {
            already_exists: reveal(newsletter.reveal, client, subscription),
        },
    })
}

async fn pass_on(
    provider: &dyn SignUps,
    sign_up: SignUp,
    metrics: &Metrics,
) -> Result<(), NotifyError> {
    let taken = provider.take(sign_up).await;
    let counter = match &taken {
        Ok(()) => &metrics.webhook.delivered,
        Err(NotifyError::Failed(_)) => &metrics.webhook.failed,
        Err(NotifyError::Overloaded) => &metrics.webhook.overloaded,
    };
    counter.increase();
    taken
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

/// True if the client may learn about earlier sign-ups of an address.
fn is_told(rule: RevealExisting, client: &Client) -> bool {
    rule != RevealExisting::Never && !client.may_be_shared
}

fn reveal(rule: RevealExisting, client: &Client, subscription: Subscription) -> Option<bool> {
    if !is_told(rule, client) {
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
