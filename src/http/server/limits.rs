//! Limits of the server.

use std::time::Duration;

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Maximum number of open connections, each of up to 32 KiB: hyper's buffers and an unfinished head. TLS
    /// adds up to 48 KiB: a record being received, one being sent, and rustls's state. For each further
    /// connection an idle one of the heaviest network is closed.
    pub connections_max: usize,
    /// Maximum number of open connections of one network, except trusted proxies. Further ones are closed.
    /// `None` is an eighth of all.
    pub connections_per_network: Option<usize>,
    /// Deadline of a request's head on HTTP/1.1, counted from the previous response or from the start of the
    /// connection. So it is also the keep-alive timeout.
    pub head_deadline: Duration,
    /// Maximum time without progress on a response being sent. A client that doesn't read, or reads less than
    /// 4 KiB in this time, makes none. On HTTP/2 this is also the keep-alive timeout.
    pub idle_deadline: Duration,
    /// Time for requests to finish after the stop signal, before they are interrupted.
    pub drain_deadline: Duration,
    /// Maximum size of a request head on HTTP/1.1, in bytes. Each connection may hold an unfinished one.
    pub head_bytes_max: usize,
    /// Maximum number of concurrent streams of an HTTP/2 connection.
    pub streams_max: u32,
    /// Divided by the number of a network's HTTP/2 connections, this is the maximum number of concurrent
    /// streams of its newest one. A stream can take 10 KiB before it counts as a request.
    pub streams_per_network: u32,
    /// Maximum number of HTTP/2 connections, of which one network may have an eighth. Each can take 72 KiB,
    /// without its streams. Further ones speak HTTP/1.1: over TLS that is negotiated, without TLS they are
    /// closed. Trusted proxies are not limited.
    pub http2_connections_max: usize,
}

impl ServerLimits {
    /// Maximum number of concurrent streams of the newest of a network's `connections` over HTTP/2.
    pub(crate) fn streams_max_of(self, connections: usize) -> u32 {
        let connections = u32::try_from(connections).unwrap_or(u32::MAX).max(1);
        (self.streams_per_network / connections).clamp(1, self.streams_max)
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            connections_per_network: None,
            head_deadline: Duration::from_secs(30),
            idle_deadline: Duration::from_secs(75),
            drain_deadline: Duration::from_secs(10),
            head_bytes_max: 16 * 1024,
            streams_max: 128,
            streams_per_network: 512,
            http2_connections_max: 512,
        }
    }
}

/// Time that a connection without a request may stay open after the stop signal.
pub const STOP_GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::body::{LARGE_BYTES, SMALL_BYTES};

    #[test]
    fn what_all_clients_together_hold_leaves_a_quarter_of_384_mib_to_the_program() {
        const KIB: usize = 1024;
        let limits = ServerLimits::default();
        let http1 = limits.connections_max * (limits.head_bytes_max + 16 * KIB);
        let http2 = limits.http2_connections_max * 72 * KIB;
        let bodies = SMALL_BYTES + LARGE_BYTES;
        assert!(http1 + http2 + bodies <= 384 * KIB * KIB * 3 / 4);
    }
}
