//! `GET /api/v1/health`: is the service ready to do its work?

use hyper::StatusCode;
use serde::Serialize;

use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;

use super::{API_VERSION, Call};

#[derive(Serialize)]
struct HealthResponse<'a> {
    ok: bool,
    service: &'a str,
    version: &'a str,
    documentation: String,
    openapi: String,
}

pub(super) async fn health(call: &Call) -> Result<Reply, Problem> {
    if let Err(error) = call.app.contacts.check().await {
        return Err(Problem::of(Code::StoreUnavailable).because(error));
    }
    let response = HealthResponse {
        ok: true,
        service: &call.app.service_name,
        version: API_VERSION,
        documentation: call.app.urls.documentation(),
        openapi: call.app.urls.openapi(),
    };
    Reply::json(StatusCode::OK, &response)
}
