//! Serves connections up to a maximum, which all listeners share, and drains them when the service stops.
//!
//! The caller owns the socket and the stop signals. Every default of hyper that matters is set explicitly in
//! `connection`, except the 100 headers of HTTP/1.

mod connection;
mod handshake;
mod redirect;
pub(crate) mod shares;
mod slots;
mod socket;

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::log_throttle::LogThrottle;
use crate::http::pipeline::LandingService;
use crate::http::server::connection::{Listener, Speaks};
pub use crate::http::server::connection::{STOP_GRACE, ServerLimits};
use crate::http::server::handshake::Handshakes;
use crate::http::server::redirect::Redirect;
use crate::http::server::shares::{Shares, eighth};
use crate::http::server::slots::Slots;

/// Time to send responses after the interruption.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// The listening sockets.
#[derive(Debug)]
pub struct Listeners {
    /// The service.
    pub web: TcpListener,
    /// Its TLS settings, for all versions of HTTP. Without them, clients speak plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Redirects plain HTTP to the service's `https` URL.
    pub redirect: Option<TcpListener>,
    /// Further names, in lower case, that are redirected besides that URL's host.
    pub further_names: Vec<String>,
}

/// Serves until `stop` resolves, then drains.
///
/// `interrupt` is cancelled at the drain deadline, or earlier by the caller. Handlers that wait for a model then respond.
/// A second later the remaining connections are closed, those of sign-ups that wait for the webhook among them.
pub async fn serve(
    listeners: Listeners,
    service: Arc<LandingService>,
    limits: ServerLimits,
    stop: impl Future<Output = ()>,
    interrupt: CancellationToken,
) {
    let stopping = CancellationToken::new();
    let connections = TaskTracker::new();
    let slots = Arc::new(Slots::new(limits.connections_max));
    let http2 = Shares::new(eighth(limits.connections_max));
    let listener = |speaks| {
        Arc::new(Listener {
            service: Arc::clone(&service),
            speaks,
            slots: Arc::clone(&slots),
            http2: Arc::clone(&http2),
            limits,
            connections: connections.clone(),
            failures: LogThrottle::one_a_minute(),
            stop: stopping.clone(),
        })
    };
    let app = &service.state.app;
    let speaks = listeners.tls.map_or(Speaks::Clear, |tls| {
        Speaks::Tls(Handshakes::new(tls, Arc::clone(&app.metrics)))
    });
    let target = Redirect::new(&app.settings.base_url, listeners.further_names);
    let redirecting = async {
        match &listeners.redirect {
            Some(socket) => listener(Speaks::Redirect(target)).run(socket).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = listener(speaks).run(&listeners.web) => {}
        () = redirecting => {}
        () = stop => {}
    }
    drop((listeners.web, listeners.redirect));
    connections.close();
    stopping.cancel();
    let unfinished = service.unfinished();
    unfinished.close();
    let mut drained = pin!(async {
        connections.wait().await;
        unfinished.wait().await;
    });
    tokio::select! {
        () = &mut drained => return,
        () = sleep(limits.drain_deadline) => {}
        () = interrupt.cancelled() => {}
    }
    let warn = |what| {
        let (connections, operations) = (connections.len(), unfinished.len());
        tracing::warn!(connections, operations, "{what}");
    };
    warn("requests in flight are interrupted");
    interrupt.cancel();
    if timeout(INTERRUPT_GRACE, drained).await.is_err() {
        warn("requests are cut off");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::body::BODY_BYTES;
    use crate::http::server::connection::HEAD_BYTES_MAX;

    #[test]
    fn what_all_clients_together_hold_leaves_a_quarter_of_384_mib_to_the_program() {
        const KIB: usize = 1024;
        let connections = ServerLimits::default().connections_max;
        let http1 = connections * (HEAD_BYTES_MAX + 16 * KIB);
        let http2 = eighth(connections) * 72 * KIB;
        assert!(http1 + http2 + BODY_BYTES <= 384 * KIB * KIB * 3 / 4);
    }
}
