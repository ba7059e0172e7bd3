//! Limits of the server.

use std::time::Duration;

/// Time that a connection without a request may stay open after the stop signal.
pub const STOP_GRACE: Duration = Duration::from_secs(1);

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Maximum number of open connections, each of up to 32 KiB: hyper's buffers and an unfinished head. TLS
    /// adds up to 48 KiB: a record being received, one being sent, and rustls's state. An eighth of them may
    /// speak HTTP/2, which takes 72 KiB. One network has an eighth of either; trusted proxies are not limited.
    pub connections_max: usize,
    /// Maximum time without progress: for the next request's head on HTTP/1.1, for the next request on HTTP/2, and
    /// for a client to read 4 KiB of a response.
    pub idle_deadline: Duration,
    /// Time for requests to finish after the stop signal, before they are interrupted.
    pub drain_deadline: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            // Longer than the 60 s for which many proxies keep an unused connection.
            idle_deadline: Duration::from_secs(75),
            drain_deadline: Duration::from_secs(10),
        }
    }
}
