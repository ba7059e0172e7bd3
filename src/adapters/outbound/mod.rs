//! Outbound connections: the HTTP client of the model, the webhook and the certificate authority, and SMTP.
//! Connections are pooled, use TLS for `https`, and have limits on connecting and on the head of a response.
//!
//! Requests may contain secrets and personal data, so they go only to the configured address: redirects are
//! not followed, and the environment's proxy variables are not read.
//!
//! | Module | Connects to |
//! |---|---|
//! | [`webhook`] | the newsletter provider |
//! | [`smtp`] | the operator's mail relay |
//! | [`probe`] | any address, to check whether it responds |

pub mod probe;
pub mod smtp;
pub mod webhook;

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT,
};
use hyper::http::{self, request};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use crate::adapters::files::pem::{Certificates, certificates_in};
use crate::domain::quoted;

/// Deadline of DNS, TCP and TLS together; all addresses of a name share it.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Idle time before a connection is probed: shorter than a NAT keeps its entry.
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);
/// Lifetime of an idle connection. Some servers close theirs after five seconds, and a request
/// sent at that moment is lost.
const IDLE_DEADLINE: Duration = Duration::from_secs(4);

/// Buffer of a response, in bytes: its head has to fit.
const HEAD_BYTES_MAX: usize = 64 * 1024;

pub(super) const PRODUCT: &str = concat!("landing-api/", env!("CARGO_PKG_VERSION"));

/// An HTTP/1.1 client.
pub(super) type HttpClient = Client<TimelyConnector, Full<Bytes>>;

/// The trusted certificate authorities.
#[derive(Clone, Debug)]
pub struct Roots(RootCertStore);

impl Roots {
    /// The system's certificates, or those that the variables `SSL_CERT_FILE` (`named_file`) and `SSL_CERT_DIR`
    /// name, and `more` of the operator's own.
    ///
    /// # Errors
    /// The reason why there are none.
    pub fn of_system(named_file: Option<&Path>, more: Certificates) -> Result<Self, String> {
        // As long as `SSL_CERT_DIR` holds a certificate, a mistake would only show when a connection is refused.
        let named = named_file.map_or(Ok(Vec::new()), |path| {
            certificates_in(path).map_err(|why| format!("SSL_CERT_FILE: {}: {why}", path.display()))
        })?;
        let found = rustls_native_certs::load_native_certs();
        let roots = Self::of(found.certs.into_iter().chain(named).chain(more));
        match (roots.0.is_empty(), found.errors.first()) {
            (true, None) => return Err("no CA certificates found".to_owned()),
            (true, Some(error)) => return Err(format!("no CA certificates found: {error}")),
            (false, None) => {}
            (false, Some(error)) => tracing::warn!(%error, "some CA certificates are ignored"),
        }
        Ok(roots)
    }

    /// Only these certificates. Unparsable ones are ignored: systems have some.
    pub fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        Self(roots)
    }

    /// TLS 1.2 and 1.3 of clients: they verify the server's certificate and have none themselves. The cryptography is
    /// ring, the only provider that rustls is built with.
    pub(super) fn tls(self) -> ClientConfig {
        ClientConfig::builder()
            .with_root_certificates(self.0)
            .with_no_client_auth()
    }
}

/// A client with up to `connections_max` idle connections.
pub(super) fn client(roots: Roots, connections_max: usize) -> HttpClient {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_DEADLINE)
        .pool_max_idle_per_host(connections_max)
        .http1_max_buf_size(HEAD_BYTES_MAX)
        .build(connector(roots))
}

/// The beginning of a request that posts JSON.
pub(super) fn post_json(uri: &Uri) -> request::Builder {
    Request::post(uri)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, PRODUCT)
}

/// Sends `request` and waits for the head of the response.
///
/// # Errors
/// The reason why there is no response within `deadline`, which includes connecting.
pub(super) async fn send(
    http: &HttpClient,
    request: http::Result<Request<Full<Bytes>>>,
    deadline: Duration,
) -> Result<Response<Incoming>, String> {
    let request = request.map_err(|error| error.to_string())?;
    let late = |_elapsed| format!("no response within {} seconds", deadline.as_secs());
    let response = timeout(deadline, http.request(request))
        .await
        .map_err(late)?;
    response.map_err(|error| {
        let what = match error.is_connect() {
            true => "cannot connect",
            false => "the connection was lost before the response",
        };
        format!("{what}: {}", root_cause(&error))
    })
}

