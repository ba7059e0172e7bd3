//! `GET /api/v1/health`: is the service ready to do its work?

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::json;

use crate::app::App;
use crate::domain::settings::Settings;
use crate::http::headers;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::version::VERSION;
use crate::ports::{Answer, StoreError};
use crate::usecases::subscribe::Newsletter;

use super::Context;

/// What a healthy service answers: the same to everybody, so it is written once.
#[derive(Debug)]
pub(crate) struct Healthy(Bytes);

impl Healthy {
    pub(crate) fn new(settings: &Settings) -> Self {
        let response = json!({
            "ok": true,
            "service": settings.service_name,
            "version": VERSION,
            "documentation": settings.documentation(),
            "openapi": settings.openapi(),
        });
        Self(headers::lasting_bytes(&response.to_string()))
    }

    fn reply(&self) -> Reply {
        Reply::written(StatusCode::OK, self.0.clone())
    }
}

/// Asks the stores that this configuration writes to. The newsletter's provider is not among them:
/// its bad hour would take the whole service out of rotation.
fn check(app: &App) -> [Answer<'_, (), StoreError>; 2] {
    let contacts = match app.newsletter() {
        Newsletter::Contacts { contacts, .. } => contacts.check(),
        Newsletter::Provider { .. } => Answer::ready(()),
    };
    [app.keys.check(), contacts]
}

/// The answer, if the stores have theirs at once: while they are sound.
pub(super) fn at_once(context: &Context) -> Option<Result<Reply, Problem>> {
    for answer in check(&context.app) {
        match answer {
            Answer::Ready(Ok(())) => {}
            Answer::Ready(Err(error)) => return Some(Err(unavailable(error))),
            Answer::Pending(_) => return None,
        }
    }
    Some(Ok(context.healthy.reply()))
}

pub(super) async fn health(context: &Context) -> Result<Reply, Problem> {
    for answer in check(&context.app) {
        answer.await.map_err(unavailable)?;
    }
    Ok(context.healthy.reply())
}

fn unavailable(error: StoreError) -> Problem {
    Problem::of(Code::StoreUnavailable).because(error)
}
