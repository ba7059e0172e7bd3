//! The certificate that the service orders itself: ordered and renewed while it serves, and checked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::adapters::tls::acme::AcmeCertificate;
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::Clock;

/// Maximum time between looks at the clock: it may be set.
const INTERVAL_MS: u64 = 60_000;

/// Orders a certificate when there is none, and another one before it expires, from now on. SIGHUP, which
/// makes other services reread their certificates, triggers a check at once.
///
/// # Errors
/// When SIGHUP can't be waited for.
pub(super) async fn keep_renewed(
    acme: Arc<AcmeCertificate>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
) -> io::Result<()> {
    let mut hang_ups = signal(SignalKind::hangup())?;
    tell(&acme, clock.now(), &metrics);
    loop {
        let now = clock.now();
        let wait_ms = acme.next_order(now).ms_since(now);
        if wait_ms > 0 {
            tokio::select! {
                _ = hang_ups.recv() => {}
                () = sleep(Duration::from_millis(wait_ms.min(INTERVAL_MS))) => {}
            }
            tell(&acme, clock.now(), &metrics);
            continue;
        }
        tracing::info!("ordering a certificate");
        let outcome = acme.order(now).await;
        let next = tell(&acme, clock.now(), &metrics);
        match outcome {
            Ok(()) => match acme.last_order(clock.now()).error {
                None => tracing::info!(next, "the ordered certificate is in use"),
                Some(error) => {
                    tracing::warn!(next, %error, "the new certificate does not cover all names");
                }
            },
            Err(error) => tracing::warn!(next, %error, "ordering a certificate failed"),
        }
    }
}

/// Reports the certificate's expiry and the last order's outcome to the metrics. Returns when the next order
/// is due.
fn tell(acme: &AcmeCertificate, now: Timestamp, metrics: &Metrics) -> String {
    if let Some(validity) = acme.validity() {
        metrics.tls.validity.set(validity);
    }
    let order = acme.last_order(now);
    let next = order.next_at.to_rfc3339();
    metrics.tls.order.set(order);
    next
}
