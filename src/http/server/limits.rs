//! Limits of the server.

use std::time::Duration;

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Most open connections. Further ones wait in the listener's backlog.
    pub connections_max: usize,
    /// Most open connections of one network that is no trusted proxy. Further ones are closed.
    /// `None` is an eighth of all.
    pub connections_per_network: Option<usize>,
    /// How long a request's head may take on HTTP/1.1, counted from the previous answer or from the
    /// start of the connection. So it is also the keep-alive timeout. While three quarters of the
    /// connections are taken, all keep-alive timeouts are [`CROWDED_KEEP_ALIVE`].
    pub head_deadline: Duration,
    /// How long a connection may make no progress on an answer that is being sent. A client that does
    /// not read, or reads less than 4 KiB in this time, makes none. On HTTP/2 this is also the
    /// keep-alive timeout.
    pub idle_deadline: Duration,
    /// How long requests may take to finish after the stop signal, before they are interrupted.
    pub drain_deadline: Duration,
    /// The largest request head on HTTP/1.1, in bytes. Each connection may hold an unfinished one, which
    /// is not counted anywhere.
    pub head_bytes_max: usize,
    /// Most concurrent streams of an HTTP/2 connection.
    pub streams_max: u32,
    /// Divided by the number of a network's connections, this is the most concurrent streams of its
    /// newest connection. If that is 0, the connection has to speak HTTP/1.1. A stream can take 10 KiB
    /// before it counts as a request, and an unfinished head 100 KiB.
    pub streams_per_network: u32,
}

impl ServerLimits {
    /// The limits of a new connection, with which its network has `of_network`.
    pub(crate) fn of_connection(self, of_network: Option<usize>) -> Self {
        let connections = of_network.and_then(|count| u32::try_from(count).ok());
        let streams = connections.and_then(|count| self.streams_per_network.checked_div(count));
        Self {
            streams_max: streams.map_or(self.streams_max, |streams| streams.min(self.streams_max)),
            ..self
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            connections_per_network: None,
            head_deadline: Duration::from_secs(30),
            idle_deadline: Duration::from_secs(75),
            drain_deadline: Duration::from_secs(10),
            head_bytes_max: 16 * 1024,
            streams_max: 128,
            streams_per_network: 1024,
        }
    }
}

/// The longest keep-alive timeout while three quarters of the connections are taken, and how often a
/// connection checks that.
pub const CROWDED_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long a connection without a request may stay open after the stop signal.
pub const STOP_GRACE: Duration = Duration::from_secs(1);
