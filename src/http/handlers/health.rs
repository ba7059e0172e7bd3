//! `GET /api/v1/health`: is the service ready to do its work?

use hyper::StatusCode;
use serde::Serialize;

use crate::http::context::RequestContext;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::version::VERSION;
use crate::ports::StoreError;
use crate::usecases::subscribe::Newsletter;

#[derive(Serialize)]
struct HealthResponse<'a> {
    ok: bool,
    service: &'a str,
    version: &'a str,
    documentation: String,
    openapi: String,
}

/// Asks the stores that this configuration writes to. The newsletter's provider is not asked: its
/// outage would take the whole service out of rotation.
pub(super) async fn health(context: &RequestContext) -> Result<Reply, Problem> {
    let app = context.app();
    app.limiter.check().await?;
    app.keys.check().await.map_err(unavailable)?;
    if let Newsletter::Contacts { contacts, .. } = app.newsletter() {
        contacts.check().await.map_err(unavailable)?;
    }
    let response = HealthResponse {
        ok: true,
        service: &app.settings.service_name,
        version: VERSION,
        documentation: app.settings.documentation(),
        openapi: app.settings.openapi(),
    };
    Reply::json(StatusCode::OK, &response)
}

fn unavailable(error: StoreError) -> Problem {
    Problem::of(Code::StoreUnavailable).because(error)
}
