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

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::log_throttle::LogThrottle;
use crate::http::server::connection::{Common, Connection, Speaks};
use crate::http::server::handshake::Handshakes;
pub use crate::http::server::limits::{STOP_GRACE, ServerLimits};
use crate::http::server::redirect::Redirect;
use crate::http::server::slots::Places;
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

impl From<TcpListener> for Listeners {
    fn from(web: TcpListener) -> Self {
        Self {
            web,
            tls: None,
            redirect: None,
            further_names: Vec::new(),
        }
    }
}

/// Serves until `stop` resolves, then drains.
///
/// `interrupt` is cancelled at the drain deadline, or earlier by the caller. Handlers that wait for a model
/// or a provider then respond. A second later the remaining connections are closed.
pub async fn serve(
    listeners: impl Into<Listeners>,
    service: Arc<LandingService>,
    limits: ServerLimits,
    stop: impl Future<Output = ()>,
    interrupt: CancellationToken,
) {
    let stopping = CancellationToken::new();
    let connections = TaskTracker::new();
    let Listeners {
        web,
        tls,
        redirect,
        further_names,
    } = listeners.into();
    let app = &service.state.app;
    let speaks = tls.map_or(Speaks::Clear, |tls| {
        Speaks::Tls(Handshakes::new(&tls, Arc::clone(&app.metrics)))
    });
    let target = Redirect::new(&app.settings.base_url, further_names);
    let places = Arc::new(Places::new(limits));
    let acceptor = |speaks| Acceptor {
        common: Arc::new(Common {
            service: Arc::clone(&service),
            places: Arc::clone(&places),
            limits,
            speaks,
            failures: LogThrottle::one_a_minute(),
            stop: stopping.clone(),
        }),
        connections: &connections,
    };
    let redirecting = async {
        match &redirect {
            Some(listener) => acceptor(Speaks::Redirect(target)).run(listener).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = acceptor(speaks).run(&web) => {}
        () = redirecting => {}
        () = stop => {}
    }
    drop((web, redirect));
    connections.close();
    stopping.cancel();
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

/// Accepts the connections of one listener.
struct Acceptor<'a> {
    common: Arc<Common>,
    connections: &'a TaskTracker,
}

impl Acceptor<'_> {
    /// Never ends.
    async fn run(self, listener: &TcpListener) {
        let failures = LogThrottle::one_a_minute();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.begin(stream, peer.ip()).await,
                Err(error) if concerns_one_connection(&error) => {}
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
    async fn begin(&self, stream: TcpStream, peer: IpAddr) {
        let Common {
            service, places, ..
        } = &*self.common;
        let Some(slot) = places.assign(&service.state, peer).await else {
            // A reset, so that the refused connection doesn't linger in the kernel. If this fails, it is
            // closed in the ordinary way.
            let _ = stream.set_zero_linger();
            return;
        };
        let connection = Arc::new(Connection {
            common: Arc::clone(&self.common),
            peer: service.peer(peer),
            network: slot.network,
            activity: Arc::clone(&slot.activity),
            stop: self.common.stop.child_token(),
        });
        let activity = Arc::clone(&slot.activity);
        let task = self.connections.spawn(async move {
            if let Err(error) = connection.serve(stream).await {
                tracing::debug!(%error, "connection ended");
            }
            // Held until here, however the task ends.
            drop(slot);
        });
        activity.belongs_to(task.abort_handle());
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
