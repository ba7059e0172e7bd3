//! Asking others over HTTP: one pooled client, set up so that what others do stays bounded.
//!
//! No redirect is followed: what is asked may hold secrets and personal data, and goes to the
//! address the operator named and nowhere else. Proxy variables of the environment are not read
//! either.

use std::error::Error as _;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// How long an idle connection is kept for the next request. Some servers close theirs after five
/// seconds; a request that meets the closing is lost.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// A client of other services.
#[derive(Clone, Debug)]
pub struct Outbound {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Which certificates are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those of the system's authorities, or of the file that `SSL_CERT_FILE` names.
    System,
    /// None: only `http` addresses are asked, and no authority needs to be there.
    Nobody,
}

/// The client cannot be set up. The text names no address.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct OutboundOpenError(String);

/// There is no answer. The texts are for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// No connection: surely nothing was sent.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The connection broke before the answer was whole. The request may have been acted on.
    #[error("no answer: {0}")]
    Broken(String),
    /// The answer's body is too large. The request may have been acted on.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl Outbound {
    /// A client that waits `connect_deadline` for each address of a host.
    ///
    /// # Errors
    /// [`OutboundOpenError`] when the system's certificates are to be believed and there are none.
    pub fn open(trust: Trust, connect_deadline: Duration) -> Result<Self, OutboundOpenError> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(connect_deadline));
        tcp.set_nodelay(true);
        // The scheme is the TLS connector's to look at.
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new();
        let provider = ring::default_provider();
        let connector = match trust {
            Trust::System => builder
                .with_provider_and_native_roots(provider)
                .map_err(|error| OutboundOpenError(error.to_string()))?,
            Trust::Nobody => {
                let tls = ClientConfig::builder_with_provider(provider.into())
                    .with_safe_default_protocol_versions()
                    .map_err(|error| OutboundOpenError(error.to_string()))?;
                let roots = RootCertStore::empty();
                builder.with_tls_config(tls.with_root_certificates(roots).with_no_client_auth())
            }
        }
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .build(connector);
        Ok(Self { client })
    }

    /// Sends `request` and reads the whole answer, whatever its status. There is no deadline here:
    /// the caller knows how long an answer is worth waiting for.
    ///
    /// # Errors
    /// [`OutboundError`] when there is no answer of at most `body_bytes_max`.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        body_bytes_max: usize,
    ) -> Result<Response<Bytes>, OutboundError> {
        let response = self.client.request(request).await.map_err(|error| {
            let text = causes(&error);
            if error.is_connect() {
                OutboundError::Connect(text)
            } else {
                OutboundError::Broken(text)
            }
        })?;
        let (parts, body) = response.into_parts();
        match Limited::new(body, body_bytes_max).collect().await {
            Ok(collected) => Ok(Response::from_parts(parts, collected.to_bytes())),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(OutboundError::TooLarge(body_bytes_max))
            }
            Err(error) => Err(OutboundError::Broken(error.to_string())),
        }
    }
}

/// What an error was caused by, outermost first; its own words only say that there was one.
fn causes(error: &hyper_util::client::legacy::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
