//! Delivering what is due, while the service runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::ports::WebhookSender;
use crate::usecases::deliver::{DeliverError, deliver_to_webhook};

/// How often a worker looks for what is due.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often what was given up long ago is dropped.
const TRIM_INTERVAL: Duration = Duration::from_secs(3600);

/// How long the deliveries under way may take at a stop.
const FINISH_DEADLINE: Duration = Duration::from_secs(5);

/// The workers, one for each channel that the flags have.
pub(super) struct Delivering {
    stop: CancellationToken,
    workers: Vec<JoinHandle<()>>,
}

impl Delivering {
    /// Starts them.
    pub(super) fn start(app: &Arc<App>) -> Self {
        let stop = CancellationToken::new();
        let mut workers = vec![tokio::spawn(trim(Arc::clone(app), stop.clone()))];
        if let Some(webhook) = app.webhook.clone() {
            let (app, stop) = (Arc::clone(app), stop.clone());
            workers.push(tokio::spawn(tell_webhook(app, webhook, stop)));
        }
        Self { stop, workers }
    }

    /// Ends them. What is under way and does not end soon is due again at the next start.
    pub(super) async fn finish(self) {
        self.stop.cancel();
        let finished = async {
            for worker in self.workers {
                // Fails only if it panicked, which the log tells.
                let _ = worker.await;
            }
        };
        if timeout(FINISH_DEADLINE, finished).await.is_err() {
            tracing::warn!("deliveries under way are not waited for: they are made again");
        }
    }
}

/// Tells the operator's program what is due, until `stop` is cancelled.
async fn tell_webhook(app: Arc<App>, webhook: Arc<dyn WebhookSender>, stop: CancellationToken) {
    let mut is_failing = false;
    while !stop.is_cancelled() {
        let round = deliver_to_webhook(app.deliveries(), &*webhook).await;
        log(&round, &mut is_failing);
        // There may be more.
        if !matches!(round, Ok(1..)) {
            pause(INTERVAL, &stop).await;
        }
    }
}

/// Drops what was given up long ago, until `stop` is cancelled.
async fn trim(app: Arc<App>, stop: CancellationToken) {
    let mut due = Instant::now();
    while !stop.is_cancelled() {
        if due <= Instant::now() {
            due += TRIM_INTERVAL;
            match app.deliveries.drop_dead(app.clock.now()).await {
                Ok(0) => {}
                Ok(count) => tracing::warn!(count, "deliveries that were given up are dropped"),
                Err(error) => tracing::warn!(%error, "deliveries that were given up stay"),
            }
        }
        pause(INTERVAL, &stop).await;
    }
}

async fn pause(length: Duration, stop: &CancellationToken) {
    tokio::select! {
        () = sleep(length) => {}
        () = stop.cancelled() => {}
    }
}

/// Logs the first of several failures, and their end.
fn log(round: &Result<usize, DeliverError>, is_failing: &mut bool) {
    match round {
        Ok(_) if std::mem::take(is_failing) => tracing::info!("deliveries are made again"),
        Ok(_) => {}
        Err(_) if *is_failing => {}
        Err(error) => {
            *is_failing = true;
            tracing::warn!(%error, "deliveries are not made");
        }
    }
}
