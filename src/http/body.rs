//! Reading a request's body: the right media type, at most so many bytes, in so much time.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, ORIGIN};

use super::problem::{Code, Problem};

/// An error of a body or of what reads it.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Reads all of `body`.
///
/// # Errors
/// A problem when it is larger than `bytes_max`, slower than `deadline`, or breaks off.
pub(crate) async fn read<B>(body: B, bytes_max: usize, deadline: Duration) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let too_large = || {
        Problem::new(
            Code::PayloadTooLarge,
            format!("The body is larger than {bytes_max} bytes."),
        )
    };
    // A body that says it is too large is not read at all.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let collect = Limited::new(body, bytes_max).collect();
    match tokio::time::timeout(deadline, collect).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::of(Code::MalformedBody).because(error)),
        Err(_elapsed) => Err(Problem::new(
            Code::RequestTimeout,
            format!(
                "The body did not arrive within {} seconds.",
                deadline.as_secs()
            ),
        )),
    }
}

/// Whether the headers let the body count as JSON.
///
/// No `Content-Type` at all does, unless the request comes from a page of an origin other than
/// `own_origin`: such a page could send it without asking first (the Fetch standard's
/// CORS-safelisted requests).
///
/// # Errors
/// A problem when the body is something else.
pub(crate) fn check_media_type(headers: &HeaderMap, own_origin: &str) -> Result<(), Problem> {
    let is_json = match headers.get(CONTENT_TYPE) {
        Some(value) => {
            let essence = value.as_bytes().split(|&byte| byte == b';').next();
            essence.is_some_and(|essence| {
                essence
                    .trim_ascii()
                    .eq_ignore_ascii_case(b"application/json")
            })
        }
        None => headers
            .get(ORIGIN)
            .is_none_or(|origin| origin.as_bytes() == own_origin.as_bytes()),
    };
    if is_json {
        Ok(())
    } else {
        Err(Problem::of(Code::UnsupportedMediaType))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn media_types_and_origins() {
        const OWN: &str = "https://example.com";
        for (content_type, origin, is_json) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON; charset=utf-8"), None, true),
            (Some("application/json"), Some("https://evil.example"), true),
            (Some("application/jsonp"), None, false),
            (Some("application/problem+json"), None, false),
            (Some("text/plain"), None, false),
            (Some("application/x-www-form-urlencoded"), Some(OWN), false),
            (Some(""), None, false),
            (None, None, true),
            (None, Some(OWN), true),
            (None, Some("https://evil.example"), false),
            (None, Some("null"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(content_type) = content_type {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            }
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(
                check_media_type(&headers, OWN).is_ok(),
                is_json,
                "{content_type:?} {origin:?}"
            );
        }
    }
}
