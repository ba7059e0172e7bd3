//! The admin page: the pages for people on `--admin-listen`. HTML rendered here, without a script.
//!
//! | Module | Contents |
//! |---|---|
//! | `web` | the listener, and its connections |
//! | `pages` | the table of pages |
//! | `views` | templates, and the filters of their charts |
//! | `answer` | responses and failures |
//! | `origin` | detection of requests from elsewhere |
//! | `list` | a page of a long list, searched |
//!
//! A page is a row of `PAGES`: operations, and the template that shows their answers. A change takes two
//! steps: a page that announces the effect, and its form.
//!
//! The pages of a session are below a path of its own (`Session::root`), which its cookie is bound to, and which
//! no other page can address.

mod answer;
mod list;
mod origin;
mod pages;
mod views;
pub mod web;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyExt as _, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use minijinja::context;
use minijinja::value::{Serde, Value as Rendered};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::Timestamp;

use super::operation::{Lines, OperatorError, OperatorRequest, Params};
use super::sessions::{SESSION_LIFETIME_S, Session, Sessions};
use super::{contact_csv, contacts, exposition, operate};

pub use self::answer::PageBody;
use self::answer::PageError;
pub(super) use self::answer::reply;
use self::list::Search;
use self::pages::{PAGES, View};
use self::views::{ICON, STYLE, Views};

/// Maximum size of a form, in bytes.
const FORM_BYTES_MAX: usize = 16 * 1024;
/// Deadline for a form to arrive.
const FORM_DEADLINE: Duration = Duration::from_secs(10);

const COOKIE_NAME: &str = "landing-admin";

type PageAnswer = Result<Response<PageBody>, PageError>;

/// Answers the operators' browsers.
#[derive(Clone)]
pub struct AdminPage {
    app: Arc<App>,
    sessions: Arc<Sessions>,
    views: Arc<Views>,
    /// Changes that have begun.
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
    pub async fn respond<B>(&self, request: Request<B>) -> Response<PageBody>
    where
        B: Body<Data = Bytes, Error: Error + Send + Sync> + Send + 'static,
    {
        let (head, body) = request.map(answer::boxed).into_parts();
        let is_head = head.method == Method::HEAD;
        let now = self.app.clock.now();
        let found = self.session(&head, now);
        let session = found.as_ref().map(|(session, _)| session);
        let answer = self.answer(&head, body, found.as_ref(), now).await;
        let response = answer.unwrap_or_else(|error| error.page(&self.views, session));
        answer::finish(response, is_head)
    }

