//! The HTTP client for the model and the newsletter's provider: pooled connections, TLS for `https`,
//! and a deadline on connecting.
//!
//! Requests may hold secrets and personal data, so they go to the configured address alone:
//! redirects are not followed, and the environment's proxy variables are not read.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::Uri;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use crate::domain::in_words;

use super::{operator_file, pem};

/// The deadline of DNS, TCP and TLS together.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long an idle connection is kept. Some servers close theirs after five seconds, and a request
/// sent at that moment is lost.
const IDLE_DEADLINE: Duration = Duration::from_secs(4);

/// The `User-Agent` of every request.
pub(super) const PRODUCT: &str = concat!("landing-api/", env!("CARGO_PKG_VERSION"));

/// An HTTP/1.1 client.
pub(super) type HttpClient = Client<TimelyConnector, Full<Bytes>>;

/// Certificates of authorities.
pub type Certificates = Vec<CertificateDer<'static>>;

/// The certificate authorities that are trusted.
#[derive(Clone, Debug)]
pub struct Roots(RootCertStore);

/// The most warnings about certificates that cannot be read.
const WARNINGS_MAX: usize = 8;

impl Roots {
    /// The system's certificates, or those that the variables `SSL_CERT_FILE` (`named_file`) and
    /// `SSL_CERT_DIR` name, and `more` of the operator's own.
    ///
    /// # Errors
    /// Why there are none, in words.
    pub fn of_system(named_file: Option<&Path>, more: Certificates) -> Result<Self, String> {
        // As long as `SSL_CERT_DIR` holds one, a mistake would show only when a connection is refused.
        let named = named_file.map(|path| {
            certificates_in(path).map_err(|why| format!("SSL_CERT_FILE: {}: {why}", path.display()))
        });
        let mut named = named.transpose()?.unwrap_or_default();
        let found = rustls_native_certs::load_native_certs();
        named.retain(|certificate| !found.certs.contains(certificate));
        let roots = Self::of(found.certs.into_iter().chain(named).chain(more));
        if roots.0.is_empty() {
            let first = found.errors.first();
            let why = first.map_or_else(String::new, |error| format!(": {error}"));
            return Err(format!("no certificates of authorities found{why}"));
        }
        for error in found.errors.iter().take(WARNINGS_MAX) {
            tracing::warn!(%error, "some certificates of authorities are left out");
        }
        Ok(roots)
    }

    /// These certificates alone. Those that cannot be parsed are ignored: systems keep some.
    pub fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        Self(roots)
    }
}

/// The certificates in a PEM file, of which there must be one at least.
///
/// # Errors
/// Why there are none, in words.
pub fn certificates_in(path: &Path) -> Result<Certificates, String> {
    let bytes = operator_file::read_authorities(path).map_err(|error| error.to_string())?;
    let (good, bad): (Vec<_>, Vec<_>) = pem::certificates(&bytes)?
        .into_iter()
        .partition(Result::is_ok);
    match bad.into_iter().next() {
        Some(Err(why)) if good.is_empty() => Err(why),
        _ => Ok(good.into_iter().flatten().collect()),
    }
}

/// A client that keeps up to `connections_max` idle connections.
pub(super) fn client(roots: Roots, connections_max: usize) -> Result<HttpClient, rustls::Error> {
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_DEADLINE)
        .pool_max_idle_per_host(connections_max)
        .build(connector(roots)?))
}

/// How clients use TLS: they verify the server's certificate, and have none themselves.
pub(super) fn tls_config(roots: Roots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder
        .with_root_certificates(roots.0)
        .with_no_client_auth())
}

/// What a client connects with.
pub(super) fn connector(roots: Roots) -> Result<TimelyConnector, rustls::Error> {
    let tls = tls_config(roots)?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(TimelyConnector(connector))
}

/// A connector with a deadline.
#[derive(Clone)]
pub(super) struct TimelyConnector(HttpsConnector<HttpConnector>);

impl Service<Uri> for TimelyConnector {
    type Response = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_DEADLINE, connecting).await {
                Ok(connected) => connected,
                Err(elapsed) => Err(io::Error::new(io::ErrorKind::TimedOut, elapsed).into()),
            }
        })
    }
}

/// The innermost source of an error: the outer ones only say that something went wrong.
pub(super) fn root_cause(mut error: &dyn Error) -> String {
    while let Some(inner) = error.source() {
        error = inner;
    }
    in_words(&error.to_string())
}
