//! Asking others over HTTP: connections that are pooled, over TLS where the address says so, and
//! made in time or not at all.
//!
//! Redirects are answers like any other. What is asked may hold secrets and personal data, and goes
//! to the address the operator named and nowhere else; proxy variables of the environment are not
//! read either.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

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

/// How long a connection may take to be made: name, TCP and TLS together.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long an unused connection is kept. Some servers close theirs after five seconds, and a
/// request that meets the closing is lost.
const IDLE_DEADLINE: Duration = Duration::from_secs(4);

/// Speaks HTTP/1.1 to others.
pub(super) type HttpClient = Client<TimelyConnector, Full<Bytes>>;

/// Whose word is taken for who the other is.
#[derive(Clone, Debug)]
pub struct Roots(RootCertStore);

/// The system has no certificates to check another's with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no certificates of authorities found{0}")]
pub struct NoRoots(String);

impl Roots {
    /// The system's certificates. The variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
    ///
    /// # Errors
    /// [`NoRoots`] when there is not one that can be read.
    pub fn of_system() -> Result<Self, NoRoots> {
        let found = rustls_native_certs::load_native_certs();
        let roots = Self::of(found.certs);
        if roots.0.is_empty() {
            let first = found.errors.first();
            return Err(NoRoots(
                first.map_or_else(String::new, |error| format!(": {error}")),
            ));
        }
        Ok(roots)
    }

    /// These certificates alone. Systems keep some that no parser takes: they are left out.
    #[must_use]
    pub fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        Self(roots)
    }
}

/// A client for at most `connections_max` requests at once.
///
/// # Errors
/// When TLS cannot be set up, which is a fault of the build.
pub(super) fn client(roots: Roots, connections_max: usize) -> Result<HttpClient, rustls::Error> {
    let tls =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots.0)
            .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_DEADLINE)
        .pool_max_idle_per_host(connections_max)
        .build(TimelyConnector(connector)))
}

/// A connector that gives up in time.
#[derive(Clone)]
pub(super) struct TimelyConnector(HttpsConnector<HttpConnector>);

type Connected = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for TimelyConnector {
    type Response = Connected;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Connected, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
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

/// What went wrong, to the innermost reason: the outer ones only say that something did.
pub(super) fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(error) = inner {
        let reason = error.to_string();
        if !text.ends_with(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        inner = error.source();
    }
    text
}
