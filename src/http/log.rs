//! The line that each request leaves in the log.

use hyper::StatusCode;
use tokio::time::Instant;
use tracing::Level;

use crate::domain::decision::Decision;

use super::problem::Problem;
use super::reply::Reply;
use super::request_id::RequestId;
use super::routes::Route;

/// The one line about a request. It names no person: neither path nor query, neither address nor
/// credential.
pub(super) struct LogLine {
    id: RequestId,
    endpoint: &'static str,
    arrived: Instant,
    /// The client waited until its answer was made; if that fails, another line tells.
    is_answered: bool,
}

impl LogLine {
    pub(super) fn begin(id: RequestId, route: Route) -> Self {
        Self {
            id,
            endpoint: match route {
                Route::Found(operation) => operation.endpoint.name(),
                Route::WrongMethod { .. } => "wrong_method",
                Route::Unknown => "unknown",
            },
            arrived: Instant::now(),
            is_answered: false,
        }
    }

    /// Takes note that the answer is being made.
    pub(super) fn answering(&mut self) {
        self.is_answered = true;
    }

    fn duration_ms(&self) -> f64 {
        // To the microsecond.
        (self.arrived.elapsed().as_secs_f64() * 1e6).round() / 1e3
    }

    pub(super) fn write(
        self,
        status: StatusCode,
        outcome: &Result<Reply, Problem>,
        decision: &Decision,
    ) {
        let status = status.as_u16();
        let (tool, problem) = match outcome {
            Ok(reply) => (reply.aside.tool, reply.aside.problem.as_deref()),
            Err(problem) => (None, Some(problem)),
        };
        // Some answers tell of a problem under a status of their own.
        let is_fault = problem.is_some_and(|problem| problem.code.kind().status.as_u16() >= 500);
        if !is_fault && !tracing::enabled!(Level::INFO) {
            return;
        }
        let (id, endpoint, duration_ms) = (self.id, self.endpoint, self.duration_ms());
        let code = problem.map(|problem| problem.code.kind().name);
        let violated = decision
            .binding()
            .filter(|binding| binding.is_violated)
            .map(|binding| binding.policy.as_str());
        match problem.and_then(|problem| problem.cause.as_deref()) {
            Some(cause) if is_fault => tracing::warn!(
                request.id = %id, endpoint, tool, status, duration_ms, code, violated, cause, "request"
            ),
            cause => tracing::info!(
                request.id = %id, endpoint, tool, status, duration_ms, code, violated, cause, "request"
            ),
        }
    }
}

/// A request whose client hangs up has no status, but a line all the same.
impl Drop for LogLine {
    fn drop(&mut self) {
        if !self.is_answered {
            let (id, endpoint, duration_ms) = (self.id, self.endpoint, self.duration_ms());
            tracing::info!(request.id = %id, endpoint, duration_ms, "client hung up");
        }
    }
}
