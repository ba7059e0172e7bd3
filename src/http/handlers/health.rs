//! `GET /api/v1/health`: is the service ready to do its work? `GET /livez`: should it get requests?

use hyper::body::Bytes;

use crate::http::context::RequestContext;
use crate::http::endpoint::{Endpoint, McpTool};
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::wire;
use crate::site::tools::Tool;
use crate::usecases::subscribe::Newsletter;

pub(crate) const HEALTH: Endpoint = Endpoint {
    name: "health",
    paths: &["/api/v1/health"],
    tool: Some(McpTool {
        tool: Tool::CheckHealth,
        handler: |context, arguments| Box::pin(check_health(context, arguments)),
    }),
    ..Endpoint::get(|context, _body| Box::pin(health(context)))
};

/// Asks the limiter and the stores that this configuration writes to. The newsletter's provider is
/// not asked: its outage would take the whole service out of rotation.
async fn health(context: RequestContext) -> Result<Reply, Problem> {
    let app = context.app();
    app.limiter.check().await?;
    app.keys.check().await?;
    if let Newsletter::Contacts { contacts, .. } = app.newsletter() {
        contacts.check().await?;
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
    match context.app().metrics.is_stopping() {
        true => Err(Problem::of(Code::Stopping)),
        false => Ok(Reply::serialised(Bytes::from_static(b"{\"live\":true}"))),
    }
}

async fn check_health(context: RequestContext, arguments: Bytes) -> Result<Reply, Problem> {
    wire::read_no_members(&arguments)?;
    health(context).await
}
