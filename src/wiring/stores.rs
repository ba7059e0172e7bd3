//! Opens and closes the stores: those of a data directory, or those that several nodes share.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::cluster::FallbackRateLimiter;
use crate::adapters::files::block_list::FileBlockList;
use crate::adapters::files::counts::FileCountStore;
use crate::adapters::files::data_dir::{
    BLOCKS, COUNTS, DataDir, LEDGER, NodeLock, QUESTIONS, WINDOWS, create_and_lock,
};
use crate::adapters::files::questions::FileQuestionStore;
use crate::adapters::files::{OpenError, SystemFiles};
use crate::adapters::ledger::{LedgerStore, Tuning};
use crate::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use crate::adapters::model::PassageModelClient;
use crate::adapters::system::{SystemClock, SystemEntropy, run_within};
use crate::app::App;
use crate::config::{Args, EngineArgs, WebhookMode};
use crate::domain::{Policies, PolicyName, Quota, SecretKeys, Settings};
use crate::metrics::Metrics;
use crate::ports::{
    Clock as _, ContactStore, CountStore, DeliveryQueue, KeyIssuer, RateLimiter, RevocationList,
    StoreError, StoreMaintenance,
};

use super::{StoresError, engines, mail_sender, newsletter_webhook};

const NO_LIMITS: &str =
    "nowhere to store the rate limits: give --limits URL, or --data-dir for a single node";

/// Deadline for closing the stores. With the longest drain and the grace periods, a stop stays within the
/// 90 s that systemd waits.
const CLOSE_DEADLINE: Duration = Duration::from_secs(7);

/// The windows that a limiter opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowsFor {
    /// A service's own windows.
    Service,
    /// A command's view. It does not know the service's flags, so no window expires, and nothing is written
    /// except resets.
    Command,
    /// No windows at all.
    Nobody,
}

/// Everything that must be closed at the end, however the end comes.
#[derive(Debug, Default)]
pub struct Stores {
    limiter: Option<Arc<SledRateLimiter>>,
    ledger: Option<Arc<LedgerStore>>,
    node_lock: Option<NodeLock>,
}

impl Stores {
    /// Opens what the flags name, as the application of commands: no model answers, and no email asks to confirm.
    /// Blocks the thread while a data directory is opened.
    pub async fn open(
        &mut self,
        args: &Args,
        windows: WindowsFor,
        settings: Settings,
        metrics: Arc<Metrics>,
    ) -> Result<App, StoresError> {
        // Before the stores, which must be closed once they are open.
        let (webhook, provider) = match args.newsletter_webhook_mode {
            WebhookMode::Queue => (newsletter_webhook(args)?, None),
            WebhookMode::Direct => (None, newsletter_webhook(args)?),
        };
        let mail = mail_sender(args)?;
        let policies = &settings.policies;
        let opened = match (&args.engines.store, &args.data_dir) {
            (Some(_url), dir) => {
                let dir = dir.as_deref();
                self.open_shared(&args.engines, dir, windows, policies, &metrics)
                    .await?
            }
            (None, Some(dir)) => self.open_data_dir(dir, windows, policies, &metrics)?,
            // The flags were checked for this.
            (None, None) => return Err(OpenError::NoDataDir(Path::new("").to_owned()).into()),
        };
        let path = args.data_dir.as_deref().map(|dir| dir.join(BLOCKS));
        let blocks = FileBlockList::open(path)?;
        let path = args.data_dir.as_deref().map(|dir| dir.join(QUESTIONS));
        let questions = path.map(|path| FileQuestionStore::open(path, args.keep_questions));
        Ok(App {
            contacts: opened.records.clone(),
            deliveries: opened.records.clone(),
            maintenance: opened.records.clone(),
            keys: opened.records.clone(),
            revocations: opened.records,
            counts: opened.counts,
            limiter: opened.limiter,
            secrets: opened.secrets,
            provider,
            webhook,
            opt_in: None,
            mail: mail.map(|sender| sender as _),
            model: Arc::new(PassageModelClient::new(&[], &[])),
            model_fallback: None,
            blocks: Arc::new(blocks),
            questions: Arc::new(questions.unwrap_or_default()),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            settings,
            metrics,
        })
    }

    fn open_data_dir(
        &mut self,
        dir: &Path,
        windows: WindowsFor,
        policies: &Policies,
        metrics: &Arc<Metrics>,
    ) -> Result<Opened, StoresError> {
        let data_dir = match windows {
            WindowsFor::Service => DataDir::open(dir, &SystemEntropy)?,
            WindowsFor::Command | WindowsFor::Nobody => DataDir::open_existing(dir)?,
        };
        let limiter = self.open_limiter(&dir.join(WINDOWS), windows, policies)?;
        let tuning = Tuning {
            metrics: Arc::clone(metrics),
            ..Tuning::default()
        };
        let ledger = Arc::new(LedgerStore::open_with(&data_dir, &tuning)?);
        self.ledger = Some(Arc::clone(&ledger));
        Ok(Opened {
            records: ledger,
            counts: Arc::new(FileCountStore::open(&dir.join(COUNTS))),
            limiter,
            secrets: data_dir.secret().keys(),
        })
    }

