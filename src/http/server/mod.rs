//! Connections: accepted up to a maximum, and drained when the service stops. All listeners share the
//! maximum.
//!
//! The caller owns the socket and the stop signals. Every default of hyper that matters is set explicitly in
//! `connection`, except the 100 headers of HTTP/1.

mod activity;
mod connection;
mod handshake;
mod limits;
mod redirect;
pub(crate) mod shares;
mod slots;

use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::log_throttle::LogThrottle;
use crate::http::server::connection::{Connection, Listener, Speaks};
use crate::http::server::handshake::Handshakes;
pub use crate::http::server::limits::{STOP_GRACE, ServerLimits};
use crate::http::server::redirect::Redirect;
use crate::http::server::shares::{Shares, eighth};
use crate::http::server::slots::Slots;
use crate::http::service::LandingService;

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

impl Listener {
    /// Never ends.
    async fn run(self: Arc<Self>, socket: &TcpListener) {
        let failures = LogThrottle::one_a_minute();
        loop {
            match socket.accept().await {
                Ok((stream, peer)) => self.begin(stream, peer.ip()).await,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Most likely out of file descriptors, until connections close.
                    if let Some(suppressed) = failures.admit() {
                        tracing::warn!(count = suppressed + 1, %error, "cannot accept connections");
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves a connection in a task of its own, if there is a slot for it.
    async fn begin(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        let Some(slot) = self.slots.take(&self.service.state, peer).await else {
            // A reset, so that the refused connection doesn't linger in the kernel. If this fails, it is
            // closed in the ordinary way.
            let _ = stream.set_zero_linger();
            return;
        };
        let activity = Arc::clone(&slot.activity);
        let connection = Connection {
            listener: Arc::clone(self),
            peer: self.service.peer(peer),
            slot,
            stop: self.stop.child_token(),
        };
        let task = self.connections.spawn(async move {
            if let Err(error) = connection.serve(stream).await {
                tracing::debug!(%error, "connection ended");
            }
        });
        activity.belongs_to(task.abort_handle());
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
