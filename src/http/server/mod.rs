//! Connections: accepted under a cap, and drained when the service stops.
//!
//! The caller owns the socket and the stop signals. Every default of hyper that matters is set
//! explicitly in `connection`.

mod activity;
mod connection;
mod intake;
mod limits;
pub(crate) mod shares;
mod slots;
mod socket;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::server::connection::Connection;
pub use crate::http::server::limits::{STOP_GRACE, ServerLimits};
use crate::http::server::slots::Slots;
use crate::http::service::LandingService;

/// How long answers may take to be sent after the interruption.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// The shortest time between two log lines about a failing `accept`.
const ACCEPT_WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// What ended a connection, for the log.
const EVICTED: &str = "idle while all connections were taken";

/// Serves until `stop` resolves, then drains.
///
/// `interrupt` is cancelled at the drain deadline, or earlier by the caller. Handlers that wait for a
/// model or a provider answer then. A second later the remaining connections are closed.
pub async fn serve(
    listener: TcpListener,
    service: Arc<LandingService>,
    limits: ServerLimits,
    stop: impl Future<Output = ()>,
    interrupt: CancellationToken,
) {
    let (stopping, stopped) = watch::channel(false);
    let connections = TaskTracker::new();
    let accept = accept_loop(&listener, &service, limits, &connections, &stopped);
    tokio::select! {
        () = accept => {}
        () = stop => {}
    }
    drop(listener);
    connections.close();
    // Fails only if there is no connection.
    let _ = stopping.send(true);
    let mut drained = pin!(async {
        connections.wait().await;
        service.wait_for_unfinished().await;
    });
    tokio::select! {
        () = &mut drained => return,
        () = sleep(limits.drain_deadline) => {}
        () = interrupt.cancelled() => {}
    }
    let warn = |what| {
        let (connections, operations) = (connections.len(), service.unfinished());
        tracing::warn!(connections, operations, "{what}");
    };
    warn("requests in flight are interrupted");
    interrupt.cancel();
    if timeout(INTERRUPT_GRACE, drained).await.is_err() {
        warn("requests are cut off");
    }
}

async fn accept_loop(
    listener: &TcpListener,
    service: &Arc<LandingService>,
    limits: ServerLimits,
    connections: &TaskTracker,
    stopped: &watch::Receiver<bool>,
) {
    let mut slots = Slots::new(service, limits);
    let mut warned_at: Option<Instant> = None;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Some(slot) = slots.assign(peer.ip()).await else {
                    // A reset, so that the refused connection does not linger in the kernel. If this
                    // fails, it is closed in the ordinary way.
                    let _ = stream.set_zero_linger();
                    continue;
                };
                let connection = Arc::new(Connection {
                    service: Arc::clone(service),
                    peer: peer.ip(),
                    limits,
                    network: slot.network,
                    places: Arc::clone(&slots.places),
                    activity: Arc::clone(&slot.activity),
                });
                let stopped = stopped.clone();
                connections.spawn(async move {
                    let ended = tokio::select! {
                        ended = connection.serve(stream, stopped) => ended,
                        () = slot.activity.evicted() => Err(EVICTED.to_owned()),
                    };
                    if let Err(error) = ended {
                        tracing::debug!(%error, "connection ended");
                    }
                });
            }
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                // Most likely out of file descriptors, until connections close.
                if warned_at.is_none_or(|at| at.elapsed() >= ACCEPT_WARNING_INTERVAL) {
                    warned_at = Some(Instant::now());
                    tracing::warn!(%error, "cannot accept connections");
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
