//! The log line of a request.

use hyper::StatusCode;
use tokio::time::Instant;
use tracing::Level;

use crate::domain::decision::Decision;

use super::problem::Problem;
use super::reply::Reply;
use super::request_id::RequestId;

/// The line of a request. It holds no personal data: no path, query, address or credential.
pub(super) struct LogLine {
    id: RequestId,
    pub(super) endpoint: &'static str,
    arrived: Instant,
    is_written: bool,
}

/// The time since `start` in milliseconds, to the microsecond.
pub(super) fn elapsed_ms(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

impl LogLine {
    pub(super) fn begin(id: RequestId) -> Self {
        Self {
            id,
            endpoint: "unknown",
            arrived: Instant::now(),
            is_written: false,
        }
    }

    pub(super) fn write(
        &mut self,
        status: StatusCode,
        outcome: &Result<Reply, Problem>,
        decision: &Decision,
    ) {
        // First, so that a panic below does not look like a client that hung up.
        self.is_written = true;
        let status = status.as_u16();
        let (tool, problem) = match outcome {
            Ok(reply) => (reply.log.tool, reply.log.problem.as_deref()),
            Err(problem) => (None, Some(problem)),
        };
        // A tool's failure is an answer of status 200.
        let is_fault = problem.is_some_and(|problem| problem.code.kind().status.as_u16() >= 500);
        if !is_fault && !tracing::enabled!(Level::INFO) {
            return;
        }
        let (id, endpoint, duration_ms) = (self.id, self.endpoint, elapsed_ms(self.arrived));
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

/// A client that hangs up drops its request, which has no status then.
impl Drop for LogLine {
    fn drop(&mut self) {
        if !self.is_written {
            let (id, endpoint, duration_ms) = (self.id, self.endpoint, elapsed_ms(self.arrived));
            tracing::info!(request.id = %id, endpoint, duration_ms, "client hung up");
        }
    }
}
