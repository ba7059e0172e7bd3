//! The application: every port and the operator's settings.

use std::sync::Arc;

use crate::domain::{Language, LetterTemplate, SecretKeys, Settings, macros::hidden};
use crate::metrics::Metrics;
use crate::ports::{
    BlockList, Clock, ContactStore, CountStore, DeliveryQueue, Entropy, KeyIssuer, MailSender,
    ModelClient, RateLimiter, RevocationList, SignUps, StoreMaintenance, WebhookSender,
};
use crate::usecases::admit::Credentials;
use crate::usecases::ask_assistant::Assistant;
use crate::usecases::deliver::Deliveries;
use crate::usecases::meter::Meter;
use crate::usecases::notices::Notices;
use crate::usecases::opt_in::OptIn;
use crate::usecases::subscribe::Newsletter;

/// What the service is made of. Built once, by `main` or by a test.
pub struct App {
    pub contacts: Arc<dyn ContactStore>,
    /// The newsletter's provider, which takes sign-ups in place of the contacts; `None` if they are kept.
    pub provider: Option<Arc<dyn SignUps>>,
    /// The operator's program, which is told what becomes of contacts; `None` if there is none.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// What is to be delivered.
    pub deliveries: Arc<dyn DeliveryQueue>,
    /// The letter that asks contacts to confirm, in each language; `None` if they need not.
    pub opt_in: Option<[LetterTemplate; Language::ALL.len()]>,
    /// Sends mail; `None` if the operator has no account for that.
    pub mail: Option<Arc<dyn MailSender>>,
    /// The API keys.
    pub keys: Arc<dyn KeyIssuer>,
    /// The revoked registrations of agents.
    pub revocations: Arc<dyn RevocationList>,
    /// Looks after the store of these three.
    pub maintenance: Arc<dyn StoreMaintenance>,
    /// The model that answers visitors.
    pub model: Arc<dyn ModelClient>,
    /// Answers while that model is away; `None` if nothing does.
    pub model_fallback: Option<Arc<dyn ModelClient>>,
    pub limiter: Arc<dyn RateLimiter>,
    /// The networks whose requests are refused.
    pub blocks: Arc<dyn BlockList>,
    /// The hourly counts.
    pub counts: Arc<dyn CountStore>,
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Keys derived from the data directory's secret.
    pub secrets: SecretKeys,
    /// The operator's settings.
    pub settings: Settings,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl App {
    /// What requests are counted with.
    pub fn meter(&self) -> Meter<'_> {
        Meter {
            limiter: &*self.limiter,
            clock: &*self.clock,
            policies: &self.settings.policies,
            key: &self.secrets.limiter,
            metrics: &self.metrics,
        }
    }

    /// What credentials are looked up in.
    pub fn credentials(&self) -> Credentials<'_> {
        Credentials {
            keys: &*self.keys,
            revocations: &*self.revocations,
            secrets: &self.secrets,
        }
    }

    /// What sign-ups work with.
    pub fn newsletter(&self) -> Newsletter<'_> {
        Newsletter {
            contacts: &*self.contacts,
            provider: self.provider.as_deref(),
            reveal: self.settings.reveal_existing,
            origin_key: &self.secrets.origin,
            entropy: &*self.entropy,
            notices: self.notices(),
            opt_in: self.opt_in(),
        }
    }

    /// What double opt-in works with, if it is on.
    pub fn opt_in(&self) -> Option<OptIn<'_>> {
        Some(OptIn {
            letters: self.opt_in.as_ref()?,
            mail: self.mail.as_deref()?,
            base_url: &self.settings.base_url,
        })
    }

    /// What the operator's program is told with.
    pub fn notices(&self) -> Notices<'_> {
        Notices {
            webhook: self.webhook.as_deref(),
        }
    }

    /// What deliveries work with.
    pub fn deliveries(&self) -> Deliveries<'_> {
        Deliveries {
            queue: &*self.deliveries,
            entropy: &*self.entropy,
            meter: self.meter(),
        }
    }

    /// Whether the stores take changes, and the limiter can decide.
    pub fn takes_writes(&self) -> bool {
        self.contacts.check().is_ok() && self.keys.check().is_ok() && self.limiter.check().is_ok()
    }

    /// What chat turns work with.
    pub fn assistant(&self) -> Assistant<'_> {
        Assistant {
            model: &*self.model,
            fallback: self.model_fallback.as_deref(),
            entropy: &*self.entropy,
        }
    }
}

hidden!(App);
