//! Requests and connections that only find out whether something answers.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::USER_AGENT;
use hyper::{HeaderMap, Request, Uri};
use tokio::time::timeout;
use tower_service::Service as _;

use super::outbound::{PRODUCT, Roots, client, connector, error_chain};

const DEADLINE: Duration = Duration::from_secs(10);
const BODY_MAX: usize = 64 * 1024;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// The status code.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The value of a header that stands once in it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Asks for `url` on a connection of its own, with a header if one is given. Redirects are not followed.
///
/// # Errors
/// Why there is no answer.
pub async fn get(url: &str, header: Option<(&str, &str)>, roots: Roots) -> Result<Answer, String> {
    let http = client(roots, 0).map_err(|error| error.to_string())?;
    let mut request = Request::get(url).header(USER_AGENT, PRODUCT);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let request = request.body(Full::default());
    let request = request.map_err(|error| error.to_string())?;
    let answered = timeout(DEADLINE, async {
        let response = http.request(request).await;
        let (parts, body) = response.map_err(|error| error_chain(&error))?.into_parts();
        let body = Limited::new(body, BODY_MAX).collect().await;
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.map_err(|error| error.to_string())?.to_bytes(),
        })
    });
    let seconds = DEADLINE.as_secs();
    answered
        .await
        .map_err(|_elapsed| format!("no answer within {seconds} s"))?
}

/// Looks the host of `url` up and connects, with TLS if it is `https`. Sends no request.
///
/// # Errors
/// Why that is not possible.
pub async fn connect(url: &str, roots: Roots) -> Result<(), String> {
    let url: Uri = url.parse().map_err(|_bad| "not a URL".to_owned())?;
    let mut connector = connector(roots).map_err(|error| error.to_string())?;
    let connected = connector.call(url).await;
    connected.map(drop).map_err(|error| error_chain(&*error))
}
