//! Runs workers as long as the service. A worker that panics or returns is restarted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::pin;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::metrics::workers::{Worker, WorkerHealth};

/// The pause before a worker is restarted: the first one, and the longest.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A worker counts as working after this time.
const WORKS_AFTER: Duration = Duration::from_secs(60);

/// Starts a worker, made by `run` each time. It may end once `stop` is cancelled.
pub fn supervise<W: Future<Output = ()> + Send + 'static>(
    worker: Worker,
    metrics: &Arc<Metrics>,
    stop: &CancellationToken,
    run: impl Fn(CancellationToken) -> W + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (metrics, stop) = (Arc::clone(metrics), stop.clone());
    tokio::spawn(async move {
        let mut pause = PAUSE;
        while !stop.is_cancelled() {
            // The call itself may panic, too.
            let work = AssertUnwindSafe(async { run(stop.clone()).await }).catch_unwind();
            pin!(work);
            let has_panicked = tokio::select! {
                ended = &mut work => ended.is_err(),
                () = sleep(WORKS_AFTER) => {
                    metrics.workers.note(worker, WorkerHealth::note_works);
                    pause = PAUSE;
                    work.await.is_err()
                }
            };
            if stop.is_cancelled() {
                return;
            }
            metrics.workers.note(worker, WorkerHealth::note_end);
            tracing::error!(
                worker = worker.as_str(),
                has_panicked,
                pause_s = pause.as_secs(),
                "a worker ended and is restarted"
            );
            let _ = timeout(pause, stop.cancelled()).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    })
}
