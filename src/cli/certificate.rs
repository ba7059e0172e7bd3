//! The service's own TLS certificate while it serves: its files are reread, or it is ordered and renewed.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::adapters::system::SystemClock;
use crate::adapters::tls::CertificateFiles;
use crate::adapters::tls::acme::AcmeCertificate;
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::Clock as _;
use crate::wiring::OwnCertificate;

/// Maximum time between looks at the files, or at the clock, which may be set.
const INTERVAL: Duration = Duration::from_secs(60);

/// Keeps `certificate` current. SIGHUP, which makes other services reread their certificates, triggers a check
/// at once.
pub(super) async fn keep(certificate: Arc<OwnCertificate>, metrics: Arc<Metrics>) {
    let mut hang_ups = match signal(SignalKind::hangup()) {
        Ok(hang_ups) => hang_ups,
        Err(error) => return tracing::error!(%error, "cannot wait for SIGHUP"),
    };
    if let OwnCertificate::Files(files) = &*certificate {
        tell_files(files, &metrics);
    }
    let mut told = None;
    loop {
        let wait = match &*certificate {
            OwnCertificate::Files(files) => {
                told = reread(files, told, &metrics).await;
                INTERVAL
            }
            OwnCertificate::Acme(acme) => renew(acme, &metrics).await,
        };
        tokio::select! {
            _ = hang_ups.recv() => told = None,
            () = sleep(wait) => {}
        }
    }
}

/// Rereads the files. Returns their error, which is logged unless it was `told` before.
async fn reread(
    files: &Arc<CertificateFiles>,
    told: Option<String>,
    metrics: &Metrics,
) -> Option<String> {
    let read = Arc::clone(files);
    let read = spawn_blocking(move || read.reread()).await;
    match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(is_new) => {
            if is_new {
                tell_files(files, metrics);
            }
            None
        }
        Err(error) => {
            if told.as_ref() != Some(&error) {
                tracing::warn!(%error, "cannot load the new certificate; the old one stays in use");
            }
            Some(error)
        }
    }
}

/// Reports the certificate's expiry to the metrics, and to the log if it isn't valid now. It is used
/// nevertheless: the clock may be wrong, and there is no better one.
fn tell_files(files: &CertificateFiles, metrics: &Metrics) {
    let validity = files.validity();
    metrics.tls.validity.set(validity.clone());
    let (from, until) = (validity.start.to_rfc3339(), validity.end.to_rfc3339());
    if !validity.contains(&SystemClock.now()) {
        tracing::warn!(
            from,
            until,
            "the certificate of --tls-cert is not valid now, so clients refuse it: renew it, or set the clock"
        );
    } else {
        tracing::info!(until, "the certificate of --tls-cert is valid");
    }
}

/// Orders a certificate when there is none, or when it expires soon. Returns the time until the next look.
async fn renew(acme: &AcmeCertificate, metrics: &Metrics) -> Duration {
    let now = SystemClock.now();
    tell_order(acme, now, metrics);
    if acme.next_order(now) <= now {
        tracing::info!("ordering a certificate");
        let outcome = acme.order(now).await;
        let (next, lacking) = tell_order(acme, SystemClock.now(), metrics);
        match (outcome, lacking) {
            (Ok(()), None) => tracing::info!(next, "the ordered certificate is in use"),
            (Ok(()), Some(error)) => {
                tracing::warn!(next, %error, "the new certificate does not cover all names");
            }
            (Err(error), _) => tracing::warn!(next, %error, "ordering a certificate failed"),
        }
    }
    let now = SystemClock.now();
    INTERVAL.min(Duration::from_millis(acme.next_order(now).ms_since(now)))
}

/// Reports the certificate's expiry and the last order's outcome to the metrics. Returns the time of the next
/// order, and the error of the last one.
fn tell_order(
    acme: &AcmeCertificate,
    now: Timestamp,
    metrics: &Metrics,
) -> (String, Option<String>) {
    if let Some(validity) = acme.validity() {
        metrics.tls.validity.set(validity);
    }
    let order = acme.last_order(now);
    let (next, error) = (order.next_at.to_rfc3339(), order.error.clone());
    metrics.tls.order.set(order);
    (next, error)
}
