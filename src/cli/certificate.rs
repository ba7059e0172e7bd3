//! The service's own TLS certificate while it serves: its files are reread, or it is ordered and renewed.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::adapters::system::SystemClock;
use crate::adapters::tls::OwnCertificate;
use crate::adapters::tls::acme::AcmeClient;
use crate::metrics::Metrics;
use crate::ports::Clock as _;
use crate::wiring::RenewedCertificate;

/// Maximum time between looks at the files, or at the clock, which may be set.
const INTERVAL: Duration = Duration::from_secs(60);

/// Keeps the service's certificate current. SIGHUP, which makes other services reread their certificates, triggers a
/// check at once.
pub(super) async fn keep(own: RenewedCertificate, metrics: Arc<Metrics>) {
    let mut hang_ups = match signal(SignalKind::hangup()) {
        Ok(hang_ups) => hang_ups,
        Err(error) => return tracing::error!(%error, "cannot wait for SIGHUP"),
    };
    let tell = || {
        if let Some(validity) = own.certificate().validity() {
            *metrics.tls.validity.lock() = Some(validity);
        }
        if let RenewedCertificate::Ordered(orders) = &own {
            *metrics.tls.order.lock() = Some(orders.last_order(SystemClock.now()));
        }
    };
    tell();
    if let RenewedCertificate::Read(certificate) = &own {
        log_validity(certificate);
    }
    let mut told = None;
    loop {
        let wait = match &own {
            RenewedCertificate::Read(certificate) => {
                reread(certificate, &mut told).await;
                INTERVAL
            }
            RenewedCertificate::Ordered(orders) => renew(orders).await,
        };
        tell();
        tokio::select! {
            _ = hang_ups.recv() => told = None,
            () = sleep(wait) => {}
        }
    }
}

/// Rereads the files. An error is logged unless it was `told` before.
async fn reread(certificate: &Arc<OwnCertificate>, told: &mut Option<String>) {
    let read = Arc::clone(certificate);
    let read = spawn_blocking(move || read.reread()).await;
    let error = match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(is_new) => {
            if is_new {
                log_validity(certificate);
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

/// Logs when the certificate expires, as a warning if it isn't valid now. It is used nevertheless: the clock may be
/// wrong, and there is no better one.
fn log_validity(certificate: &OwnCertificate) {
    let validity = certificate.validity().unwrap_or_default();
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
async fn renew(orders: &AcmeClient) -> Duration {
    let now = SystemClock.now();
    if orders.last_order(now).next_at <= now {
        tracing::info!("ordering a certificate");
        let ordered = orders.order(now).await;
        let last = orders.last_order(SystemClock.now());
        let next = last.next_at.to_rfc3339();
        match (ordered, last.error) {
            (Ok(()), None) => tracing::info!(next, "the ordered certificate is in use"),
            (Ok(()), Some(error)) => {
                tracing::warn!(next, %error, "the new certificate does not cover all names");
            }
            (Err(error), _) => tracing::warn!(next, %error, "ordering a certificate failed"),
        }
    }
    let now = SystemClock.now();
    let next_at = orders.last_order(now).next_at;
    INTERVAL.min(Duration::from_millis(next_at.ms_since(now)))
}
