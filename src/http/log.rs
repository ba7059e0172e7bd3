//! The log line of a request.

use std::time::Duration;

use hyper::Response;
use hyper::body::Body as _;
use tracing::Level;

use crate::http::log_throttle::milliseconds;
use crate::http::pipeline::Exchange;
use crate::http::{Code, Problem, ReplyBody, RequestContext};

impl Exchange {
    /// Writes the line of a request. It contains no personal data: no path, query, address or credential.
    pub(super) fn log(
        &self,
        response: &Response<ReplyBody>,
        tool: Option<&str>,
        problem: Option<&Problem>,
        duration: Duration,
    ) {
        let (status, endpoint) = (response.status().as_u16(), self.route.name);
        // A tool's failure is a response of status 200.
        let is_fault = problem.is_some_and(|problem| problem.code.status().as_u16() >= 500);
        if !is_fault && !tracing::enabled!(Level::INFO) {
            return;
        }
        // A fault with a cause is always logged: it may be the only hint at the error.
        let is_limited = |problem: &Problem| {
            problem.code == Code::Overloaded || is_fault && problem.cause.is_none()
        };
        let is_refused = (400..500).contains(&status) || problem.is_some_and(is_limited);
        // No policy limits these.
        let is_free = self.route.endpoint.is_some_and(|endpoint| endpoint.is_free);
        let is_free = is_free || self.route.is_preflight();
        if (is_refused || (is_free && !is_fault)) && !self.is_admitted() {
            return;
        }
        let (id, duration_ms) = (self.context.id.0, milliseconds(duration));
        let (method, route, client) = (self.method(), self.route.path, self.client());
        let bytes = response.body().size_hint().exact();
        let code = problem.map(|problem| problem.code.as_str());
        let violated = self
            .decision
            .binding()
            .filter(|binding| binding.is_violated)
            .map(|binding| binding.policy.as_str());
        match problem.and_then(|problem| problem.cause.as_deref()) {
            Some(cause) if is_fault => tracing::warn!(
                request.id = %id, endpoint, method, route, tool, status, bytes, duration_ms, client,
                code, violated, cause, "request"
            ),
            cause => tracing::info!(
                request.id = %id, endpoint, method, route, tool, status, bytes, duration_ms, client,
                code, violated, cause, "request"
            ),
        }
    }

    /// The line of a client that hung up, which got no status.
    pub(super) fn log_hang_up(&self) {
        let (endpoint, duration) = (self.route.name, self.arrived.elapsed());
        let metrics = &self.context.app().metrics;
        metrics.record_request(endpoint, None, duration);
        if self.is_admitted() {
            let (id, duration_ms) = (self.context.id.0, milliseconds(duration));
            let (method, route, client) = (self.method(), self.route.path, self.client());
            tracing::info!(
                request.id = %id, endpoint, method, route, duration_ms, client, "client hung up"
            );
        }
    }

    /// True if a line that no policy limits may be written. The first one after others that might not tells their
    /// number.
    fn is_admitted(&self) -> bool {
        let suppressed = self.context.state().log_throttle.admit();
        if let Some(count @ 1..) = suppressed {
            tracing::info!(count, "further requests were refused, free or not served");
        }
        suppressed.is_some()
    }

    /// The method, unless the client invented it.
    fn method(&self) -> &'static str {
        const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
        let method = &self.context.parts.method;
        let known = KNOWN.into_iter().find(|known| method == *known);
        known.unwrap_or("other")
    }

    fn client(&self) -> Option<String> {
        let RequestContext { client, now, .. } = &self.context;
        (!self.route.is_preflight()).then(|| self.context.peer.log_name(client, *now).to_string())
    }
}
