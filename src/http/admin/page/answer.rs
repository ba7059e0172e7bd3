//! Answers and failures of the admin page.

use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::http::admin::reply::{AdminBody, whole};
use crate::http::documents::BROWSER_HEADERS;
use crate::http::headers::NO_STORE;
use crate::ports::{EntropyError, LimiterError, StoreError};

use super::views::MessagePage;

/// What a browser may do with a page: show it with our stylesheet and icon, and send its forms here. There
/// is no script.
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
pub(super) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Why a page is not shown, or a change is not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("the request does not name this machine as its host")]
    OtherHost,
    #[error("the request comes from a page elsewhere")]
    OtherOrigin,
    #[error("no session")]
    NoSession,
    #[error("no page here")]
    NotFound,
    /// The methods that there are.
    #[error("It takes {0}")]
    Method(&'static str),
    #[error("the link is not good")]
    BadLink,
    #[error("the form is not one of this session's")]
    FormToken,
    /// The form did not arrive, with the status and the reason.
    #[error("Nothing was done: {1}")]
    Form(StatusCode, &'static str),
    /// What is wrong with a field, in a sentence for the operator.
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
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
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Form(status, _) => *status,
            Self::Input(_) => StatusCode::BAD_REQUEST,
            Self::Store(_) | Self::Limiter(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Entropy(_) | Self::Template(_) | Self::Panicked => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// What the operator reads.
    pub(super) fn message(&self) -> MessagePage<'static> {
        const NEW_LINK: &str = "Run `landing-api admin link` on the machine of the service, with the \
             --data-dir of the service, and open the link that it prints. A link is good once, for \
             ten minutes.";
        const LOG: &str = "The log of the service says more.";
        let is_outside = matches!(
            self,
            Self::OtherHost | Self::OtherOrigin | Self::NoSession | Self::BadLink
        );
        let own = format!("{self}.");
        let (title, paragraphs) = match self {
            Self::OtherHost => (
                "This is not the address of the admin page",
                vec![
                    "Open it as 127.0.0.1 or localhost. From another machine, use an SSH tunnel, or a \
                     proxy that sends the header Host: localhost.",
                ],
            ),
            Self::OtherOrigin => (
                "The request comes from another page",
                vec!["Nothing was done. Only the admin page itself may send it."],
            ),
            Self::NoSession => (
                "Sign in with a link",
                vec![
                    NEW_LINK,
                    "Sessions end after twelve hours, when you sign out, and when the service restarts.",
                ],
            ),
            Self::BadLink => (
                "The link is not good any more",
                vec![
                    "A link opens the admin page once, within ten minutes, and not after a restart of \
                     the service.",
                    NEW_LINK,
                ],
            ),
            Self::NotFound => ("There is no such page", Vec::new()),
            Self::Method(_) => ("The page does not take this method", vec![&*own]),
            Self::FormToken => (
                "The form is out of date",
                vec!["Nothing was done. Open the page anew and send its form again."],
            ),
            Self::Form(..) => ("The form did not arrive", vec![own.as_str()]),
            Self::Input(what) => ("Something is wrong with the form", vec![what.as_str()]),
            Self::Store(_) | Self::Limiter(_) => ("The service cannot do it now", vec![&own, LOG]),
            Self::Entropy(_) | Self::Template(_) | Self::Panicked => {
                ("The service failed", vec![&own, LOG])
            }
        };
        MessagePage {
            title,
            paragraphs: paragraphs.into_iter().map(str::to_owned).collect(),
            facts: Vec::new(),
            next: (!is_outside).then_some(("/", "To the overview")),
        }
    }
}

/// A page.
pub(super) fn html(status: StatusCode, html: String) -> Response<AdminBody> {
    let mut response = Response::new(whole(html));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response
}

/// A file that is part of the program.
pub(super) fn asset(media_type: &'static str, text: &'static str) -> Response<AdminBody> {
    let mut response = Response::new(whole(text));
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// The way to another page, which is then asked for with GET.
pub(super) fn see_other(path: &'static str) -> Response<AdminBody> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let path = HeaderValue::from_static(path);
    response.headers_mut().insert(LOCATION, path);
    response
}

/// Adds what every answer has.
pub(super) fn finish(mut response: Response<AdminBody>, is_head: bool) -> Response<AdminBody> {
    let headers = response.headers_mut();
    headers.extend(BROWSER_HEADERS);
    let policy = HeaderValue::from_static(POLICY);
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(CORP, HeaderValue::from_static("same-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, NO_STORE);
    if is_head {
        *response.body_mut() = whole("");
    }
    response
}

/// Adds the methods that a page takes.
pub(super) fn allow(response: &mut Response<AdminBody>, methods: &'static str) {
    let methods = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, methods);
}
