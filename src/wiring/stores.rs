//! The stores, opened and closed: those of a data directory, or those that several nodes share.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::counts::FileCountStore;
use crate::adapters::data_dir::{DataDir, NodeDir};
use crate::adapters::ledger::{LedgerStore, Tuning};
use crate::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use crate::adapters::model::PassageModelClient;
use crate::adapters::open_error::OpenError;
use crate::adapters::system::{SystemClock, SystemEntropy};
use crate::adapters::threads::run_within;
use crate::app::App;
use crate::config::{Args, EngineArgs};
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::domain::secret::SecretKeys;
use crate::domain::settings::Settings;
use crate::metrics::Metrics;
use crate::ports::{
    Clock as _, ContactStore, CountStore, KeyIssuer, ModelClient, RateLimiter, RevocationList,
    SignUps, StoreError, StoreMaintenance,
};

use super::{StoresError, engines};

const NO_LIMITS: &str = "where are the rate limits? Give --limits URL and --nodes COUNT, or the \
                         --data-dir of the one node";

/// How long the stores may take to close. With the longest drain and the graces, a stop takes no
/// longer than the 90 s that systemd waits.
const CLOSE_DEADLINE: Duration = Duration::from_secs(7);

/// The ports of the stores.
pub struct StorePorts {
    pub contacts: Arc<dyn ContactStore>,
    /// The API keys.
    pub keys: Arc<dyn KeyIssuer>,
    /// The revoked registrations of agents.
    pub revocations: Arc<dyn RevocationList>,
    /// Looks after the store of these three.
    pub maintenance: Arc<dyn StoreMaintenance>,
    /// The hourly counts.
    pub counts: Arc<dyn CountStore>,
    pub limiter: Arc<dyn RateLimiter>,
    /// The keys of the secret that all of this depends on.
    pub secrets: SecretKeys,
}

impl StorePorts {
    /// The application over these stores. Without a `provider` sign-ups are kept as contacts.
    pub fn app(
        self,
        provider: Option<Arc<dyn SignUps>>,
        model: Arc<dyn ModelClient>,
        model_fallback: Option<Arc<dyn ModelClient>>,
        settings: Settings,
        metrics: Arc<Metrics>,
    ) -> App {
        App {
            sign_ups: provider.unwrap_or_else(|| Arc::new(Arc::clone(&self.contacts))),
            contacts: self.contacts,
            keys: self.keys,
            revocations: self.revocations,
            maintenance: self.maintenance,
            model,
            model_fallback,
            limiter: self.limiter,
            counts: self.counts,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            secrets: self.secrets,
            settings,
            metrics,
        }
    }
}

/// Whose windows a limiter opens.
#[derive(Clone, Copy, Debug)]
pub enum WindowsFor<'a> {
    /// Those of a service with these policies.
    Service(&'a Policies),
    /// Those of a command. It does not know the flags of the service, so none of them expires, and nothing is
    /// written but what the command resets.
    Command,
    /// None at all.
    Nobody,
}

/// What has to be closed at the end, however that comes.
#[derive(Debug, Default)]
pub struct Stores {
    limiter: Option<Arc<SledRateLimiter>>,
    ledger: Option<Arc<LedgerStore>>,
    node_dir: Option<NodeDir>,
}

impl Stores {
    /// Opens what the flags name. Blocks the thread while a data directory is opened.
    pub async fn open(
        &mut self,
        args: &Args,
        windows: WindowsFor<'_>,
        metrics: &Arc<Metrics>,
    ) -> Result<StorePorts, StoresError> {
        match (&args.engines.store, &args.data_dir) {
            (Some(_url), dir) => {
                let dir = dir.as_deref();
                self.open_shared(&args.engines, dir, windows, metrics).await
            }
            (None, Some(dir)) => {
                let data_dir = if matches!(windows, WindowsFor::Service(_)) {
                    DataDir::open(dir, &SystemEntropy)?
                } else {
                    DataDir::open_existing(dir)?
                };
                self.open_data_dir(&data_dir, windows, metrics)
            }
            // The flags were checked for that.
            (None, None) => Err(OpenError::NoDataDir(Path::new("").to_owned()).into()),
        }
    }

    fn open_data_dir(
        &mut self,
        data_dir: &DataDir,
        windows: WindowsFor<'_>,
        metrics: &Arc<Metrics>,
    ) -> Result<StorePorts, StoresError> {
        let limiter = self.open_limiter(&data_dir.windows(), windows)?;
        let tuning = Tuning {
            metrics: Arc::clone(metrics),
            ..Tuning::default()
        };
        let ledger = Arc::new(LedgerStore::open_with(data_dir, &tuning)?);
        self.ledger = Some(Arc::clone(&ledger));
        Ok(StorePorts {
            contacts: ledger.clone(),
            keys: ledger.clone(),
            revocations: ledger.clone(),
            maintenance: ledger,
            counts: Arc::new(FileCountStore::open(&data_dir.counts())),
            limiter,
            secrets: data_dir.secret().keys(),
        })
    }

