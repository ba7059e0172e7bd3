//! Requests and connections that only test whether something responds.

use std::time::Duration;

use http_body_util::Full;
use hyper::header::USER_AGENT;
use hyper::http::response;
use hyper::{Request, Uri};
use hyper_rustls::MaybeHttpsStream;
use tower_service::Service as _;

use crate::adapters::outbound::{PRODUCT, Roots, client, connector, root_cause, send};

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

/// Looks up the host of `url` and connects, with TLS if it is `https`. Sends no request. Returns the presented
/// certificate in DER, if there is TLS.
pub async fn connect(url: &str, roots: Roots) -> Result<Option<Vec<u8>>, String> {
    let url: Uri = url.parse().map_err(|_bad| "not a URL".to_owned())?;
    let connected = connector(roots).call(url).await;
    match connected.map_err(|error| root_cause(&*error))? {
        MaybeHttpsStream::Http(_) => Ok(None),
        MaybeHttpsStream::Https(stream) => {
            let presented = stream.inner().get_ref().1.peer_certificates();
            Ok(presented.and_then(|chain| Some(chain.first()?.to_vec())))
        }
    }
}
