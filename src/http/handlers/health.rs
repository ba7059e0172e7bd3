//! `GET /api/v1/health`: is the service ready to do its work?

use hyper::StatusCode;
use serde::Serialize;

use crate::app::App;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::version::VERSION;
use crate::ports::StoreError;
use crate::usecases::subscribe::Newsletter;

use super::Call;

#[derive(Serialize)]
struct HealthResponse<'a> {
    ok: bool,
    service: &'a str,
    version: &'a str,
    documentation: String,
    openapi: String,
}

/// Asks the stores that this configuration writes to. The newsletter's provider is not among them:
/// its bad hour would take the whole service out of rotation.
async fn check(app: &App) -> Result<(), StoreError> {
    app.keys.check().await?;
    match app.newsletter() {
        Newsletter::Contacts { contacts, .. } => contacts.check().await,
        Newsletter::Provider { .. } => Ok(()),
    }
}

pub(super) async fn health(call: &Call) -> Result<Reply, Problem> {
    if let Err(error) = check(&call.app).await {
        return Err(Problem::of(Code::StoreUnavailable).because(error));
    }
    let response = HealthResponse {
        ok: true,
        service: &call.app.settings.service_name,
        version: VERSION,
        documentation: call.app.settings.documentation(),
        openapi: call.app.settings.openapi(),
    };
    Reply::json(StatusCode::OK, &response)
}
