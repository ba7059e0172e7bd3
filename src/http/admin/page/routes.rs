//! The pages, and the way of a request to one of them.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, COOKIE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use minijinja::value::{Serde, Value};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::http::admin::exposition;
use crate::http::admin::reply::{self, AdminBody};
use crate::http::admin::request::Params;

use super::answer::{self, PageError};
use super::login::{self, COOKIE_NAME};
use super::page_request::{PageAnswer, PageRequest};
use super::sessions::{Session, Sessions};
use super::views::{ICON, STYLE, Views};
use super::{agents, contacts, keys, origin, overview, policies};

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 16 * 1024;
/// How long a form may take to arrive.
const FORM_DEADLINE: Duration = Duration::from_secs(10);

type PageHandler = fn(PageRequest) -> Pin<Box<dyn Future<Output = PageAnswer> + Send>>;

/// A page: what shows it, and what its form does.
struct PageRoute {
    path: &'static str,
    get: Option<PageHandler>,
    post: Option<PageHandler>,
}

/// A row of the table.
macro_rules! page {
    ($path:literal, $get:path) => {
        PageRoute {
            path: $path,
            get: Some(|request| Box::pin($get(request))),
            post: None,
        }
    };
    ($path:literal, $get:path, $post:path) => {
        PageRoute {
            path: $path,
            get: Some(|request| Box::pin($get(request))),
            post: Some(|request| Box::pin($post(request))),
        }
    };
}

const PAGES: [PageRoute; 10] = [
    page!("/", overview::show),
    page!("/contacts", contacts::show),
    page!("/contacts/export", contacts::export),
    page!(
        "/contacts/erase",
        contacts::confirm_erasure,
        contacts::erase
    ),
    page!("/keys", keys::show),
    page!("/keys/revoke", keys::confirm_revocation, keys::revoke),
    page!("/policies", policies::show),
    page!("/policies/reset", policies::confirm_reset, policies::reset),
    page!("/agents", agents::show),
    PageRoute {
        path: "/logout",
        get: None,
        post: Some(|request| Box::pin(login::sign_out(request))),
    },
];

/// Answers the browsers of operators.
pub struct AdminPage {
    app: Arc<App>,
    sessions: Arc<Sessions>,
    views: Arc<Views>,
    /// Changes that were begun.
    changes: TaskTracker,
}

impl AdminPage {
    /// The page over `app`, for the sessions of `sessions`.
    ///
    /// # Errors
    /// When a template does not parse, which is a bug.
    pub fn new(app: Arc<App>, sessions: Arc<Sessions>) -> Result<Self, minijinja::Error> {
        Ok(Self {
            app,
            sessions,
            views: Arc::new(Views::new()?),
            changes: TaskTracker::new(),
        })
    }

    /// Answers one request.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<AdminBody>
    where
        B: Body<Data = Bytes, Error: Error + Send + Sync> + Send + 'static,
    {
        let (head, body) = request.map(reply::boxed).into_parts();
        let is_head = head.method == Method::HEAD;
        let now = self.app.clock.now();
        let session = session(&head.headers).find_map(|token| self.sessions.find(token, now));
        let answer = self.answer(&head, body, session.as_ref(), now).await;
        let response = answer.unwrap_or_else(|error| self.failed(&error, session.as_ref()));
        answer::finish(response, is_head)
    }

    /// Waits for the changes that were begun.
    pub(in crate::http::admin) async fn wait_for_changes(&self) {
        self.changes.close();
        self.changes.wait().await;
    }

    async fn answer(
        &self,
        head: &Parts,
        body: AdminBody,
        session: Option<&Session>,
        now: Timestamp,
    ) -> PageAnswer {
        if !origin::is_local_host(&head.headers) {
            return Err(PageError::OtherHost);
        }
        if !origin::is_own(head) {
            return Err(PageError::OtherOrigin);
        }
        if let Some(answer) = exposition::respond(&self.app, head).await {
            return Ok(answer);
        }
        let is_post = head.method == Method::POST;
        let is_get = matches!(head.method, Method::GET | Method::HEAD);
        let query = || Params::parse(head.uri.query().unwrap_or_default());
        match head.uri.path() {
            "/style.css" if is_get => return Ok(answer::asset("text/css", STYLE)),
            "/icon.svg" if is_get => return Ok(answer::asset("image/svg+xml", ICON)),
            "/style.css" | "/icon.svg" => return Err(PageError::Method("GET, HEAD")),
            "/login" if is_get => return login::show(&self.views, &self.sessions, &query(), now),
            "/login" if is_post => {
                let form = form(head, body).await?;
                return login::sign_in(&self.sessions, &form, now);
            }
            "/login" => return Err(PageError::Method("GET, HEAD, POST")),
            _ => {}
        }
        let session = session.ok_or(PageError::NoSession)?;
        let mut pages = PAGES.iter();
        let page = pages.find(|page| page.path == head.uri.path());
        let page = page.ok_or(PageError::NotFound)?;
        let handler = match (page.get, page.post) {
            (Some(get), _) if is_get => get,
            (_, Some(post)) if is_post => post,
            (Some(_), None) => return Err(PageError::Method("GET, HEAD")),
            (None, _) => return Err(PageError::Method("POST")),
            (Some(_), Some(_)) => return Err(PageError::Method("GET, HEAD, POST")),
        };
        let params = if is_post {
            let form = form(head, body).await?;
            let token = form.get("form_token").unwrap_or_default();
            if !session.is_form_token(token) {
                return Err(PageError::FormToken);
            }
            form
        } else {
            query()
        };
        let request = PageRequest {
            app: Arc::clone(&self.app),
            sessions: Arc::clone(&self.sessions),
            session: session.clone(),
            now,
            params,
            path: page.path,
            views: Arc::clone(&self.views),
        };
        // Whatever becomes of the browser, a change that was begun is finished.
        let handled = self.changes.spawn(handler(request)).await;
        handled.unwrap_or(Err(PageError::Panicked))
    }

    /// The page that says why there is no other.
    fn failed(&self, error: &PageError, session: Option<&Session>) -> Response<AdminBody> {
        let status = error.status();
        if status.is_server_error() {
            tracing::warn!(%error, "the admin page cannot be shown");
        }
        let message = Value::from(Serde(error.message()));
        let html = self.views.fill("message.html", "", session, message);
        let mut response = answer::html(status, html.unwrap_or_else(|error| error.to_string()));
        if let PageError::Method(methods) = error {
            answer::allow(&mut response, methods);
        }
        response
    }
}

impl fmt::Debug for AdminPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminPage(..)")
    }
}

/// The values of the session's cookie. Another service on this host may have set one, too.
fn session(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(COOKIE)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok())
        .filter_map(|pair| pair.strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

/// Reads a form.
async fn form(head: &Parts, body: AdminBody) -> Result<Params, PageError> {
    let refused = |status, reason| Err(PageError::Form(status, reason));
    let no_form = || refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is no form");
    let media_type = head.headers.get(CONTENT_TYPE);
    if media_type.is_none_or(|it| it != "application/x-www-form-urlencoded") {
        return no_form();
    }
    let collected = Limited::new(body, FORM_BYTES_MAX).collect().boxed();
    match timeout(FORM_DEADLINE, collected).await {
        Ok(Ok(body)) => match std::str::from_utf8(&body.to_bytes()) {
            Ok(form) => Ok(Params::parse(form)),
            Err(_not_utf8) => no_form(),
        },
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
        }
        Ok(Err(_)) | Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive"),
    }
}
