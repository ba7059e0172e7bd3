//! The service's own TLS certificate while it serves: reread at SIGHUP and once a minute.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::adapters::tls::CertificateFiles;
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::Clock;

/// Interval of checks without a signal.
const INTERVAL: Duration = Duration::from_secs(60);

/// Reports the certificate's expiry to the metrics, and to the log if it isn't valid now. It is used
/// nevertheless: the clock may be wrong, and there is no better one.
fn tell(files: &CertificateFiles, now: Timestamp, metrics: &Metrics) {
    let validity = files.validity();
    metrics.tls.validity.set(validity.clone());
    let (from, until) = (validity.start.to_rfc3339(), validity.end.to_rfc3339());
    if !validity.contains(&now) {
        tracing::warn!(
            from,
            until,
            "the certificate of --tls-cert is not valid now, so clients refuse it: renew it, or set the clock"
        );
    } else {
        tracing::info!(until, "the certificate of --tls-cert is valid");
    }
}

/// Rereads the certificate's `files` from now on.
///
/// # Errors
/// When SIGHUP can't be waited for.
pub(super) async fn watch(
    files: Arc<CertificateFiles>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
) -> io::Result<()> {
    let mut hang_ups = signal(SignalKind::hangup())?;
    tell(&files, clock.now(), &metrics);
    let mut told = None;
    loop {
        tokio::select! {
            _ = hang_ups.recv() => told = None,
            () = sleep(INTERVAL) => {}
        }
        let read = Arc::clone(&files);
        match spawn_blocking(move || read.reread()).await {
            Ok(Ok(true)) => tell(&files, clock.now(), &metrics),
            Ok(Ok(false)) => {}
            Ok(Err(error)) if told.as_ref() == Some(&error) => continue,
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot load the new certificate; the old one stays in use");
                told = Some(error);
                continue;
            }
            Err(error) => tracing::error!(%error, "cannot read the certificate"),
        }
        told = None;
    }
}
