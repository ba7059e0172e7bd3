//! The transport of the ACME client: the service's HTTP client, with a deadline and a size limit.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use instant_acme::{BodyWrapper, BytesResponse, Error};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{HttpClient, root_cause, send};

/// Deadline of the head of a response.
const DEADLINE: Duration = Duration::from_secs(30);

/// Certificate chains have a few KiB. The files that store them are read up to 64 KiB.
const ANSWER_BYTES_MAX: usize = 60 * 1024;

/// The HTTP client of an order.
pub(super) struct AcmeHttp(pub(super) HttpClient);

impl instant_acme::HttpClient for AcmeHttp {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let http = self.0.clone();
        Box::pin(async move {
            let answer = exchange(&http, request).await;
            answer
                .map(Into::into)
                .map_err(|why| Error::Other(why.into()))
        })
    }
}

async fn exchange(
    http: &HttpClient,
    request: Request<BodyWrapper<Bytes>>,
) -> Result<Response<Full<Bytes>>, String> {
    let (head, body) = request.into_parts();
    // The body is in memory, so this never fails.
    let body = body.collect().await.map_err(|never| never.to_string())?;
    let request = Request::from_parts(head, Full::new(body.to_bytes()));
    let (head, body) = send(http, Ok(request), DEADLINE).await?.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| root_cause(error.as_ref() as &(dyn StdError + 'static)))?;
    // The ACME client is strict about JSON.
    let text = lenient_json::mended(&body.to_bytes());
    let (status, is_json) = (head.status, text.trim_start().starts_with('{'));
    if !is_json && (status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS) {
        // This response is from a proxy in front of the authority.
        return Err(format!("it responded with {status}"));
    }
    Ok(Response::from_parts(head, Full::new(text.into())))
}