    /// Opens the stores that several nodes share. The node's own directory holds the windows, unless these
    /// are shared, too.
    async fn open_shared(
        &mut self,
        args: &EngineArgs,
        dir: Option<&Path>,
        windows: WindowsFor,
        policies: &Policies,
        metrics: &Arc<Metrics>,
    ) -> Result<Opened, StoresError> {
        let is_service = windows == WindowsFor::Service;
        let secret = engines::shared_secret(args)?;
        // A command creates no directory.
        let dir = dir.filter(|dir| is_service || dir.exists());
        let lock = dir.map(|dir| create_and_lock(&SystemFiles, dir));
        self.node_lock = lock.transpose()?;
        if is_service && dir.is_some_and(|dir| dir.join(LEDGER).exists()) {
            tracing::warn!(
                "the data directory contains a ledger that is not used: contacts and keys are in the \
                 database; `landing-api move` copies a ledger there"
            );
        }
        let limiter = match &args.limits {
            Some(_url) => shared_limiter(args, windows, policies, metrics).await?,
            None => match dir {
                Some(dir) => self.open_limiter(&dir.join(WINDOWS), windows, policies)?,
                None if windows == WindowsFor::Nobody => no_windows(),
                None => return Err(NO_LIMITS.to_owned().into()),
            },
        };
        let store = engines::open_store(args, &secret, metrics, is_service).await?;
        Ok(Opened {
            records: store.clone(),
            counts: store,
            limiter,
            secrets: secret.keys(),
        })
    }

    fn open_limiter(
        &mut self,
        windows: &Path,
        whose: WindowsFor,
        policies: &Policies,
    ) -> io::Result<Arc<dyn RateLimiter>> {
        let limiter = match whose {
            WindowsFor::Nobody => return Ok(no_windows()),
            WindowsFor::Service => SledRateLimiter::open(windows, policies, Arc::new(SystemClock))?,
            WindowsFor::Command => {
                let store = Box::new(SledWindowStore::new(windows));
                let now = SystemClock.now();
                SledRateLimiter::without_thread(store, &keeping_all(), now, WINDOWS_MAX)
            }
        };
        let limiter = Arc::new(limiter);
        self.limiter = Some(Arc::clone(&limiter));
        Ok(limiter)
    }

    /// Closes the stores, so that the next start knows where they ended. Does not wait long for a disk that
    /// does not respond: everything acknowledged is already synced.
    pub fn close(self) -> io::Result<()> {
        // The ledger first, because the limiter's windows may be lost.
        let close = move || {
            let closed = self.ledger.map_or(Ok(()), |ledger| ledger.close());
            if let Some(limiter) = self.limiter {
                limiter.close();
            }
            match closed {
                Err(error) if !matches!(error, StoreError::Displaced(_)) => {
                    tracing::warn!(%error, "the end of the ledger cannot be marked; no data is lost");
                    Ok(())
                }
                closed => closed,
            }
        };
        let closed = run_within(CLOSE_DEADLINE, close)?;
        let closed = closed.ok_or_else(|| {
            io::Error::other(
                "the disk does not respond: the stores are not closed; no acknowledged data is lost",
            )
        })?;
        // Dropping it releases the lock.
        drop(self.node_lock);
        closed.map_err(io::Error::other)
    }
}

/// The limiter that several nodes share. A service decides alone while it is unavailable, a command fails.
async fn shared_limiter(
    args: &EngineArgs,
    windows: WindowsFor,
    policies: &Policies,
    metrics: &Arc<Metrics>,
) -> Result<Arc<dyn RateLimiter>, StoresError> {
    let counted = (windows == WindowsFor::Service).then(|| Arc::clone(metrics));
    let engine = engines::open_limits(args, counted).await?;
    if windows != WindowsFor::Service {
        // So that the status lists it.
        metrics.limits_engine.set_away(false);
        return Ok(engine);
    }
    // An unavailable engine is not asked.
    if let Ok(survey) = engine.survey().await
        && let Some(eviction) = survey.eviction
    {
        tracing::warn!("{eviction}");
    }
    let (nodes, clock) = (args.nodes.unwrap_or(1), Arc::new(SystemClock));
    let metrics = Arc::clone(metrics);
    let limiter = FallbackRateLimiter::new(engine, nodes, policies, metrics, clock);
    Ok(limiter?)
}

/// Opens the stores for a command when no service is running. Nothing is counted.
pub async fn open_stopped(args: &Args, windows: WindowsFor) -> Result<(App, Stores), StoresError> {
    let mut stores = Stores::default();
    let (settings, metrics) = (args.settings(args.listen), Arc::new(Metrics::new([])));
    let opened = stores.open(args, windows, settings, metrics);
    Ok((opened.await?, stores))
}

trait Records: ContactStore + DeliveryQueue + StoreMaintenance + KeyIssuer + RevocationList {}
impl<S: ContactStore + DeliveryQueue + StoreMaintenance + KeyIssuer + RevocationList> Records
    for S
{
}

/// The stores of a data directory, or those that several nodes share.
struct Opened {
    records: Arc<dyn Records>,
    counts: Arc<dyn CountStore>,
    limiter: Arc<dyn RateLimiter>,
    secrets: SecretKeys,
}

/// The limiter of commands that never ask it.
fn no_windows() -> Arc<dyn RateLimiter> {
    let (policies, now) = (Policies::default(), SystemClock.now());
    Arc::new(SledRateLimiter::in_memory(&policies, now))
}

/// Policies under which no window expires: policies shorter than the service's would drop windows that
/// still count.
fn keeping_all() -> Policies {
    let longest = Quota::new(Quota::COUNT_MAX, Quota::WINDOW_MS_MAX);
    let mut policies = Policies::default();
    policies.configure(&PolicyName::ALL.map(|policy| (policy, longest)));
    policies
}
