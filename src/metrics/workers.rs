//! The health of the workers: the tasks that run for as long as the service.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::histogram::Counter;
use crate::domain::macros::names;

/// A worker with work that was acknowledged makes the service unhealthy once it has failed for so long.
const FAILING_AFTER: Duration = Duration::from_secs(600);

names! {
    /// A task that runs for as long as the service, and is started again when it ends.
    pub enum Worker {
        /// Delivers to the webhook.
        Webhook => "webhook",
        /// Sends mail.
        Mail => "mail",
        /// Lets contacts go that were not confirmed in time.
        Upkeep => "upkeep",
        /// Drops deliveries that failed long ago, and erases from the files who refused or expired.
        Trimming => "trimming",
        /// Stores the hourly counts.
        Counts => "counts",
        /// Rereads or renews the certificate.
        Certificate => "certificate",
        /// Accepts the connections of commands.
        Commands => "commands",
        /// Accepts the connections of the admin page.
        AdminPage => "admin-page",
        /// Drops expired keys and revocations from the database.
        Expiry => "expiry",
    }
}

impl Worker {
    /// Its work was acknowledged to somebody.
    const fn holds_work(self) -> bool {
        matches!(
            self,
            Self::Webhook | Self::Mail | Self::Upkeep | Self::Trimming
        )
    }
}

/// The health of one worker.
#[derive(Debug, Default)]
pub struct WorkerHealth {
    /// The number of times it was started again.
    pub restarts: Counter,
    failing_since: Mutex<Option<Instant>>,
}

impl WorkerHealth {
    /// It has ended, by a panic or otherwise.
    pub fn note_end(&self) {
        self.restarts.increase();
        self.failing_since.lock().get_or_insert_with(Instant::now);
    }

    /// It works again.
    pub fn note_works(&self) {
        *self.failing_since.lock() = None;
    }
}

/// All workers.
#[derive(Debug, Default)]
pub struct WorkerMetrics([WorkerHealth; Worker::ALL.len()]);

impl WorkerMetrics {
    /// Each worker.
    pub fn all(&self) -> impl Iterator<Item = (Worker, &WorkerHealth)> {
        Worker::ALL.into_iter().zip(&self.0)
    }

    /// Records something of one.
    pub fn note(&self, worker: Worker, note: fn(&WorkerHealth)) {
        self.0.get(worker as usize).into_iter().for_each(note);
    }

    /// The workers that ended and have not worked for a minute since.
    pub fn failing(&self) -> impl Iterator<Item = Worker> {
        let is_failing = |health: &WorkerHealth| health.failing_since.lock().is_some();
        let failing = self.all().filter(move |(_, health)| is_failing(health));
        failing.map(|(worker, _)| worker)
    }

    /// No worker that holds acknowledged work has failed for ten minutes.
    pub fn are_healthy(&self) -> bool {
        self.all().all(|(worker, health)| {
            let is_recent = |since: Instant| since.elapsed() < FAILING_AFTER;
            !worker.holds_work() || health.failing_since.lock().is_none_or(is_recent)
        })
    }
}
