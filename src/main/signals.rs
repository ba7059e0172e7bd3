//! What tells the program to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGTERM and SIGINT, which mean the same.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Waits for one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ready once a signal has come; the next one cancels `interrupt`.
pub(crate) fn stop_signal(
    interrupt: CancellationToken,
) -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    Ok(async move {
        signals.next().await;
        tracing::info!("stopping: requests in flight may finish, unless a second signal comes");
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal: stopping at once");
            interrupt.cancel();
        });
    })
}
