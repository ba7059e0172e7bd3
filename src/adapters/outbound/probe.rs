//! Requests and connections that only test whether something responds.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::header::USER_AGENT;
use hyper::http::response;
use hyper::{Request, Uri};
use hyper_rustls::MaybeHttpsStream;
use tokio::net::lookup_host;
use tower_service::Service as _;

use crate::adapters::outbound::{PRODUCT, Roots, TimelyConnector, client, root_cause, send, tls};

const DEADLINE: Duration = Duration::from_secs(10);

/// The head of a response.
pub type ProbeAnswer = response::Parts;

/// Requests `url` on a new connection, with a header if one is given. Redirects are not followed.
pub async fn get(
    url: &str,
    header: Option<(&str, &str)>,
    roots: Roots,
) -> Result<ProbeAnswer, String> {
    let http = client(roots, 0);
    let mut request = Request::get(url).header(USER_AGENT, PRODUCT);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let answered = send(&http, request.body(Full::default()), DEADLINE).await?;
    Ok(answered.into_parts().0)
}

/// A warning if `host` has an IPv6 address that a service listening on the IPv4 address `listen` does not serve.
pub async fn unheard_ipv6(host: &str, listen: SocketAddr) -> Option<String> {
    let found = lookup_host((host, listen.port())).await;
    let is_unheard = listen.is_ipv4() && found.ok()?.any(|address| address.is_ipv6());
    is_unheard.then(|| {
        format!(
            "{host} has an AAAA record, and the service listens only on IPv4 ({listen}): listen on [::]:443, or \
             remove that record"
        )
    })
}

/// Looks up the host of `url` and connects, with TLS if it is `https`. Sends no request. Returns the presented
/// certificate in DER, if there is TLS.
pub async fn connect(url: &str, roots: Roots) -> Result<Option<Vec<u8>>, String> {
    let url: Uri = url.parse().map_err(|_bad| "not a URL".to_owned())?;
    let connected = TimelyConnector(tls(roots)).call(url).await;
    match connected.map_err(|error| root_cause(&*error))? {
        MaybeHttpsStream::Http(_) => Ok(None),
        MaybeHttpsStream::Https(stream) => {
            let presented = stream.inner().get_ref().1.peer_certificates();
            Ok(presented.and_then(|chain| Some(chain.first()?.to_vec())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_ipv6_address_is_unheard_where_only_ipv4_is_listened_on() {
        for (host, listen, is_unheard) in [
            ("::1", "0.0.0.0:443", true),
            ("127.0.0.1", "0.0.0.0:443", false),
            ("::1", "[::]:443", false),
            ("a name that is none", "0.0.0.0:443", false),
        ] {
            let told = unheard_ipv6(host, listen.parse().unwrap()).await;
            assert_eq!(told.is_some(), is_unheard, "{host} {listen}: {told:?}");
        }
    }
}