    /// The session of the request's path, and the path below its root.
    fn session<'a>(&self, head: &'a Parts, now: Timestamp) -> Option<(Session, &'a str)> {
        let tokens = session_tokens(&head.headers);
        let mut sessions = tokens.filter_map(|token| self.sessions.find(token, now));
        sessions.find_map(|session| {
            let path = head.uri.path().strip_prefix(&session.root())?;
            Some((session, path))
        })
    }

    /// Waits for the changes that have begun.
    async fn wait_for_changes(&self) {
        self.changes.close();
        self.changes.wait().await;
    }

    async fn answer(
        &self,
        head: &Parts,
        body: PageBody,
        session: Option<&(Session, &str)>,
        now: Timestamp,
    ) -> PageAnswer {
        if !origin::is_local_host(&head.headers) {
            let status = StatusCode::MISDIRECTED_REQUEST;
            return Err(PageError::new(status, "other_host", ""));
        }
        if !origin::is_own(head) {
            return Err(forbidden("other_origin"));
        }
        if let Some(answer) = exposition::respond(&self.app, head).await {
            return Ok(answer);
        }
        let is_post = head.method == Method::POST;
        let is_get = matches!(head.method, Method::GET | Method::HEAD);
        let query = || Params::of_form(head.uri.query().unwrap_or_default());
        match head.uri.path() {
            "/style.css" if is_get => return Ok(reply(StatusCode::OK, "text/css", STYLE)),
            "/icon.svg" if is_get => return Ok(reply(StatusCode::OK, "image/svg+xml", ICON)),
            "/style.css" | "/icon.svg" => return Err(not_allowed("GET, HEAD")),
            "/login" if is_get => return self.show_login(&query(), now),
            "/login" if is_post => return self.sign_in(&form(head, body).await?, now),
            "/login" => return Err(not_allowed("GET, HEAD, POST")),
            _ => {}
        }
        let (session, path) = session.ok_or_else(|| forbidden("no_session"))?;
        let page = PAGES.iter().find(|(known, _)| known == path);
        let (path, view) =
            page.ok_or_else(|| PageError::new(StatusCode::NOT_FOUND, "not_found", ""))?;
        let methods = match view {
            View::Change(..) => "GET, HEAD, POST",
            View::PutAway | View::SignOut => "POST",
            View::Page(..) | View::Export => "GET, HEAD",
        };
        if !methods.split(", ").any(|method| head.method == method) {
            return Err(not_allowed(methods));
        }
        let params = if is_post {
            form(head, body).await?
        } else {
            query()
        };
        let request = PageRequest {
            page: self.clone(),
            session: session.clone(),
            now,
            params,
            is_change: is_post,
            path,
            view,
        };
        // Even if the browser is gone, a change that has begun is finished.
        let handled = self.changes.spawn(request.answer()).await;
        handled.unwrap_or_else(|_panicked| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(PageError::new(status, "failed", "the handler panicked"))
        })
    }

    /// The page that a link opens. It asks for a click, so that programs that only follow links don't use
    /// them up.
    fn show_login(&self, query: &Params, now: Timestamp) -> PageAnswer {
        let link = query.text("link").unwrap_or_default();
        if !self.sessions.has_link(link, now) {
            return Err(forbidden("bad_link"));
        }
        let html = self.views.fill("login.html", "", None, context! { link })?;
        Ok(answer::html(StatusCode::OK, html))
    }

    fn sign_in(&self, form: &Params, now: Timestamp) -> PageAnswer {
        let link = form.text("link").unwrap_or_default();
        let session = self
            .sessions
            .open(link, now)
            .ok_or_else(|| forbidden("bad_link"))?;
        tracing::info!(page = "login", "operator");
        let mut response = answer::see_other(&format!("{}/", session.root()));
        set_cookie(&mut response, &session, &session.0, SESSION_LIFETIME_S);
        Ok(response)
    }
}

/// A request of a session.
struct PageRequest {
    page: AdminPage,
    session: Session,
    now: Timestamp,
    /// The query, or the form.
    params: Params,
    is_change: bool,
    path: &'static str,
    view: &'static View,
}

impl PageRequest {
    async fn answer(self) -> PageAnswer {
        match self.view {
            View::Page(operations, list) => {
                let mut values = serde_json::Map::new();
                for (name, operation) in *operations {
                    values.insert((*name).to_owned(), self.ask(operation).await?);
                }
                let mut values = Rendered::from(Serde(&values));
                if let Some(list) = list {
                    let search = Search::new(&self.params, list, self.now);
                    let picked = search.pick(self.run(list.operation).await?).await?;
                    values = context! { ..Rendered::from(Serde(&picked)), ..values };
                }
                self.fill(values)
            }
            View::Export => self.export().await,
            View::Change(names, ask, change) => self.change(names, *ask, change).await,
            View::PutAway => {
                let at = self.params.text("at").and_then(Timestamp::parse);
                let at = at.ok_or_else(|| OperatorError::Input("at must be a time".to_owned()))?;
                let last_error = &self.page.app.metrics.last_error;
                last_error.lock().take_if(|error| error.at == at);
                Ok(answer::see_other(&format!("{}/", self.session.root())))
            }
            View::SignOut => {
                self.page.sessions.close(&self.session, self.now);
                let mut response = answer::see_other("/");
                set_cookie(&mut response, &self.session, "", 0);
                Ok(response)
            }
        }
    }

    /// The lines that `operation` answers.
    async fn run(&self, operation: &str) -> Result<Lines<OperatorError>, OperatorError> {
        let request = OperatorRequest::new(Arc::clone(&self.page.app), self.params.clone());
        Ok(operate(operation, request).await?.0)
    }

    /// The single value that `operation` answers.
    async fn ask(&self, operation: &str) -> Result<Value, OperatorError> {
        let lines: Vec<_> = self.run(operation).await?.try_collect().await?;
        let value = serde_json::from_slice(&lines.concat());
        Ok(value.map_err(io::Error::from)?)
    }

