//! The operator's API: what the commands ask a running service, over `admin.sock` or, on a stopped data
//! directory, in their own process.
//!
//! | Module | Holds |
//! |---|---|
//! | [`socket`] | connections of commands |
//! | [`web`], [`page`] | the admin page: connections of browsers, and what they see |
//! | `api` | a handler for each route, a file a group |
//! | `request` | a request and its parameters |
//! | `reply` | answers and failures |
//!
//! It is HTTP/1.1. Parameters are in the query. Answers are JSON, or JSON Lines where they are many. Only
//! the operator can connect, so nothing here is counted, and failures say what went wrong.

mod api;
pub mod page;
mod reply;
mod request;
pub mod socket;
pub mod web;

use std::pin::Pin;
use std::sync::Arc;

use hyper::{Method, Request, Response};

use crate::app::App;

pub use self::api::contacts::ContactRow;
pub use self::api::links::LinkRow;
use self::page::Sessions;
pub use self::reply::AdminBody;
use self::reply::AdminError;
use self::request::{AdminRequest, Params};

type Answer = Pin<Box<dyn Future<Output = Result<Response<AdminBody>, AdminError>> + Send>>;

/// A route of the operator's API.
struct Route {
    method: Method,
    path: &'static str,
    handler: fn(AdminRequest) -> Answer,
}

const ROUTES: [Route; 2] = [
    Route {
        method: Method::GET,
        path: "/v1/contacts/show",
        handler: |request| Box::pin(api::contacts::show(request)),
    },
    Route {
        method: Method::POST,
        path: "/v1/admin/link",
        handler: |request| Box::pin(api::links::new_link(request)),
    },
];

/// Answers the operator's commands.
pub struct AdminService {
    app: Arc<App>,
    sessions: Option<Arc<Sessions>>,
}

impl AdminService {
    /// A service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self {
            app,
            sessions: None,
        }
    }

    /// The same with an admin page, which has these sessions.
    #[must_use]
    pub fn with_page(mut self, sessions: Arc<Sessions>) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Answers one request.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<AdminBody> {
        let (head, _body) = request.into_parts();
        let route = ROUTES
            .iter()
            .find(|route| route.path == head.uri.path() && route.method == head.method);
        let answer = match route {
            None => Err(AdminError::UnknownRoute),
            Some(route) => {
                let request = AdminRequest {
                    app: Arc::clone(&self.app),
                    sessions: self.sessions.clone(),
                    params: Params::parse(head.uri.query().unwrap_or_default()),
                };
                (route.handler)(request).await
            }
        };
        answer.unwrap_or_else(|error| error.response())
    }
}

impl std::fmt::Debug for AdminService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminService(..)")
    }
}
