//! TLS handshakes: their deadline, what is counted of them, and one log line for many that fail.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::metrics::Metrics;

/// How long a handshake may take. A client sends two or three small messages.
const DEADLINE: Duration = Duration::from_secs(5);

/// The shortest time between two log lines about handshakes that failed.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// How much of an answer TLS keeps until the client reads, in bytes. rustls would keep 64 KiB.
const BUFFER_BYTES: usize = 16 * 1024;

/// The handshakes of a listener.
pub(crate) struct Handshakes {
    acceptor: TlsAcceptor,
    metrics: Arc<Metrics>,
    failures: Mutex<Failures>,
}

/// Failures since the last line about them.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    logged_at: Option<Instant>,
}

impl Handshakes {
    pub(crate) fn new(tls: Arc<ServerConfig>, metrics: Arc<Metrics>) -> Self {
        Self {
            acceptor: TlsAcceptor::from(tls),
            metrics,
            failures: Mutex::default(),
        }
    }

    /// Takes part in the handshake of a new connection.
    ///
    /// # Errors
    /// Why it failed, for the log.
    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let counts = &self.metrics.tls;
        let (outcome, error) = match timeout(DEADLINE, self.acceptor.accept(stream)).await {
            Ok(Ok(mut stream)) => {
                counts.completed.increase();
                stream.get_mut().1.set_buffer_limit(Some(BUFFER_BYTES));
                return Ok(stream);
            }
            Ok(Err(error)) => (&counts.failed, format!("TLS: {error}")),
            Err(_elapsed) => (
                &counts.timed_out,
                "TLS: the handshake took too long".to_owned(),
            ),
        };
        outcome.increase();
        self.log(&error);
        Err(error)
    }

    /// Anybody can make handshakes fail, so that only their number and the last reason are worth a line.
    fn log(&self, error: &str) {
        let mut failures = self.failures.lock();
        failures.count += 1;
        let is_recent = |at: Instant| at.elapsed() < LOG_INTERVAL;
        if failures.logged_at.is_some_and(is_recent) {
            return;
        }
        failures.logged_at = Some(Instant::now());
        let count = std::mem::take(&mut failures.count);
        tracing::info!(
            count,
            error,
            "TLS handshakes failed since the last such line"
        );
    }
}
