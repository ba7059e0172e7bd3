//! Responses and failures of the admin page.

use std::error::Error;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use minijinja::context;
use minijinja::value::Value as Rendered;

use crate::operator::operation::OperatorError;

/// The body of a request or a response. An error ends it before it is complete.
pub type PageBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Permissions of a page in browsers: to show it with our stylesheet and icon, and to send its forms here.
/// There is no script.
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

/// Headers of every response of the page.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Why a page can't be shown, or a change made.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("the request does not name this machine as its host")]
    OtherHost,
    #[error("the request comes from another page")]
    OtherOrigin,
    /// Only monitors get a response.
    #[error("too many connections are open")]
    Full,
    #[error("no session")]
    NoSession,
    #[error("no page here")]
    NotFound,
    /// The methods that there are.
    #[error("Allowed: {0}")]
    Method(&'static str),
    #[error("invalid link")]
    BadLink,
    #[error("the form belongs to another session")]
    FormToken,
    /// The form didn't arrive, with the status and the reason.
    #[error("Nothing was done: {1}")]
    Form(StatusCode, &'static str),
    #[error(transparent)]
    Operation(#[from] OperatorError),
    #[error("the page cannot be made: {0}")]
    Template(#[from] minijinja::Error),
    #[error("the handler panicked")]
    Panicked,
}

impl PageError {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::OtherHost => StatusCode::MISDIRECTED_REQUEST,
            Self::OtherOrigin | Self::NoSession | Self::BadLink | Self::FormToken => {
                StatusCode::FORBIDDEN
            }
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Form(status, _) => *status,
            Self::Operation(error) => match error {
                OperatorError::Input(_) => StatusCode::BAD_REQUEST,
                OperatorError::NotFound(_) => StatusCode::NOT_FOUND,
                OperatorError::InPart(_) | OperatorError::Store(_) | OperatorError::Limiter(_) => {
                    StatusCode::SERVICE_UNAVAILABLE
                }
                OperatorError::Unknown | OperatorError::Mail(_) | OperatorError::Unwritable(_) => {
                    StatusCode::INTERNAL_SERVER_ERROR
                }
            },
            Self::Template(_) | Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The values for `message.html`, which has the words for each kind of error.
    pub(super) fn message(&self) -> Rendered {
        let (kind, title) = match self {
            Self::OtherHost => ("other_host", "This is not the address of the admin page"),
            Self::OtherOrigin => ("other_origin", "The request comes from another page"),
            Self::Full => ("full", "Too many connections are open"),
            Self::NoSession => ("no_session", "Sign in with a link"),
            Self::BadLink => ("bad_link", "This link no longer works"),
            Self::NotFound => ("not_found", "Page not found"),
            Self::Method(_) => ("own_words", "Method not allowed"),
            Self::FormToken => ("form_token", "This form has expired"),
            Self::Form(..) => ("own_words", "The form was not received"),
            Self::Operation(OperatorError::Input(_) | OperatorError::NotFound(_)) => {
                ("input", "Please check the form")
            }
            Self::Operation(_) | Self::Template(_) | Self::Panicked => {
                ("failed", "The service could not do this")
            }
        };
        context! { kind, title, words => format!("{self}.") }
    }
}

/// A body of these bytes.
pub(in crate::operator) fn whole(bytes: impl Into<Bytes>) -> PageBody {
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
    let mut response = asset("text/html; charset=utf-8", html);
    *response.status_mut() = status;
    response
}

/// A text, such as a file that is part of the program.
pub(super) fn asset(media_type: &'static str, text: impl Into<Bytes>) -> Response<PageBody> {
    let mut response = Response::new(whole(text));
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
    let headers = HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    if is_head {
        *response.body_mut() = whole("");
    }
    response
}

/// Adds the allowed methods of a page.
pub(super) fn allow(response: &mut Response<PageBody>, methods: &'static str) {
    let methods = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, methods);
}
