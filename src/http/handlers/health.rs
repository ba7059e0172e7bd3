//! `GET /api/v1/health`: readiness to serve. `GET /livez`: liveness, for load balancers.

use crate::http::endpoint::Handled::Now;
use crate::http::request::json;
use crate::http::{Code, Endpoint, Problem, Reply, RequestContext};
use crate::site::tools::Tool;

pub(crate) const HEALTH: Endpoint = Endpoint {
    name: "health",
    paths: &["/api/v1/health"],
    tool: Some((Tool::CheckHealth, |context, arguments| {
        Now(json::read_no_members(&arguments).and_then(|()| health(context)))
    })),
    ..Endpoint::get(|context, _body| Now(health(context)))
};

/// Checks the limiter, the stores that this configuration writes to, and the workers. The newsletter's
/// provider is not asked: its outage would take the whole service out of rotation.
fn health(context: &RequestContext) -> Result<Reply, Problem> {
    let app = context.app();
    app.limiter.check()?;
    app.keys.check()?;
    if app.provider.is_none() {
        app.contacts.check()?;
    }
    if !app.metrics.workers.are_healthy() {
        return Err(Problem::of(Code::WorkerFailing));
    }
    Ok(Reply::serialised(context.state().health))
}

pub(crate) const LIVEZ: Endpoint = Endpoint {
    name: "livez",
    paths: &["/livez"],
    is_free: true,
    ..Endpoint::get(|context, _body| Now(livez(context)))
};

/// Asks no store: an outage of an engine would take all nodes out of rotation at once.
fn livez(context: &RequestContext) -> Result<Reply, Problem> {
    if context.app().metrics.stopping.is_cancelled() {
        return Err(Problem::of(Code::Stopping));
    }
    Ok(Reply::serialised("{\"live\":true}"))
}