/// The status of an unsuccessful response, and the target of a redirect, without its query.
pub(super) fn refusal_in_words(status: StatusCode, headers: &HeaderMap) -> String {
    let number = status.as_u16();
    if !status.is_redirection() {
        return format!("responded with {number}");
    }
    let location = headers
        .get(LOCATION)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let address = location.split(|byte| b"?#".contains(byte)).next();
    let address = quoted(address.unwrap_or_default(), None);
    format!("responded with {number}, a redirect to \"{address}\"; redirects are not followed")
}

/// The pause requested by `Retry-After` (RFC 9110, section 10.2.3), if any.
///
/// A date is measured from the response's own `Date`: both use the server's clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| Some(headers.get(name)?.to_str().ok()?.trim());
    let date = |name| httpdate::parse_http_date(text(name)?).ok();
    let pause = match text(RETRY_AFTER)?.parse::<f64>() {
        // Fractions are not standard, but in use. Nothing below zero is a pause.
        Ok(seconds) => Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX),
        Err(_no_number) => date(RETRY_AFTER)?.duration_since(date(DATE)?).ok()?,
    };
    (!pause.is_zero()).then_some(pause)
}

/// Connects by TCP, within a deadline that a name's addresses share: one that drops packets does not keep the others
/// from being tried.
fn tcp<R>(resolver: R) -> HttpConnector<R> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_DEADLINE));
    tcp.set_keepalive(Some(KEEPALIVE_TIME));
    tcp.set_nodelay(true);
    tcp
}

/// Connects to the first address of `host` that responds.
///
/// # Errors
/// The name is unknown, or no address responds within 5 s.
pub(super) async fn connect(host: impl Display, port: u16) -> io::Result<TcpStream> {
    let mut host = host.to_string();
    if host.contains(':') {
        host = format!("[{host}]");
    }
    let uri = format!("http://{host}:{port}")
        .parse()
        .map_err(io::Error::other)?;
    let connected = timeout(CONNECT_DEADLINE, tcp(GaiResolver::new()).call(uri)).await;
    let late = |_elapsed| io::Error::other("no connection within 5 seconds");
    let stream = connected
        .map_err(late)?
        .map_err(|error| io::Error::other(root_cause(&error)))?;
    Ok(stream.into_inner())
}

/// A connector with a deadline.
#[derive(Clone)]
pub(super) struct TimelyConnector(HttpsConnector<HttpConnector>);

pub(super) fn connector(roots: Roots) -> TimelyConnector {
    TimelyConnector((tcp(GaiResolver::new()), roots.tls()).into())
}

impl Service<Uri> for TimelyConnector {
    type Response = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async { timeout(CONNECT_DEADLINE, connecting).await? })
    }
}

