//! A request to a page.

use std::sync::Arc;

use hyper::{Response, StatusCode};
use minijinja::value::{Serde, Value};

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::http::admin::reply::AdminBody;
use crate::http::admin::request::Params;

use super::answer::{self, PageError};
use super::sessions::{Session, Sessions};
use super::views::{ConfirmationPage, MessagePage, Views};

pub(super) type PageAnswer = Result<Response<AdminBody>, PageError>;

/// A request of a session.
pub(super) struct PageRequest {
    pub(super) app: Arc<App>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) session: Session,
    pub(super) now: Timestamp,
    /// The query, or the form.
    pub(super) params: Params,
    pub(super) path: &'static str,
    pub(super) views: Arc<Views>,
}

impl PageRequest {
    /// A page of the menu, filled in.
    pub(super) fn page(&self, template: &str, values: Value) -> PageAnswer {
        let here = self.path;
        let html = self
            .views
            .fill(template, here, Some(&self.session), values)?;
        Ok(answer::html(StatusCode::OK, html))
    }

    /// A page that asks whether to go on.
    pub(super) fn confirm(&self, confirmation: &ConfirmationPage<'_>) -> PageAnswer {
        self.page("confirm.html", Value::from(Serde(confirmation)))
    }

    /// A page that says what was done.
    pub(super) fn message(&self, message: &MessagePage<'_>) -> PageAnswer {
        self.page("message.html", Value::from(Serde(message)))
    }
}

/// `at` to the minute, as in `2026-11-21 12:00`.
pub(super) fn minute(at: Timestamp) -> String {
    let rfc3339 = at.to_rfc3339();
    let minute = rfc3339.get(..16).unwrap_or_default();
    minute.replace('T', " ")
}
