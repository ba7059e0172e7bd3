//! Reading a request's body: the right media type, at most so many bytes, in so much time.

use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::cors::AllowedOrigins;
use super::problem::{Code, Problem};

/// An error of a body or of what reads it.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// What all bodies that are being read may take together, in KiB.
const ROOM_KIB: usize = 64 * 1024;

/// Reads bodies, of all requests together no more than there is room for.
#[derive(Debug)]
pub(crate) struct BodyReader {
    deadline: Duration,
    /// A permit for each KiB.
    room: Semaphore,
}

impl BodyReader {
    /// A reader that gives each body `deadline` to arrive.
    pub(crate) const fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            room: Semaphore::const_new(ROOM_KIB),
        }
    }

    /// Reads all of `body`.
    ///
    /// # Errors
    /// A problem when it is larger than `bytes_max`, slower than the deadline, or breaks off, or
    /// when there is no room for it in that time.
    pub(crate) async fn read<B>(&self, body: B, bytes_max: usize) -> Result<Bytes, Problem>
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
        let announced = body
            .size_hint()
            .exact()
            .and_then(|bytes| bytes.try_into().ok());
        let kib = announced.unwrap_or(bytes_max).div_ceil(1024);
        let room = self
            .room
            .acquire_many(u32::try_from(kib).unwrap_or(u32::MAX));
        let Ok(Ok(_room)) = timeout(self.deadline, room).await else {
            return Err(Problem::of(Code::Overloaded).because("no room for the body"));
        };
        match timeout(self.deadline, collect(body, bytes_max)).await {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Ok(None)) => Err(too_large()),
            Ok(Err(error)) => Err(Problem::of(Code::MalformedBody).because(error)),
            Err(_elapsed) => Err(Problem::new(
                Code::RequestTimeout,
                format!(
                    "The body did not arrive within {} seconds.",
                    self.deadline.as_secs()
                ),
            )),
        }
    }
}

/// Copies a body together; nothing if it is larger than `bytes_max`. Kept as they come, frames of a
/// byte would each hold on to the buffer they were read into.
async fn collect<B>(body: B, bytes_max: usize) -> Result<Option<Bytes>, BodyError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let mut body = pin!(body);
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Into::into)?.into_data() {
            if bytes.len() + data.len() > bytes_max {
                return Ok(None);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Some(bytes.freeze()))
}

/// Whether the headers let the body count as JSON.
///
/// No `Content-Type` at all does, unless the request comes from a page of an origin that is
/// neither `own_origin` nor one of `allowed`: such a page could send it without asking first (the
/// Fetch standard's CORS-safelisted requests). For the same reason an empty body, which needs no
/// type otherwise, does not from there.
///
/// # Errors
/// A problem when the body is something else.
pub(crate) fn check_media_type(
    headers: &HeaderMap,
    own_origin: &str,
    allowed: &AllowedOrigins,
    is_empty: bool,
) -> Result<(), Problem> {
    let is_own = |origin: &HeaderValue| origin.as_bytes() == own_origin.as_bytes();
    let is_ours = headers.get(ORIGIN).is_none_or(is_own) || allowed.of(headers).is_some();
    if is_ours && is_empty {
        return Ok(());
    }
    let is_json = match headers.get(CONTENT_TYPE) {
        Some(value) => {
            let essence = value.as_bytes().split(|&byte| byte == b';').next();
            essence.is_some_and(|essence| {
                essence
                    .trim_ascii()
                    .eq_ignore_ascii_case(b"application/json")
            })
        }
        None => is_ours,
    };
    if is_json {
        Ok(())
    } else {
        Err(Problem::of(Code::UnsupportedMediaType))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body_util::Full;
    use hyper::body::Frame;

    use super::*;

    /// A body that never comes.
    struct Silence;

    impl Body for Silence {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_for_room_and_are_refused_if_none_comes() {
        let reader = BodyReader {
            deadline: Duration::from_secs(10),
            room: Semaphore::const_new(8),
        };
        let short = || Full::new(Bytes::from_static(b"{}"));
        // A body of unknown length takes all it may need.
        let (silent, waiting) = tokio::join!(reader.read(Silence, 8192), async {
            tokio::task::yield_now().await;
            reader.read(short(), 8192).await
        });
        assert_eq!(silent.unwrap_err().code, Code::RequestTimeout);
        assert_eq!(waiting.unwrap(), "{}", "there was room in the end");

        let taken = reader.room.acquire_many(8).await.unwrap();
        let refused = reader.read(short(), 8192).await;
        assert_eq!(refused.unwrap_err().code, Code::Overloaded);
        drop(taken);
        assert_eq!(reader.read(short(), 8192).await.unwrap(), "{}");
    }

    #[test]
    fn media_types_and_origins() {
        const OWN: &str = "https://example.com";
        let allowed = AllowedOrigins::new(["https://shop.example".to_owned()]);
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
            let check = |is_empty| check_media_type(&headers, OWN, &allowed, is_empty).is_ok();
            assert_eq!(check(false), is_json, "{content_type:?} {origin:?}");
            let is_ours =
                origin.is_none_or(|origin| [OWN, "https://shop.example"].contains(&origin));
            assert_eq!(
                check(true),
                is_json || is_ours,
                "{content_type:?} {origin:?}"
            );
        }
    }
}
