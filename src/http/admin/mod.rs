//! The operator's API: what the commands ask a running service, over `admin.sock` or, on a stopped data
//! directory, in their own process.
//!
//! | Module | Holds |
//! |---|---|
//! | `socket` | connections of commands |
//! | `web`, [`page`] | the admin page: connections of browsers, and what they see |
//! | `api` | a handler for each route, a file a group |
//! | [`exposition`] | `/metrics`, `/live` and `/ready` |
//! | `request` | a request and its parameters |
//! | `reply` | answers and failures |
//! | `contact_rows` | contacts as CSV and as JSON Lines |
//! | `row_reader`, `csv_rows` | reading them, row by row |
//!
//! It is HTTP/1.1. Parameters are in the query. Answers are JSON, or JSON Lines where they are many. Only
//! the operator can connect, so nothing here is counted, and failures say what went wrong.

mod api;
mod contact_rows;
mod csv_rows;
pub mod exposition;
pub mod page;
mod reply;
mod request;
mod row_reader;
pub(crate) mod socket;
pub(crate) mod web;

use std::pin::Pin;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response};

use crate::app::App;

pub use self::api::agents::{AgentRevoked, AgentRow};
pub use self::api::contacts::{
    ContactsCounted, ErasedAddress, ErasureReport, ForgetRequest, KeptFile,
};
pub use self::api::import::{BadRow, ImportReport};
pub(crate) use self::api::keys::KeyNames;
pub use self::api::keys::{KeyAnswer, KeyRow};
pub use self::api::ledger::CompactionReport;
pub(crate) use self::api::limits::LimitsQuery;
pub use self::api::limits::{ClientRow, LimitsReset, PolicyRow};
pub(crate) use self::api::links::LinkRow;
pub use self::api::status::{
    CountRow, FileSize, HourRow, LastErrorRow, ServiceStatus, StatusReport,
};
use self::api::{agents, contacts, import, keys, ledger, limits, links, status};
pub use self::contact_rows::{ContactRow, FileFormat, FormatError};
use self::page::Sessions;
pub use self::reply::AdminBody;
pub(crate) use self::reply::whole;
use self::reply::{AdminAnswer, AdminError};
use self::request::{AdminRequest, Params};

type AdminFuture = Pin<Box<dyn Future<Output = AdminAnswer> + Send>>;

/// A route of the operator's API.
struct AdminRoute {
    method: Method,
    path: &'static str,
    handler: fn(AdminRequest) -> AdminFuture,
}

static ROUTES: [AdminRoute; 15] = [
    get("/v1/status", |it| Box::pin(status::show(it))),
    get("/v1/contacts/show", |it| Box::pin(contacts::show(it))),
    get("/v1/contacts/list", |it| Box::pin(contacts::list(it))),
    get("/v1/contacts/count", |it| Box::pin(contacts::count(it))),
    post("/v1/contacts/import", |it| Box::pin(import::import(it))),
    post("/v1/contacts/forget", |it| Box::pin(contacts::forget(it))),
    get("/v1/keys/list", |it| Box::pin(keys::list(it))),
    post("/v1/keys/check", |it| Box::pin(keys::check(it))),
    post("/v1/keys/revoke", |it| Box::pin(keys::revoke(it))),
    get("/v1/agents/list-revoked", |it| {
        Box::pin(agents::list_revoked(it))
    }),
    post("/v1/agents/revoke", |it| Box::pin(agents::revoke(it))),
    post("/v1/limits/show", |it| Box::pin(limits::show(it))),
    post("/v1/limits/reset", |it| Box::pin(limits::reset(it))),
    post("/v1/ledger/compact", |it| Box::pin(ledger::compact(it))),
    post("/v1/admin/link", |it| Box::pin(links::new_link(it))),
];

const fn get(path: &'static str, handler: fn(AdminRequest) -> AdminFuture) -> AdminRoute {
    AdminRoute {
        method: Method::GET,
        path,
        handler,
    }
}

const fn post(path: &'static str, handler: fn(AdminRequest) -> AdminFuture) -> AdminRoute {
    AdminRoute {
        method: Method::POST,
        path,
        handler,
    }
}

/// A header of answers about contacts, if the service passes sign-ups on to a provider.
pub const PASSES_SIGN_UPS_ON: &str = "landing-passes-sign-ups-on";

/// Answers the operator's commands.
pub(crate) struct AdminService {
    app: Arc<App>,
    sessions: Option<Arc<Sessions>>,
}

impl AdminService {
    /// A service over `app`, with the sessions of the admin page if there is one.
    pub(crate) fn new(app: Arc<App>, sessions: Option<Arc<Sessions>>) -> Self {
        Self { app, sessions }
    }

    /// Answers one request.
    pub(crate) async fn respond(&self, request: Request<AdminBody>) -> Response<AdminBody> {
        let (head, body) = request.into_parts();
        if let Some(answer) = exposition::respond(&self.app, &head).await {
            return answer;
        }
        let path = head.uri.path();
        let route = ROUTES
            .iter()
            .find(|route| route.path == path && route.method == head.method);
        let answer = match route {
            None => Err(AdminError::UnknownRoute),
            Some(route) => {
                let request = AdminRequest {
                    app: Arc::clone(&self.app),
                    sessions: self.sessions.clone(),
                    params: Params::parse(head.uri.query().unwrap_or_default()),
                    body,
                };
                (route.handler)(request).await
            }
        };
        let mut answer = answer.unwrap_or_else(|error| error.response());
        if self.app.notifier.is_some() && path.starts_with("/v1/contacts/") {
            let name = HeaderName::from_static(PASSES_SIGN_UPS_ON);
            answer
                .headers_mut()
                .insert(name, HeaderValue::from_static("1"));
        }
        answer
    }
}