    /// Asks for a confirmation, or makes a confirmed change.
    async fn change(&self, names: &[&str], ask: Option<&str>, change: &str) -> PageAnswer {
        let named = names.iter();
        let named = named.filter_map(|name| Some((*name, self.params.text(name)?)));
        let fields: Vec<_> = named.collect();
        if fields.is_empty() {
            let what = format!("The form needs one of: {}", names.join(", "));
            return Err(OperatorError::Input(what).into());
        }
        let (mut asked, mut done) = (Value::Null, Value::Null);
        if self.is_change {
            done = self.ask(change).await?;
        } else if let Some(ask) = ask {
            asked = match self.ask(ask).await {
                // An import skips erased addresses, even those without a contact.
                Err(OperatorError::NotFound(_)) if change == contacts::FORGET => Value::Null,
                found => found?,
            };
            if asked.pointer("/0/key").is_some_and(Value::is_null) {
                return Err(OperatorError::Input("There is no such key".to_owned()).into());
            }
        }
        self.fill(
            context! { fields => Serde(&fields), asked => Serde(&asked), done => Serde(&done) },
        )
    }

    async fn export(&self) -> PageAnswer {
        let lines = self.run(contacts::LIST).await?;
        let header = stream::once(async { Ok(contact_csv::HEADER.into()) });
        let rows = lines.map(|lines| Ok(contact_csv::of_json_lines(&lines?)?));
        let pieces = header.chain(rows);
        let frames = pieces.map_ok(Frame::data).map_err(|error: OperatorError| {
            tracing::error!(%error, "an answer to the operator was broken off");
            error.into()
        });
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("text/csv; charset=utf-8");
        headers.insert(CONTENT_TYPE, media_type);
        let disposition = HeaderValue::from_static("attachment; filename=\"contacts.csv\"");
        headers.insert(CONTENT_DISPOSITION, disposition);
        Ok(response)
    }

    /// The page, with `values` and the values shared by all templates.
    fn fill(&self, values: Rendered) -> PageAnswer {
        let path = self.path;
        let settings = &self.page.app.settings;
        let values = context! {
            path,
            params => Serde(&self.params),
            passes_on => settings.passes_sign_ups_on(),
            service_name => settings.service_name.as_str(),
            base_url => settings.base_url.as_str(),
            ..values
        };
        let template = match path {
            "/" => "overview.html".to_owned(),
            path => path.replacen('/', "", 1).replace('/', "-") + ".html",
        };
        let views = &self.page.views;
        let html = views.fill(&template, path, Some(&self.session), values)?;
        Ok(answer::html(StatusCode::OK, html))
    }
}

fn set_cookie(response: &mut Response<PageBody>, session: &Session, value: &str, max_age_s: u64) {
    let root = session.root();
    let cookie = format!(
        "{COOKIE_NAME}={value}; Max-Age={max_age_s}; Path={root}/; HttpOnly; SameSite=Strict"
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}

/// The values of the session's cookie. Another service on this host may have set one of that name, too.
fn session_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(COOKIE)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok())
        .filter_map(|pair| pair.strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

fn forbidden(kind: &'static str) -> PageError {
    PageError::new(StatusCode::FORBIDDEN, kind, "")
}

fn not_allowed(methods: &str) -> PageError {
    PageError::new(StatusCode::METHOD_NOT_ALLOWED, "method", methods)
}

/// Reads a form.
async fn form(head: &Parts, body: PageBody) -> Result<Params, PageError> {
    let refused = |status, reason| Err(PageError::new(status, "form", reason));
    let no_form = || refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not a form");
    let media_type = head.headers.get(CONTENT_TYPE);
    if media_type.is_none_or(|kind| kind != "application/x-www-form-urlencoded") {
        return no_form();
    }
    let collected = Limited::new(body, FORM_BYTES_MAX).collect().boxed();
    match timeout(FORM_DEADLINE, collected).await {
        Ok(Ok(body)) => match std::str::from_utf8(&body.to_bytes()) {
            Ok(form) => Ok(Params::of_form(form)),
            Err(_not_utf8) => no_form(),
        },
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
        }
        Ok(Err(_)) | Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive"),
    }
}
