//! Reading a request's body within its media type, maximum size, deadline and memory budget.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Bytes};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;

use crate::domain::Network;

use crate::http::endpoint::within;
use crate::http::server::shares::{Share, Shares};
use crate::http::{AllowedOrigins, BodyRule, Code, Problem};

/// An error from a body or its reader.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Memory for bodies being read, and for all heads waiting for a body, in bytes.
pub(crate) const BODY_BYTES: usize = 96 * 1024 * 1024;

/// Memory of a request that waits for its body, without its head, in bytes.
const WAITING_BYTES: usize = 4 * 1024;
/// Memory of a header, without its name and value, in bytes.
const HEADER_BYTES: usize = 128;

/// Reads bodies within a shared memory budget. Only bytes that have arrived count, not announced ones.
#[derive(Debug)]
pub(crate) struct BodyReader {
    deadline: Duration,
    /// Shares of [`BODY_BYTES`], of which a network may hold an eighth.
    memory: Arc<Shares>,
}

impl BodyReader {
    /// A reader that gives each body `deadline` to arrive.
    pub(crate) fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            memory: Shares::new(BODY_BYTES),
        }
    }

    /// Bytes counted now.
    pub(crate) fn held(&self) -> usize {
        self.memory.held()
    }

    /// Reads all of `body`, which comes from `network` after a head of [`head_bytes`].
    ///
    /// # Errors
    /// A problem when it is larger than `bytes_max`, slower than the deadline, broken off, or over budget.
    pub(crate) async fn read(
        &self,
        network: Network,
        head_bytes: usize,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
        bytes_max: usize,
    ) -> Result<Bytes, Problem> {
        let memory = self.memory.of(network);
        let collected = collect(body, bytes_max, head_bytes, memory);
        let collected = within(self.deadline, collected).await;
        collected.unwrap_or_else(|_elapsed| {
            let seconds = self.deadline.as_secs();
            let detail = format!("The body did not arrive within {seconds} seconds.");
            Err(Problem::new(Code::RequestTimeout, detail))
        })
    }
}

/// Memory of a request with this head while it waits for its body, in bytes.
pub(crate) fn head_bytes(head: &Parts) -> usize {
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| HEADER_BYTES + name.as_str().len() + value.len());
    let target = head.uri.path_and_query().map_or(0, |it| it.as_str().len());
    WAITING_BYTES + target + headers.sum::<usize>()
}

/// Copies a body into one buffer, counted in `memory` with its head. Frames are not kept: a frame of one byte
/// would keep the whole read buffer alive.
async fn collect(
    body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    bytes_max: usize,
    head_bytes: usize,
    mut memory: Share,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("The body is larger than {bytes_max} bytes.");
        Problem::new(Code::PayloadTooLarge, detail)
    };
    let mut hold = |body_bytes: usize| {
        let grown = memory.grow_to(head_bytes + body_bytes);
        grown.map_err(|cause| Problem::of(Code::Overloaded).because(cause))
    };
    // A body announced as too large is not read.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    hold(0)?;
    let mut body = pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Problem::of(Code::MalformedBody).because(error.into()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > bytes_max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
        hold(bytes.capacity())?;
    }
    Ok(Bytes::from(bytes))
}

/// Checks that the headers let the body count as one of `media_types`.
///
/// A missing `Content-Type` passes, unless the request comes from a page of an origin that is neither
/// `own_origin` nor one of `allowed`: such a page could send it without a preflight (a CORS-safelisted
/// request of the Fetch standard). An empty body needs no type, except from there.
///
/// # Errors
/// A problem when the body is of another type.
pub(crate) fn check_media_type(
    media_types: &[&str],
    headers: &HeaderMap,
    own_origin: &str,
    allowed: &AllowedOrigins,
    is_empty: bool,
) -> Result<(), Problem> {
    let is_ours = allowed.admits(headers, own_origin);
    if is_ours && is_empty {
        return Ok(());
    }
    let is_right = match headers.get(CONTENT_TYPE) {
        // Most requests send the bare type, without parameters.
        Some(value) => media_types
            .iter()
            .any(|kind| value == *kind || is_of_type(headers, kind)),
        None => is_ours,
    };
    if is_right {
        Ok(())
    } else {
        let detail = format!("The Content-Type must be {}.", media_types.join(" or "));
        Err(Problem::new(Code::UnsupportedMediaType, detail))
    }
}

