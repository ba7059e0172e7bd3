//! One request to the upstream and what comes back, under a deadline and a cap.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::answer::Completion;
use super::collector::Collector;
use super::events::EventReader;
use super::failure::{Discretion, Failure, Kind, UpstreamError};
use crate::adapters::outbound::{HttpClient, reasons};

/// The largest answer that is not streamed, in bytes.
const WHOLE_BYTES_MAX: usize = 1 << 20;
/// The largest streamed answer, in bytes: every word comes in hundreds of bytes of JSON.
const STREAM_BYTES_MAX: usize = 8 << 20;

/// Where and how the upstream is asked.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) http: HttpClient,
    pub(super) uri: Uri,
    pub(super) authorization: Option<HeaderValue>,
}

/// How far an answer has come: it decides who bears a turn that is cut off.
#[derive(Debug, Default)]
struct Progress {
    /// There is a byte of it.
    has_begun: bool,
    /// The model has stopped.
    is_finished: bool,
}

impl Upstream {
    /// Sends `body` and collects the answer.
    ///
    /// # Errors
    /// [`Failure`] when there is none that can be used by `deadline`.
    pub(super) async fn exchange(
        &self,
        body: Vec<u8>,
        is_streamed: bool,
        deadline: Instant,
        discretion: &Discretion<'_>,
        collector: &mut Collector<'_>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::default();
        let request = self.request(body, is_streamed);
        let work = self.work(request, discretion, collector, &mut progress);
        match timeout_at(deadline, work).await {
            Ok(result) => result?,
            // Only the end of the transfer is missing.
            Err(_elapsed) if progress.is_finished => {}
            Err(_elapsed) if progress.has_begun => {
                return Err(Failure::new(Kind::Late, "the answer was not whole in time"));
            }
            Err(_elapsed) => {
                return Err(Failure::new(Kind::Silent, "no answer in time"));
            }
        }
        collector.finish().await
    }

    fn request(&self, body: Vec<u8>, is_streamed: bool) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let accept = if is_streamed {
            EVENT_STREAM
        } else {
            "application/json"
        };
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let user_agent = concat!("landing-api/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }

    async fn work(
        &self,
        request: Request<Full<Bytes>>,
        discretion: &Discretion<'_>,
        collector: &mut Collector<'_>,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let response = self.http.request(request).await.map_err(|error| {
            let what = if error.is_connect() {
                "cannot connect"
            } else {
                "the connection broke before the answer"
            };
            Failure::new(Kind::Unreachable, format!("{what}: {}", reasons(&error)))
        })?;
        let status = response.status();
        if status.is_redirection() {
            let cause = format!("upstream answered {status}; redirects are not followed");
            return Err(Failure::unusable(cause));
        }
        if !status.is_success() {
            return Err(refusal(response, discretion).await);
        }
        if media_type(response.headers()) == EVENT_STREAM {
            read_stream(response.into_body(), discretion, collector, progress).await
        } else {
            let body = read_whole(response.into_body(), progress).await?;
            let completion = completion(&body, discretion)?;
            collector.take(&completion).await
        }
    }
}

const EVENT_STREAM: &str = "text/event-stream";

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let text = String::from_utf8_lossy(value.unwrap_or_default());
    let essence = text.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The failure that an answer with an error's status is.
async fn refusal(response: Response<Incoming>, discretion: &Discretion<'_>) -> Failure {
    let status = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    // An error whose text cannot be read is an error all the same.
    let body = read_whole(response.into_body(), &mut Progress::default()).await;
    let error = body
        .ok()
        .and_then(|body| serde_json::from_slice::<Value>(&body).ok())
        .and_then(|body| UpstreamError::find(&body))
        .unwrap_or_default();
    Failure::new(
        error.kind(status.as_u16(), retry_after),
        error.describe(status.as_u16(), discretion),
    )
}

async fn read_whole(mut body: Incoming, progress: &mut Progress) -> Result<Vec<u8>, Failure> {
    let mut whole = Vec::new();
    while let Some(bytes) = next(&mut body).await? {
        if whole.len() + bytes.len() > WHOLE_BYTES_MAX {
            return Err(Failure::unusable("the answer is too large"));
        }
        // Some servers send blanks while the model has not begun, so that nobody hangs up.
        progress.has_begun |= bytes.iter().any(|byte| !byte.is_ascii_whitespace());
        whole.extend_from_slice(&bytes);
    }
    Ok(whole)
}

async fn read_stream(
    mut body: Incoming,
    discretion: &Discretion<'_>,
    collector: &mut Collector<'_>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let mut reader = EventReader::default();
    let mut seen = 0;
    loop {
        let bytes = match next(&mut body).await {
            Ok(bytes) => bytes,
            Err(_broken) if progress.is_finished => return Ok(()),
            Err(broken) => return Err(broken),
        };
        let is_end = bytes.is_none();
        let events = match bytes {
            Some(bytes) => {
                seen += bytes.len();
                if seen > STREAM_BYTES_MAX {
                    return Err(Failure::unusable("the answer is too large"));
                }
                let unusable = |error: super::events::EventTooLong| error.to_string();
                reader
                    .push(&bytes)
                    .map_err(|error| Failure::unusable(unusable(error)))?
            }
            None => reader.finish().into_iter().collect(),
        };
        for event in events {
            if event.trim_ascii() == b"[DONE]" {
                return Ok(());
            }
            let completion = completion(&event, discretion)?;
            progress.has_begun = true;
            progress.is_finished |= completion.finish.is_some();
            collector.take(&completion).await?;
        }
        // Not every server says that it is done.
        if is_end {
            return Ok(());
        }
    }
}

/// The next bytes of a body; nothing at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(error)) => {
                let cause = format!("the answer broke off: {}", reasons(&error));
                return Err(Failure::unusable(cause));
            }
        }
    }
}

/// Reads a completion, or a chunk of one, that came with a status of success.
fn completion(body: &[u8], discretion: &Discretion<'_>) -> Result<Completion, Failure> {
    let status = StatusCode::OK.as_u16();
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Failure::unusable(format!("the answer is not JSON: {error}")))?;
    match UpstreamError::find(&body) {
        Some(error) => Err(Failure::new(
            error.kind(status, None),
            error.describe(status, discretion),
        )),
        None => Ok(Completion::read(&body)),
    }
}
