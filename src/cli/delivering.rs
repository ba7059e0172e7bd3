//! Background work while the service runs: deliveries, expiry, hourly counts, and saving unanswered questions.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::adapters::files::counts::record_hourly;
use crate::adapters::supervisor::supervise;
use crate::app::App;
use crate::domain::Channel;
use crate::metrics::workers::Worker;
use crate::usecases::deliver::{DeliverError, Mailing, deliver_mail, deliver_to_webhook};
use crate::usecases::opt_in::expire_unconfirmed;

/// Interval of a worker's look at its queue.
const INTERVAL: Duration = Duration::from_secs(1);

/// Interval of removing expired data and saving questions.
const TRIM_INTERVAL: Duration = Duration::from_secs(3600);

/// After this many rounds, addresses are erased from the files: within a day.
const ERASING_ROUNDS: u32 = 23;

/// Maximum time that emails wait before the limit is checked again.
const LIMIT_PAUSE_MAX: Duration = Duration::from_secs(600);

/// Time for deliveries in flight to finish at a stop.
const FINISH_DEADLINE: Duration = Duration::from_secs(5);

/// The workers.
pub(super) struct Delivering {
    app: Arc<App>,
    stop: CancellationToken,
    workers: Vec<JoinHandle<()>>,
}

impl Delivering {
    /// Starts them, those of channels only if the channel is configured.
    pub(super) fn start(app: &Arc<App>) -> Self {
        let mut delivering = Self {
            app: Arc::clone(app),
            stop: CancellationToken::new(),
            workers: Vec::new(),
        };
        delivering.add(Worker::Trimming, trim);
        delivering.add(Worker::Counts, count);
        for channel in Channel::ALL {
            if app.is_configured(channel) {
                let worker = match channel {
                    Channel::Webhook => Worker::Webhook,
                    Channel::Mail => Worker::Mail,
                };
                delivering.add(worker, move |app, stop| deliver(channel, app, stop));
            }
        }
        delivering
    }

    fn add<W: Future<Output = ()> + Send + 'static>(
        &mut self,
        worker: Worker,
        work: impl Fn(Arc<App>, CancellationToken) -> W + Send + Sync + 'static,
    ) {
        let app = Arc::clone(&self.app);
        let run = move |stop| work(Arc::clone(&app), stop);
        let started = supervise(worker, &self.app.metrics, &self.stop, run);
        self.workers.push(started);
    }

    /// Stops them, which stores the last counts. Deliveries in flight that don't end soon are due again at the next
    /// start.
    pub(super) async fn finish(self) {
        self.stop.cancel();
        let finished = async {
            for worker in self.workers {
                // Fails only if it panicked, which the log shows.
                let _ = worker.await;
            }
        };
        if timeout(FINISH_DEADLINE, finished).await.is_err() {
            tracing::warn!(
                "background work was interrupted: deliveries in flight will be repeated"
            );
        }
    }
}

/// Stores the hourly counts, until `stop` is cancelled.
async fn count(app: Arc<App>, stop: CancellationToken) {
    let (counts, metrics, clock) = (&app.counts, &app.metrics, &app.clock);
    record_hourly(counts.clone(), metrics.clone(), clock.clone(), stop).await;
}

/// Delivers what is pending on `channel`, until `stop` is cancelled. An unusable email account is paused until its pause
/// ends, which the operator may end earlier. The same applies when the limit is used up.
async fn deliver(channel: Channel, app: Arc<App>, stop: CancellationToken) {
    let (mut is_failing, mut mailing) = (false, Mailing::default());
    // An earlier run of this worker may have taken some.
    app.deliveries.release(channel);
    while !stop.is_cancelled() {
        let counters = app.metrics.deliveries(channel);
        if counters.pause_at(app.clock.now()).is_some() {
            pause(INTERVAL, &stop).await;
            continue;
        }
        let round = match (channel, &app.webhook, &app.mail) {
            (Channel::Webhook, Some(webhook), _) => {
                deliver_to_webhook(app.deliveries(), &**webhook).await
            }
            (Channel::Mail, _, Some(mail)) => {
                deliver_mail(app.deliveries(), &**mail, &*app.contacts, &mut mailing).await
            }
            (Channel::Webhook | Channel::Mail, ..) => return,
        };
        log(&round, &mut is_failing);
        match round {
            // There may be more.
            Ok(1..) => {}
            Err(DeliverError::Limit(wait_s)) => {
                let wait = Duration::from_secs(wait_s.max(1));
                pause(wait.min(LIMIT_PAUSE_MAX), &stop).await;
            }
            Ok(0) | Err(_) => pause(INTERVAL, &stop).await,
        }
    }
    if let Err(error) = mailing.end(app.deliveries()).await {
        tracing::warn!(%error, "emails whose fault is undecided wait until their lease ends");
    }
}

/// Every hour until `stop` is cancelled: expires unconfirmed contacts, drops old failed deliveries and expired keys,
/// and saves unanswered questions. Every day: erases refused and expired contacts from the files.
async fn trim(app: Arc<App>, stop: CancellationToken) {
    // The start has finished all earlier erasures.
    let mut rounds = ERASING_ROUNDS;
    loop {
        if let Err(error) = app.questions.save(app.clock.now()).await {
            tracing::warn!(%error, "unanswered questions cannot be stored");
        }
        if stop.is_cancelled() {
            return;
        }
        if let Some(kept_ms) = app.settings.opt_in_ms {
            expire(&app, kept_ms).await;
        }
        rounds = rounds.saturating_sub(1);
        if rounds == 0 {
            match app.maintenance.finish_erasures().await {
                Ok(()) => rounds = ERASING_ROUNDS,
                Err(error) => tracing::warn!(%error, "erasing addresses from the files failed"),
            }
        }
        match app.deliveries.drop_dead(app.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::warn!(count, "dropped failed deliveries"),
            Err(error) => tracing::warn!(%error, "cannot delete expired deliveries"),
        }
        if let Err(error) = app.maintenance.drop_expired().await {
            tracing::warn!(%error, "cannot delete expired keys");
        }
        pause(TRIM_INTERVAL, &stop).await;
    }
}

async fn expire(app: &App, kept_ms: u64) {
    let now = app.clock.now();
    match expire_unconfirmed(&*app.contacts, &*app.deliveries, kept_ms, now).await {
        Ok(0) => {}
        Ok(count) => {
            app.metrics.confirmations.expired.add(count);
            tracing::info!(count, "unconfirmed contacts have expired");
        }
        Err(error) => tracing::warn!(%error, "cannot expire unconfirmed contacts"),
    }
}

async fn pause(length: Duration, stop: &CancellationToken) {
    let _ = stop.run_until_cancelled(sleep(length)).await;
}

/// Logs the first of several failures, and their end.
fn log(round: &Result<usize, DeliverError>, is_failing: &mut bool) {
    match round {
        Ok(_) if std::mem::take(is_failing) => tracing::info!("deliveries work again"),
        Ok(_) => {}
        Err(_) if *is_failing => {}
        Err(error) => {
            *is_failing = true;
            tracing::warn!(%error, "deliveries are failing");
        }
    }
}