    /// Opens the stores that several nodes share. The node's own directory has the windows, unless these are
    /// shared, too.
    async fn open_shared(
        &mut self,
        args: &EngineArgs,
        dir: Option<&Path>,
        windows: WindowsFor<'_>,
        metrics: &Arc<Metrics>,
    ) -> Result<StorePorts, StoresError> {
        let is_service = matches!(windows, WindowsFor::Service(_));
        let secret = engines::shared_secret(args)?;
        // A command makes none.
        let dir = dir.filter(|dir| is_service || dir.exists());
        self.node_dir = dir.map(NodeDir::open).transpose()?;
        let limiter: Arc<dyn RateLimiter> = match (&args.limits, &self.node_dir) {
            (Some(_url), _) => {
                let engine = engines::open_limits(args).await?;
                match windows {
                    // It decides alone while the engine is away. A command fails.
                    WindowsFor::Service(policies) => {
                        engines::guard(engine, args, policies, metrics)?
                    }
                    WindowsFor::Command | WindowsFor::Nobody => engine,
                }
            }
            (None, Some(node_dir)) => {
                let path = node_dir.windows();
                self.open_limiter(&path, windows)?
            }
            (None, None) => match windows {
                WindowsFor::Nobody => no_windows(),
                WindowsFor::Service(_) | WindowsFor::Command => {
                    return Err(StoresError::Flag(NO_LIMITS.to_owned()));
                }
            },
        };
        let patience = if is_service {
            engines::START_PATIENCE
        } else {
            Duration::ZERO
        };
        let store = engines::open_store(args, &secret, metrics, patience).await?;
        let cached = engines::cached_credentials(args, &store);
        Ok(StorePorts {
            contacts: store.clone(),
            keys: cached.clone(),
            revocations: cached,
            maintenance: store.clone(),
            counts: store,
            limiter,
            secrets: secret.keys(),
        })
    }

    fn open_limiter(
        &mut self,
        windows: &Path,
        whose: WindowsFor<'_>,
    ) -> io::Result<Arc<dyn RateLimiter>> {
        let limiter = match whose {
            WindowsFor::Nobody => return Ok(no_windows()),
            WindowsFor::Service(policies) => {
                SledRateLimiter::open(windows, policies, Arc::new(SystemClock))?
            }
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
    /// does not answer: everything acknowledged is synced already.
    pub fn close(self) -> io::Result<()> {
        let Self {
            limiter,
            ledger,
            node_dir,
        } = self;
        let close_limiter = move || {
            if let Some(limiter) = limiter {
                limiter.close();
            }
            Ok(())
        };
        let close_ledger = move || match ledger.map_or(Ok(()), |ledger| ledger.close()) {
            Err(error) if !matches!(error, StoreError::Displaced(_)) => {
                tracing::warn!(%error, "the end of the ledger cannot be marked; nothing is lost");
                Ok(())
            }
            closed => closed,
        };
        let closed = run_within(
            CLOSE_DEADLINE,
            [Box::new(close_limiter), Box::new(close_ledger)],
        )?;
        let closed = closed.ok_or_else(|| {
            io::Error::other(
                "the disk does not answer: the stores are not closed; nothing acknowledged is lost",
            )
        })?;
        // Its lock ends here.
        drop(node_dir);
        let closed = closed.into_iter().collect::<Result<(), _>>();
        closed.map_err(io::Error::other)
    }
}

/// Opens the stores for a command, where no service answers it. Nothing is counted and no model answers. The
/// limiter is empty unless `with_windows`.
pub async fn open_stopped(args: &Args, with_windows: bool) -> Result<(App, Stores), StoresError> {
    let windows = if with_windows {
        WindowsFor::Command
    } else {
        WindowsFor::Nobody
    };
    let mut stores = Stores::default();
    let metrics = Arc::new(Metrics::new([]));
    let ports = stores.open(args, windows, &metrics).await?;
    let model = Arc::new(PassageModelClient::new(&[], &[]));
    let app = ports.app(None, model, None, args.settings(args.listen), metrics);
    Ok((app, stores))
}

/// The limiter of commands that ask it nothing.
fn no_windows() -> Arc<dyn RateLimiter> {
    Arc::new(SledRateLimiter::in_memory(
        &Policies::default(),
        SystemClock.now(),
    ))
}

/// Policies under which no window expires: with shorter ones than the service has, some that count would be
/// dropped.
fn keeping_all() -> Policies {
    let mut policies = Policies::default();
    for policy in PolicyName::ALL {
        let longest = Quota::new(Quota::COUNT_MAX, Quota::WINDOW_MS_MAX);
        policies.set(policy, longest.ok());
    }
    policies
}