/// The innermost source of an error, quoted: the outer ones only say that something went wrong.
pub(super) fn root_cause(mut error: &dyn Error) -> String {
    while let Some(inner) = error.source() {
        error = inner;
    }
    quoted(error.to_string().as_bytes(), None)
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::net::{SocketAddr, TcpListener};

    use hyper_util::client::legacy::connect::dns::Name;
    use proptest::prelude::*;
    use socket2::{Domain, Socket, Type};

    use super::*;

    /// Resolves any name to these addresses.
    #[derive(Clone)]
    struct Addresses(Vec<SocketAddr>);

    impl Service<Name> for Addresses {
        type Response = std::vec::IntoIter<SocketAddr>;
        type Error = io::Error;
        type Future = Ready<io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            ready(Ok(self.0.clone().into_iter()))
        }
    }

    #[tokio::test]
    async fn an_address_that_drops_packets_does_not_keep_the_other_from_being_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let responding = listener.local_addr().unwrap();
        let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let dropping = SocketAddr::from(([127, 0, 0, 2], responding.port()));
        full.bind(&dropping.into()).unwrap();
        // A listener whose queue is full drops what comes.
        full.listen(0).unwrap();
        let mut queued = Vec::new();
        let soon = Duration::from_millis(250);
        while let Ok(Ok(stream)) = timeout(soon, TcpStream::connect(dropping)).await {
            queued.push(stream);
        }
        let addresses = Addresses(vec![dropping, responding]);
        let url = format!("http://name.example:{}", responding.port());
        let connected = tcp(addresses).call(url.parse().unwrap());
        let connected = timeout(CONNECT_DEADLINE, connected).await.unwrap().unwrap();
        assert_eq!(connected.inner().peer_addr().unwrap(), responding);
    }

    #[test]
    fn seconds_and_dates_are_read_and_nonsense_is_not() {
        const NOON: &str = "Sat, 21 Nov 2026 12:00:00 GMT";
        const ELEVEN: &str = "Sat, 21 Nov 2026 11:00:00 GMT";
        const EARLIER: &str = "Sat, 21 Nov 2026 11:30:00 GMT";
        const LATER: &str = "Sat, 21 Nov 2026 12:00:30 GMT";
        let date = Some(NOON);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (value, date, expected) in [
            ("7", None, seconds(7)),
            (" 7 ", date, seconds(7)),
            ("0", None, None),
            (EARLIER, Some(ELEVEN), seconds(1800)),
            ("0.0", None, None),
            ("7.5", date, Some(Duration::from_millis(7500))),
            ("7.000", date, seconds(7)),
            ("99999999999999999999", None, Some(Duration::MAX)),
            ("inf", None, Some(Duration::MAX)),
            (LATER, date, seconds(30)),
            ("Saturday, 21-Nov-26 12:01:00 GMT", date, seconds(60)),
            ("Sat Nov 21 12:00:01 2026", date, seconds(1)),
            ("Sat, 21 Nov 2026 11:59:59 GMT", date, None),
            (LATER, None, None),
            (LATER, Some(""), None),
            ("Sat, 21 Nov 2020 12:00:30 GMT", date, None),
            ("s", date, None),
            ("", date, None),
            ("-7", date, None),
            ("nan", date, None),
            ("7.5.1", date, None),
            ("7,5", date, None),
            ("0x7", date, None),
            ("1e3", date, seconds(1000)),
            ("soon", date, None),
            ("\u{e9}", date, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            assert_eq!(retry_after(&headers), expected, "{value:?} {date:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn a_refusal_tells_where_a_redirect_leads_without_its_query() {
        const HOOK: &[u8] = b"https://a.test/hook?token=t#top";
        for (status, location, expected) in [
            (308, &b""[..], ""),
            (308, HOOK, "https://a.test/hook"),
            (301, b"/caf\xe9?ada@example.com", "/caf\u{FFFD}"),
            (302, b"https://ada@a.test/", "(address)"),
            (302, b"//a.test/#top", "//a.test/"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, HeaderValue::from_bytes(location).unwrap());
            let words = refusal_in_words(StatusCode::from_u16(status).unwrap(), &headers);
            let end = "redirects are not followed";
            let told = format!("responded with {status}, a redirect to \"{expected}\"; {end}");
            assert_eq!(words, told);
            let words = refusal_in_words(StatusCode::INTERNAL_SERVER_ERROR, &headers);
            assert_eq!(words, "responded with 500");
        }
        let words = refusal_in_words(StatusCode::NOT_MODIFIED, &HeaderMap::new());
        assert!(words.starts_with("responded with 304, a redirect to \"\";"));
    }

    proptest! {
        #[test]
        fn any_bytes_of_a_server_are_read(
            bytes: Vec<u8>,
            text in "[-0-9.GMTadenov: ]{0,40}",
        ) {
            for value in [bytes.as_slice(), text.as_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(value) else {
                    continue;
                };
                let mut headers = HeaderMap::new();
                headers.insert(RETRY_AFTER, value.clone());
                headers.insert(LOCATION, value);
                let pause = retry_after(&headers);
                prop_assert!(pause.is_none_or(|pause| !pause.is_zero()));
                let words = refusal_in_words(StatusCode::FOUND, &headers);
                prop_assert!(words.len() < 1000 && !words.contains('\n'));
            }
        }
    }
}