/// Refuses the media type that `rule` refuses explicitly.
///
/// # Errors
/// The problem of that media type.
pub(crate) fn check_refused(rule: BodyRule, headers: &HeaderMap) -> Result<(), Problem> {
    match rule.refused {
        Some((media_type, code)) if is_of_type(headers, media_type) => Err(Problem::of(code)),
        Some(_) | None => Ok(()),
    }
}

/// True if `Content-Type` is `media_type`, whatever its parameters. If a proxy joined several, the first
/// counts.
fn is_of_type(headers: &HeaderMap, media_type: &str) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        let essence = value.as_bytes().split(|byte| b";,".contains(byte)).next();
        let essence = essence.unwrap_or_default().trim_ascii();
        essence.eq_ignore_ascii_case(media_type.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use hyper::header::{HeaderValue, ORIGIN};

    use super::*;

    const NETWORK: Network = Network::V4([192, 0, 2, 1]);

    /// One network may hold 100 bytes.
    fn reader() -> BodyReader {
        BodyReader {
            deadline: Duration::from_secs(10),
            memory: Shares::new(800),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_in_many_frames_takes_at_most_twice_its_size() {
        let reader = reader();
        for (frames, bytes_max, code) in [
            (64, 80, Code::RequestTimeout),
            (65, 80, Code::Overloaded),
            (65, 64, Code::PayloadTooLarge),
        ] {
            let frame = || Ok::<_, BodyError>(Frame::data(Bytes::from_static(b"x")));
            let frames = stream::repeat_with(frame).take(frames);
            // Nothing follows, not even an end.
            let body = StreamBody::new(frames.chain(stream::pending()));
            let unended = reader.read(NETWORK, 0, body, bytes_max).await;
            assert_eq!(unended.unwrap_err().code, code);
        }
        assert_eq!(reader.held(), 0);
    }

    #[test]
    fn a_head_weighs_what_it_takes() {
        let request = hyper::Request::post("/chat?a=1").header("cookie", "x".repeat(1000));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let of_cookie = HEADER_BYTES + 6 + 1000;
        assert_eq!(head_bytes(&parts), WAITING_BYTES + 9 + of_cookie);
    }

    #[test]
    fn media_types_and_origins() {
        const OWN: &str = "https://example.com";
        let allowed = AllowedOrigins::new(["https://shop.example".to_owned()]);
        for (content_type, origin, is_json) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON; charset=utf-8"), None, true),
            (Some("application/json"), Some("https://evil.example"), true),
            (Some("application/json, application/json"), None, true),
            (Some("text/plain, application/json"), None, false),
            (Some("application/jsonp"), None, false),
            (Some("application/problem+json"), None, false),
            (Some("text/plain"), None, false),
            (Some("application/x-www-form-urlencoded"), Some(OWN), false),
            (Some(""), None, false),
            (None, None, true),
            (None, Some(OWN), true),
            (None, Some("https://evil.example"), false),
            (None, Some("null"), false),
            (None, Some("https://shop.example"), true),
            (None, Some("http://shop.example"), false),
            (Some("text/plain"), Some("https://shop.example"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(content_type) = content_type {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            }
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            let check = |is_empty| {
                check_media_type(&["application/json"], &headers, OWN, &allowed, is_empty).is_ok()
            };
            assert_eq!(check(false), is_json, "{content_type:?} {origin:?}");
            let ours = [None, Some(OWN), Some("https://shop.example")];
            let is_taken = is_json || ours.contains(&origin);
            assert_eq!(check(true), is_taken, "{content_type:?} {origin:?}");
        }
    }
}
