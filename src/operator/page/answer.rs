//! Responses and failures of the admin page.

use std::error::Error;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use hyper::{Response, StatusCode};
use minijinja::context;

use crate::operator::operation::OperatorError;
use crate::operator::sessions::Session;

use super::views::Views;

/// The body of a request or a response. An error ends it before it is complete.
pub type PageBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Permissions of a page in browsers: to show it with our stylesheet and icon, and to send its forms here.
/// There is no script.
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

/// Headers of every response of the page.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Why a page can't be shown, or a change made.
#[derive(Debug)]
pub(super) struct PageError {
    status: StatusCode,
    /// Its title and text in `message.html`.
    kind: &'static str,
    /// The part of the text that only this error has; with `method`, the methods that there are.
    words: String,
}

impl PageError {
    pub(super) fn new(status: StatusCode, kind: &'static str, words: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            words: words.into(),
        }
    }

    /// The page that reports it, for a session or for nobody in particular.
    pub(super) fn page(&self, views: &Views, session: Option<&Session>) -> Response<PageBody> {
        let Self { kind, words, .. } = self;
        if self.status.is_server_error() {
            tracing::warn!(error = %words, "the admin page cannot be shown");
        }
        let values = context! { kind => *kind, words };
        let filled = views.fill("message.html", "", session, values);
        let text = filled.unwrap_or_else(|error| error.to_string());
        let mut response = html(self.status, text);
        if let Ok(methods) = HeaderValue::from_str(words)
            && *kind == "method"
        {
            response.headers_mut().insert(ALLOW, methods);
        }
        response
    }
}

impl From<OperatorError> for PageError {
    fn from(error: OperatorError) -> Self {
        let (status, kind) = match error {
            OperatorError::Input(_) => (StatusCode::BAD_REQUEST, "input"),
            OperatorError::NotFound(_) => (StatusCode::NOT_FOUND, "input"),
            OperatorError::InPart(_) | OperatorError::Store(_) | OperatorError::Limiter(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "failed")
            }
            OperatorError::Unknown | OperatorError::Mail(_) | OperatorError::Unwritable(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "failed")
            }
        };
        Self::new(status, kind, error.to_string())
    }
}

impl From<minijinja::Error> for PageError {
    fn from(error: minijinja::Error) -> Self {
        let words = format!("the page cannot be rendered: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", words)
    }
}

/// A body of these bytes.
fn whole(bytes: impl Into<Bytes>) -> PageBody {
    boxed(Full::new(bytes.into()))
}

/// `body`, whatever its type.
pub(super) fn boxed<B>(body: B) -> PageBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Error + Send + Sync,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A page.
pub(super) fn html(status: StatusCode, html: String) -> Response<PageBody> {
    reply(status, "text/html; charset=utf-8", html)
}

/// A text, such as a file that is part of the program.
pub(in crate::operator) fn reply(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<PageBody> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// A redirect to another page of ours, which is then requested with GET.
pub(super) fn see_other(path: &str) -> Response<PageBody> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, path);
    }
    response
}

/// Adds the headers of every response.
pub(super) fn finish(mut response: Response<PageBody>, is_head: bool) -> Response<PageBody> {
    let headers = HEADERS.map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    response.headers_mut().extend(headers);
    if is_head {
        *response.body_mut() = whole("");
    }
    response
}
