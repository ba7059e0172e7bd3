//! The service's own TLS certificate while it serves: its files are reread, or it is ordered and renewed.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::adapters::system::SystemClock;
use crate::adapters::tls::CertificateFiles;
use crate::adapters::tls::acme::AcmeCertificate;
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
    match &*certificate {
        OwnCertificate::Files(files) => tell_files(files, &metrics),
        OwnCertificate::Acme(acme) => tell_order(acme, &metrics),
    }
    let mut told = None;
    loop {
        let wait = match &*certificate {
            OwnCertificate::Files(files) => {
                reread(files, &mut told, &metrics).await;
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

/// Rereads the files. An error is logged unless it was `told` before.
async fn reread(files: &Arc<CertificateFiles>, told: &mut Option<String>, metrics: &Metrics) {
    let read = Arc::clone(files);
    let read = spawn_blocking(move || read.reread()).await;
    let error = match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(is_new) => {
            if is_new {
                tell_files(files, metrics);
            }
            None
        }
        Err(error) => Some(error),
    };
    if let Some(error) = &error
        && told.as_ref() != Some(error)
    {
        tracing::warn!(%error, "cannot load the new certificate; the old one stays in use");
    }
    *told = error;
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
            "the certificate of --tls-cert is not valid now, so clients reject it: renew it, or correct the clock"
        );
    } else {
        tracing::info!(until, "the certificate of --tls-cert is valid");
    }
}

/// Orders a certificate when there is none, or when it expires soon. Returns the time until the next look.
async fn renew(acme: &AcmeCertificate, metrics: &Metrics) -> Duration {
    let now = SystemClock.now();
    if acme.last_order(now).next_at <= now {
        tracing::info!("ordering a certificate");
        let ordered = acme.order(now).await;
        let last = acme.last_order(SystemClock.now());
        let next = last.next_at.to_rfc3339();
        match (ordered, last.error) {
            (Ok(()), None) => tracing::info!(next, "the ordered certificate is in use"),
            (Ok(()), Some(error)) => {
                tracing::warn!(next, %error, "the new certificate does not cover all names");
            }
            (Err(error), _) => tracing::warn!(next, %error, "ordering a certificate failed"),
        }
    }
    tell_order(acme, metrics);
    let now = SystemClock.now();
    let next_at = acme.last_order(now).next_at;
    INTERVAL.min(Duration::from_millis(next_at.ms_since(now)))
}

/// Reports the certificate's expiry and the last order's outcome to the metrics.
fn tell_order(acme: &AcmeCertificate, metrics: &Metrics) {
    if let Some(validity) = acme.validity() {
        metrics.tls.validity.set(validity);
    }
    metrics.tls.order.set(acme.last_order(SystemClock.now()));
}
