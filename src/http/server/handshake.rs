//! TLS handshakes: their deadline, the negotiated version of HTTP, and their metrics.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::server::TlsStream;

use crate::http::server::shares::Share;
use crate::http::server::socket::{Socket, foreign};
use crate::metrics::Metrics;

/// Deadline of a handshake. A client sends two or three small messages.
const DEADLINE: Duration = Duration::from_secs(5);

/// TLS's buffer for response bytes that the client has not read, in bytes. rustls's default is 64 KiB.
const BUFFER_BYTES: usize = 16 * 1024;

/// The versions of HTTP, as clients offer them (RFC 7301).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// The handshakes of a listener.
pub(super) struct Handshakes {
    /// TLS settings for each version of HTTP.
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    /// TLS settings for the certificate authority's validation, if they list its protocol, which is not HTTP.
    proof: Arc<ServerConfig>,
    metrics: Arc<Metrics>,
}

impl Handshakes {
    /// The protocols listed in `tls` are those of proofs for the certificate authority.
    pub(super) fn new(tls: Arc<ServerConfig>, metrics: Arc<Metrics>) -> Self {
        let below = |http: &[u8]| {
            let mut tls = ServerConfig::clone(&tls);
            tls.alpn_protocols = vec![http.to_vec()];
            Arc::new(tls)
        };
        Self {
            http1: below(HTTP1),
            http2: below(HTTP2),
            proof: tls,
            metrics,
        }
    }

    /// Performs the handshake of a new connection. If the client offers HTTP/2, `http2_share` is asked for a
    /// share: with one, HTTP/2 is negotiated, otherwise HTTP/1.1.
    ///
    /// # Errors
    /// The reason of the failure, for the log.
    pub(super) async fn accept(
        &self,
        stream: Socket,
        http2_share: impl FnOnce() -> Option<Share>,
    ) -> Result<(TlsStream<Socket>, Option<Share>), String> {
        let counts = &self.metrics.tls;
        let shaken = timeout(DEADLINE, self.shake(stream, http2_share)).await;
        let (outcome, shaken) = match shaken {
            Ok(Ok(shaken)) => (&counts.completed, Ok(shaken)),
            Ok(Err(error)) => (&counts.failed, Err(format!("TLS: {error}"))),
            Err(_elapsed) => {
                let error = "TLS: the handshake took too long";
                (&counts.timed_out, Err(error.to_owned()))
            }
        };
        outcome.increase();
        shaken
    }

    async fn shake(
        &self,
        stream: Socket,
        http2_share: impl FnOnce() -> Option<Share>,
    ) -> io::Result<(TlsStream<Socket>, Option<Share>)> {
        let foreign = foreign(&stream.first_bytes().await?, true);
        let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
        let begun = begun.map_err(|error| foreign.map_or(error, io::Error::other))?;
        let offers = |protocol: &[u8]| {
            let offered = begun.client_hello().alpn();
            offered.is_some_and(|mut names| names.any(|name| name == protocol))
        };
        let mut proofs = self.proof.alpn_protocols.iter();
        if proofs.any(|protocol| offers(protocol)) {
            let mut stream = begun.into_stream(Arc::clone(&self.proof)).await?;
            // The protocol ends here (RFC 8737, section 3).
            stream.shutdown().await?;
            return Ok((stream, None));
        }
        let share = offers(HTTP2).then(http2_share).flatten();
        let tls = match share {
            Some(_) => &self.http2,
            None => &self.http1,
        };
        let mut stream = begun.into_stream(Arc::clone(tls)).await?;
        stream.get_mut().1.set_buffer_limit(Some(BUFFER_BYTES));
        Ok((stream, share))
    }
}
