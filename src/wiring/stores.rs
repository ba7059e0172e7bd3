//! The stores of a data directory, opened and closed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::counts::FileCountStore;
use crate::adapters::data_dir::DataDir;
use crate::adapters::ledger::{LedgerStore, Tuning};
use crate::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use crate::adapters::memory::{MemoryRateLimiter, ScriptedSubscriptionNotifier};
use crate::adapters::model::PassageModelClient;
use crate::adapters::open_error::OpenError;
use crate::adapters::system::{SystemClock, SystemEntropy};
use crate::adapters::threads::{Job, run_within};
use crate::app::App;
use crate::config::Args;
use crate::domain::policy::{Policies, PolicyName, Quota};
use crate::metrics::Metrics;
use crate::ports::{Clock as _, RateLimiter, StoreError};

/// How long the stores may take to close. With the longest drain and the graces, a stop takes no
/// longer than the 90 s that systemd waits.
const CLOSE_DEADLINE: Duration = Duration::from_secs(7);

/// What has to be closed at the end, however that comes.
#[derive(Debug, Default)]
pub struct Stores {
    limiter: Option<Arc<SledRateLimiter>>,
    ledger: Option<Arc<LedgerStore>>,
}

impl Stores {
    /// Opens the windows of `policies` in `data_dir`.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn open_limiter(
        &mut self,
        data_dir: &DataDir,
        policies: &Policies,
    ) -> io::Result<Arc<SledRateLimiter>> {
        let clock = Arc::new(SystemClock);
        let limiter = Arc::new(SledRateLimiter::open(&data_dir.windows(), policies, clock)?);
        self.limiter = Some(Arc::clone(&limiter));
        Ok(limiter)
    }

    /// Opens the windows in `data_dir` for a command. It does not know the flags of the service, so none
    /// of them expires, and nothing is written but what the command resets.
    fn open_all_windows(&mut self, data_dir: &DataDir) -> Arc<SledRateLimiter> {
        let store = Box::new(SledWindowStore::new(&data_dir.windows()));
        let now = SystemClock.now();
        let limiter = SledRateLimiter::without_thread(store, &keeping_all(), now, WINDOWS_MAX);
        let limiter = Arc::new(limiter);
        self.limiter = Some(Arc::clone(&limiter));
        limiter
    }

    /// Opens the ledger in `data_dir`.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be trusted or written.
    pub fn open_ledger(
        &mut self,
        data_dir: &DataDir,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<LedgerStore>, OpenError> {
        let tuning = Tuning {
            metrics,
            ..Tuning::default()
        };
        let ledger = Arc::new(LedgerStore::open_with(data_dir, &tuning)?);
        self.ledger = Some(Arc::clone(&ledger));
        Ok(ledger)
    }

    /// Closes the stores, so that the next start does not have to rebuild the index. Does not wait
    /// long for a disk that does not answer: everything acknowledged is synced already.
    ///
    /// # Errors
    /// When the next start would not find what was recorded, or when the disk does not answer.
    pub fn close(self) -> io::Result<()> {
        let Self { limiter, ledger } = self;
        let close_limiter: Job<Result<(), StoreError>> = Box::new(move || {
            if let Some(limiter) = limiter {
                limiter.close();
            }
            Ok(())
        });
        let close_ledger: Job<Result<(), StoreError>> = Box::new(move || {
            match ledger.map_or(Ok(()), |ledger| ledger.close()) {
                Err(error @ StoreError::Displaced(_)) => Err(error),
                Err(error) => {
                    tracing::warn!(%error, "the next start rebuilds the index; nothing is lost");
                    Ok(())
                }
                Ok(()) => Ok(()),
            }
        });
        let closed = run_within(CLOSE_DEADLINE, [close_limiter, close_ledger])?;
        let closed = closed.ok_or_else(|| {
            io::Error::other(
                "the disk does not answer: the stores are not closed; nothing acknowledged is lost, \
                 and the next start rebuilds the index",
            )
        })?;
        let closed = closed.into_iter().collect::<Result<(), _>>();
        closed.map_err(io::Error::other)
    }
}

/// Opens the existing data directory of `args` for a command, while no service runs on it. Nothing is
/// counted and no model answers. The limiter is empty unless `with_windows`.
///
/// # Errors
/// [`OpenError`] when it is not there, belongs to another user, is in use, or cannot be trusted.
pub fn open_stopped(args: &Args, with_windows: bool) -> Result<(App, Stores), OpenError> {
    let data_dir = DataDir::open_existing(&args.data_dir)?;
    let mut stores = Stores::default();
    let notifier = args.newsletter_webhook.as_ref();
    let limiter: Arc<dyn RateLimiter> = match with_windows {
        true => stores.open_all_windows(&data_dir),
        false => Arc::new(MemoryRateLimiter::default()),
    };
    let metrics = Arc::new(Metrics::new([]));
    let ledger = stores.open_ledger(&data_dir, Arc::clone(&metrics))?;
    let app = App {
        contacts: ledger.clone(),
        // It is never called, but tells that there is one.
        notifier: notifier.map(|_url| Arc::new(ScriptedSubscriptionNotifier::default()) as _),
        keys: ledger.clone(),
        revocations: ledger.clone(),
        maintenance: ledger,
        model: Arc::new(PassageModelClient::new(Vec::new())),
        limiter,
        counts: Arc::new(FileCountStore::open(&data_dir.counts())),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        secrets: data_dir.secret().keys(),
        settings: args.settings(args.listen),
        metrics,
    };
    Ok((app, stores))
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
