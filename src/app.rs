//! The application: every port, and what the operator decided.

use std::sync::Arc;

use crate::domain::secret::SecretKeys;
use crate::domain::settings::Settings;
use crate::ports::{
    Clock, ContactStore, Entropy, KeyIssuer, ModelClient, RateLimiter, RevocationList,
    SubscriptionNotifier,
};
use crate::usecases::admit::Credentials;
use crate::usecases::chat::Assistant;
use crate::usecases::meter::Meter;
use crate::usecases::subscribe::Newsletter;

/// What the service is made of. Built once, by `main` or by a test.
pub struct App {
    /// Keeps the contacts.
    pub contacts: Arc<dyn ContactStore>,
    /// Is told of sign-ups in place of the contact store; nothing if contacts are kept here.
    pub notifier: Option<Arc<dyn SubscriptionNotifier>>,
    /// Keeps the keys.
    pub keys: Arc<dyn KeyIssuer>,
    /// Keeps which registrations of agents were revoked.
    pub revocations: Arc<dyn RevocationList>,
    /// Answers visitors.
    pub model: Arc<dyn ModelClient>,
    /// Counts requests.
    pub limiter: Arc<dyn RateLimiter>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Keys derived from the data directory's secret.
    pub secrets: SecretKeys,
    /// What the operator decided.
    pub settings: Settings,
}

impl App {
    /// What requests are counted with.
    #[must_use]
    pub fn meter(&self) -> Meter<'_> {
        Meter {
            limiter: &*self.limiter,
            policies: &self.settings.policies,
            key: &self.secrets.limiter,
        }
    }

    /// What credentials are looked up in.
    #[must_use]
    pub fn credentials(&self) -> Credentials<'_> {
        Credentials {
            keys: &*self.keys,
            revocations: &*self.revocations,
            secrets: &self.secrets,
        }
    }

    /// What sign-ups work with.
    #[must_use]
    pub fn newsletter(&self) -> Newsletter<'_> {
        match &self.notifier {
            Some(notifier) => Newsletter::Provider {
                notifier: &**notifier,
                clock: &*self.clock,
                entropy: &*self.entropy,
            },
            None => Newsletter::Contacts {
                contacts: &*self.contacts,
                reveal: self.settings.reveal_existing,
                origin_key: &self.secrets.origin,
            },
        }
    }

    /// What chat turns work with.
    #[must_use]
    pub fn assistant(&self) -> Assistant<'_> {
        Assistant {
            model: &*self.model,
            clock: &*self.clock,
            entropy: &*self.entropy,
        }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
