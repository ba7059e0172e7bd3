//! Asking others over HTTP: connections that are pooled, over TLS where the address says so, and
//! made in time or not at all.
//!
//! Redirects are answers like any other. What is asked may hold secrets and personal data, and goes
//! to the address the operator named and nowhere else; proxy variables of the environment are not
//! read either.

use std::error::Error;
use std::future::Future;
use std::io;
use std::path::Path;
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

use super::operator_file::check_regular;

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

/// There is nobody to say who the other is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoots {
    /// The system has no certificates.
    #[error("no certificates of authorities found{0}")]
    Nowhere(String),
    /// The file that `SSL_CERT_FILE` names gives none.
    #[error("SSL_CERT_FILE: {0}: {1}")]
    Named(String, String),
}

/// Certificates that cannot be read are warned of one by one, up to so many.
const WARNINGS_MAX: usize = 8;

impl Roots {
    /// The system's certificates. The variables `SSL_CERT_FILE`, here as `named_file`, and
    /// `SSL_CERT_DIR` name others.
    ///
    /// # Errors
    /// [`NoRoots`] when there is not one that can be read, or none in the file that is named.
    pub fn of_system(named_file: Option<&Path>) -> Result<Self, NoRoots> {
        if let Some(path) = named_file {
            check_named(path).map_err(|why| NoRoots::Named(path.display().to_string(), why))?;
        }
        let found = rustls_native_certs::load_native_certs();
        let roots = Self::of(found.certs);
        if roots.0.is_empty() {
            let first = found.errors.first();
            return Err(NoRoots::Nowhere(
                first.map_or_else(String::new, |error| format!(": {error}")),
            ));
        }
        for error in found.errors.iter().take(WARNINGS_MAX) {
            tracing::warn!(%error, "some certificates of authorities are left out");
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

/// Says why there is no certificate in a file that was named: beside others that can be read, its
/// absence would show only when a connection is refused.
fn check_named(path: &Path) -> Result<(), String> {
    check_regular(path).map_err(|error| error.to_string())?;
    let found = rustls_native_certs::load_certs_from_paths(Some(path), None);
    if !found.certs.is_empty() {
        return Ok(());
    }
    let reason = found.errors.first().and_then(|error| error.source());
    Err(reason.map_or_else(|| "holds no certificate".to_owned(), ToString::to_string))
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
type BoxError = Box<dyn Error + Send + Sync>;

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
pub(super) fn reasons(error: &dyn Error) -> String {
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
