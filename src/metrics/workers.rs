//! The health of the workers: the tasks that run as long as the service.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::values::Counter;
use crate::domain::macros::names;

/// A worker that holds acknowledged work makes the service unhealthy after it has failed for this long.
const FAILING_AFTER: Duration = Duration::from_secs(600);

names! {
    /// A task that runs as long as the service, and is restarted when it ends.
    pub enum Worker {
        /// Delivers to the webhook.
        Webhook => "webhook",
        /// Sends email.
        Mail => "mail",
        /// Expires contacts that were not confirmed in time, drops old failed deliveries and expired keys, erases
        /// refused and expired contacts from the files, and saves unanswered questions.
        Trimming => "trimming",
        /// Stores the hourly counts.
        Counts => "counts",
        /// Rereads or renews the certificate.
        Certificate => "certificate",
        /// Accepts the connections of commands.
        Commands => "commands",
        /// Accepts the connections of the admin page.
        AdminPage => "admin-page",
    }
}

/// The health of one worker.
#[derive(Debug, Default)]
pub struct WorkerHealth {
    /// Number of restarts.
    pub restarts: Counter,
    failing_since: Mutex<Option<Instant>>,
}

impl WorkerHealth {
    /// Records that it ended, by a panic or otherwise.
    pub fn note_end(&self) {
        self.restarts.increase();
        self.failing_since.lock().get_or_insert_with(Instant::now);
    }

    /// Records that it works again.
    pub fn note_works(&self) {
        *self.failing_since.lock() = None;
    }
}

/// All workers.
#[derive(Debug, Default)]
pub struct WorkerMetrics([WorkerHealth; Worker::ALL.len()]);

impl WorkerMetrics {
    pub fn all(&self) -> impl Iterator<Item = (Worker, &WorkerHealth)> {
        Worker::ALL.into_iter().zip(&self.0)
    }

    /// Applies `note` to one worker.
    pub fn note(&self, worker: Worker, note: fn(&WorkerHealth)) {
        self.0.get(worker as usize).into_iter().for_each(note);
    }

    /// The workers that ended and have not worked for a minute since.
    pub fn failing(&self) -> impl Iterator<Item = Worker> {
        let failing = self
            .all()
            .filter(|(_, health)| health.failing_since.lock().is_some());
        failing.map(|(worker, _)| worker)
    }

    /// True unless a worker that holds acknowledged work has failed for ten minutes.
    pub fn are_healthy(&self) -> bool {
        self.all().all(|(worker, health)| {
            let is_recent = |since: Instant| since.elapsed() < FAILING_AFTER;
            let holds_work = matches!(worker, Worker::Webhook | Worker::Mail | Worker::Trimming);
            // Most have never ended: no core writes to a lock then.
            let never_ended = health.restarts.get() == 0;
            never_ended || !holds_work || health.failing_since.lock().is_none_or(is_recent)
        })
    }
}
