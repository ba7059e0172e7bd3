//! `GET /api/v1/health`: is the service ready to do its work? `GET /livez`: should it get requests?

use hyper::body::Bytes;

use crate::http::request::json;
use crate::http::{Code, Endpoint, McpTool, Problem, Reply, RequestContext};
use crate::site::tools::Tool;

pub(crate) const HEALTH: Endpoint = Endpoint {
    name: "health",
    paths: &["/api/v1/health"],
    tool: Some(McpTool {
        tool: Tool::CheckHealth,
        handler: |context, arguments| Box::pin(check_health(context, arguments)),
    }),
    ..Endpoint::get(|context, _body| Box::pin(health(context)))
};

/// Asks the limiter, the stores that this configuration writes to, and the workers. The newsletter's provider is
/// not asked: its outage would take the whole service out of rotation.
async fn health(context: RequestContext) -> Result<Reply, Problem> {
    let app = context.app();
    app.limiter.check()?;
    app.keys.check()?;
    if app.provider.is_none() {
        app.contacts.check()?;
    }
    if !app.metrics.workers.are_healthy() {
        return Err(Problem::of(Code::WorkerFailing));
    }
    Ok(Reply::serialised(context.state.health.clone()))
}

pub(crate) const LIVEZ: Endpoint = Endpoint {
    name: "livez",
    paths: &["/livez"],
    is_free: true,
    ..Endpoint::get(|context, _body| Box::pin(livez(context)))
};

/// Asks no store: an outage of an engine would take all nodes out of rotation at once.
async fn livez(context: RequestContext) -> Result<Reply, Problem> {
    if context.app().metrics.is_stopping() {
        return Err(Problem::of(Code::Stopping));
    }
    Ok(Reply::serialised(Bytes::from_static(b"{\"live\":true}")))
}

async fn check_health(context: RequestContext, arguments: Bytes) -> Result<Reply, Problem> {
    json::read_no_members(&arguments)?;
    health(context).await
}
