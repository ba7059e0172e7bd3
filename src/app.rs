//! The application: every port and the operator's settings. The fields name the adapters of a single node, which
//! `wiring` opens unless flags name a database or Redis.

use std::sync::Arc;

use crate::domain::{Channel, Language, LetterContent, SecretKeys, Settings, macros::hidden};
use crate::metrics::Metrics;
use crate::ports::{
    BlockList, Clock, ContactStore, CountStore, DeliveryQueue, Entropy, KeyIssuer, MailSender,
    ModelClient, QuestionStore, RateLimiter, RevocationList, StoreMaintenance, WebhookSender,
};
use crate::usecases::ask_assistant::Assistant;
use crate::usecases::authenticate::Credentials;
use crate::usecases::deliver::Deliveries;
use crate::usecases::meter::Meter;
use crate::usecases::opt_in::OptIn;
use crate::usecases::subscribe::Newsletter;

/// The service's ports and settings. Built once, by `main` or by a test.
pub struct App {
    /// The newsletter's contacts: `adapters/ledger`, which also implements `deliveries`, `keys`, `revocations` and
    /// `maintenance`.
    pub contacts: Arc<dyn ContactStore>,
    /// The newsletter provider that sign-ups are posted to instead of being stored; `None` if contacts are stored
    /// here. `adapters/outbound/webhook.rs`.
    pub provider: Option<Arc<dyn WebhookSender>>,
    /// The operator's webhook, notified of changes to contacts; `None` if there is none.
    /// `adapters/outbound/webhook.rs`.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// The delivery queue.
    pub deliveries: Arc<dyn DeliveryQueue>,
    /// The email that asks contacts to confirm, in each language; `None` with single opt-in.
    pub opt_in: Option<[LetterContent; Language::ALL.len()]>,
    /// Sends email; `None` without an SMTP account. `adapters/outbound/smtp`.
    pub mail: Option<Arc<dyn MailSender>>,
    /// The API keys.
    pub keys: Arc<dyn KeyIssuer>,
    /// The revoked registrations of agents.
    pub revocations: Arc<dyn RevocationList>,
    /// Maintenance of the store that holds contacts, keys and revocations.
    pub maintenance: Arc<dyn StoreMaintenance>,
    /// The model that answers visitors: by default `adapters/model/search`.
    pub model: Arc<dyn ModelClient>,
    /// Answers while that model is unavailable; `None` without a fallback.
    pub model_fallback: Option<Arc<dyn ModelClient>>,
    /// Counts in memory: `adapters/limiter`.
    pub limiter: Arc<dyn RateLimiter>,
    /// The networks whose requests are refused: `adapters/files/block_list.rs`.
    pub blocks: Arc<dyn BlockList>,
    /// The hourly counts: `adapters/files/counts.rs`.
    pub counts: Arc<dyn CountStore>,
    /// The questions that the assistant could not answer: `adapters/files/questions.rs`.
    pub questions: Arc<dyn QuestionStore>,
    /// The system clock: `adapters/system.rs`.
    pub clock: Arc<dyn Clock>,
    /// Random bytes: `adapters/system.rs`.
    pub entropy: Arc<dyn Entropy>,
    /// Keys derived from the data directory's secret.
    pub secrets: SecretKeys,
    /// The operator's settings.
    pub settings: Settings,
    /// Counters since the start.
    pub metrics: Arc<Metrics>,
}

impl App {
    /// Dependencies of charging requests.
    pub fn meter(&self) -> Meter<'_> {
        Meter {
            limiter: &*self.limiter,
            clock: &*self.clock,
            policies: &self.settings.policies,
            key: &self.secrets.limiter,
            metrics: &self.metrics,
        }
    }

    /// Dependencies of credential lookups.
    pub fn credentials(&self) -> Credentials<'_> {
        Credentials {
            keys: &*self.keys,
            revocations: &*self.revocations,
            secrets: &self.secrets,
        }
    }

    /// Dependencies of changes to contacts.
    pub fn newsletter(&self) -> Newsletter<'_> {
        Newsletter {
            meter: self.meter(),
            contacts: &*self.contacts,
            provider: self.provider.as_deref(),
            origin_key: &self.secrets.origin,
            entropy: &*self.entropy,
            webhook: self.webhook.as_deref(),
            opt_in: self.opt_in(),
        }
    }

    /// Dependencies of double opt-in; `None` with single opt-in.
    pub fn opt_in(&self) -> Option<OptIn<'_>> {
        Some(OptIn {
            letters: self.opt_in.as_ref()?,
            mail: self.mail.as_deref()?,
            base_url: &self.settings.base_url,
        })
    }

    /// Dependencies of deliveries.
    pub fn deliveries(&self) -> Deliveries<'_> {
        Deliveries {
            queue: &*self.deliveries,
            entropy: &*self.entropy,
            meter: self.meter(),
        }
    }

    /// True if the channel's deliveries have a destination.
    pub fn is_configured(&self, channel: Channel) -> bool {
        match channel {
            Channel::Webhook => self.webhook.is_some(),
            Channel::Mail => self.mail.is_some(),
        }
    }

    /// True if the stores are writable and the limiter can decide.
    pub fn takes_writes(&self) -> bool {
        self.contacts.check().is_ok() && self.keys.check().is_ok() && self.limiter.check().is_ok()
    }

    /// Dependencies of chat turns.
    pub fn assistant(&self) -> Assistant<'_> {
        Assistant {
            meter: self.meter(),
            model: &*self.model,
            fallback: self.model_fallback.as_deref(),
            questions: &*self.questions,
        }
    }
}

hidden!(App);
