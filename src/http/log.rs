//! The log line of a request, and warnings when all clients together use up what a policy allows them.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hyper::body::Body as _;
use hyper::{Method, Response};
use tokio::time::Instant;
use tracing::Level;

use crate::app::App;
use crate::domain::{CountedBy, Decision, Network, PolicyName, Pseudonym, Standing, Timestamp};

use crate::http::context::ServerState;
use crate::http::endpoint::Route;
use crate::http::{Code, Problem, Reply, ReplyBody, RequestContext, RequestId};

/// Most lines a second about requests whose number no policy limits, or that are not served.
const LINES_PER_SECOND_MAX: u64 = 1000;

/// Limits the lines about requests that are refused, free, or not served for want of a store. The lines above
/// the limit are replaced by one line a second with their number.
#[derive(Debug)]
pub(super) struct LogThrottle {
    began: Instant,
    /// The upper half: the second of the newest line, counted from `began`. The lower half: the lines in
    /// that second.
    current: AtomicU64,
    /// Lines that were suppressed and not yet reported.
    suppressed: AtomicU64,
}

impl LogThrottle {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            current: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
        }
    }

    /// Whether a line may be written. Counts it in either case.
    fn admit(&self) -> bool {
        let second = self.began.elapsed().as_secs();
        let taken = self.current.fetch_update(Relaxed, Relaxed, |current| {
            if second > current >> 32 {
                Some((second << 32) + 1)
            } else {
                let lines = current & u64::from(u32::MAX);
                (lines < LINES_PER_SECOND_MAX).then_some(current + 1)
            }
        });
        if taken.is_err() {
            self.suppressed.fetch_add(1, Relaxed);
        }
        taken.is_ok()
    }

    /// Reports the lines that were suppressed in a second that is over. Called before every line.
    fn report(&self) {
        if self.suppressed.load(Relaxed) > 0
            && self.began.elapsed().as_secs() > self.current.load(Relaxed) >> 32
        {
            self.report_all();
        }
    }

    fn report_all(&self) {
        let count = self.suppressed.swap(0, Relaxed);
        if count > 0 {
            tracing::info!(count, "further requests were refused, free or not served");
        }
    }
}

impl Drop for LogThrottle {
    /// No line may have followed the last ones that were suppressed.
    fn drop(&mut self) {
        self.report_all();
    }
}

/// The name of a preflight, which belongs to no endpoint.
pub(super) const PREFLIGHT: &str = "preflight";

/// The line of a request, and what the metrics count of it. The line holds no personal data: no path, query,
/// address or credential.
pub(super) struct LogLine<'a> {
    throttle: &'a LogThrottle,
    app: &'a App,
    id: RequestId,
    method: &'static str,
    endpoint: &'static str,
    /// The path of the endpoint or of the document, as its table has it.
    route: Option<&'a str>,
    /// No policy limits how many there are.
    is_free: bool,
    /// Who asks, and when.
    client: (Network, Timestamp),
    arrived: Instant,
    is_written: bool,
}

/// A duration in milliseconds, to the microsecond.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

impl<'a> LogLine<'a> {
    pub(super) fn begin(
        throttle: &'a LogThrottle,
        state: &'a ServerState,
        context: &RequestContext,
        route: Route,
    ) -> Self {
        let path = context.parts.uri.path();
        Self {
            throttle,
            app: &state.app,
            id: context.id,
            method: method_name(&context.parts.method),
            endpoint: route.name(),
            route: route.path(path, |path| state.documents.path(path)),
            is_free: matches!(route, Route::Found(endpoint) if endpoint.is_free),
            client: (context.client.network, context.now),
            arrived: Instant::now(),
            is_written: false,
        }
    }

    /// Makes it the line of a preflight.
    pub(super) fn be_of_preflight(&mut self) {
        (self.endpoint, self.is_free) = (PREFLIGHT, true);
    }

    pub(super) fn write(
        &mut self,
        response: &Response<ReplyBody>,
        outcome: &Result<Reply, Problem>,
        decision: &Decision,
    ) {
        // First, so that a panic below does not look like a client that hung up.
        self.is_written = true;
        let (status, duration) = (response.status().as_u16(), self.arrived.elapsed());
        self.app
            .metrics
            .record_request(self.endpoint, Some(status), duration);
        let (tool, problem) = match outcome {
            Ok(reply) => (reply.tool, reply.problem.as_deref()),
            Err(problem) => (None, Some(problem)),
        };
        // A tool's failure is an answer of status 200.
        let is_fault = problem.is_some_and(|problem| problem.code.kind().status.as_u16() >= 500);
        if !is_fault && !tracing::enabled!(Level::INFO) {
            return;
        }
        self.throttle.report();
        // A fault with a cause always has its line, which may be the only word of what is wrong.
        let is_limited = |problem: &Problem| {
            problem.code == Code::Overloaded || is_fault && problem.cause.is_none()
        };
        let is_refused = (400..500).contains(&status) || problem.is_some_and(is_limited);
        if (is_refused || (self.is_free && !is_fault)) && !self.throttle.admit() {
            return;
        }
        let (id, endpoint, duration_ms) = (self.id, self.endpoint, milliseconds(duration));
        let (method, route, client) = (self.method, self.route, self.pseudonym());
        let bytes = response.body().size_hint().exact();
        let code = problem.map(|problem| problem.code.kind().name);
        let violated = decision
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
}

impl LogLine<'_> {
    fn pseudonym(&self) -> Option<String> {
        if self.endpoint == PREFLIGHT {
            return None;
        }
        let (network, now) = self.client;
        Some(Pseudonym::new(&self.app.secrets, network, now).to_string())
    }
}

/// The method, unless the client made it up.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// A client that hangs up drops its request, which has no status then.
impl Drop for LogLine<'_> {
    fn drop(&mut self) {
        if self.is_written {
            return;
        }
        let duration = self.arrived.elapsed();
        self.app
            .metrics
            .record_request(self.endpoint, None, duration);
        if self.throttle.admit() {
            let (id, endpoint, duration_ms) = (self.id, self.endpoint, milliseconds(duration));
            let (method, route, client) = (self.method, self.route, self.pseudonym());
            tracing::info!(
                request.id = %id, endpoint, method, route, duration_ms, client, "client hung up"
            );
        }
    }
}

/// Warns when a policy that counts all clients together is used to 80 % and to 100 %. Each warning comes
/// once, until the use has fallen below 50 %.
#[derive(Debug, Default)]
pub(super) struct CeilingWarnings {
    /// The percentage of each policy in its last warning, or 0.
    warned: [AtomicU8; PolicyName::ALL.len()],
}

impl CeilingWarnings {
    pub(super) fn observe(&self, decision: &Decision) {
        for standing in decision.standings() {
            if standing.policy.counted_by() == CountedBy::Everyone {
                self.compare(standing);
            }
        }
    }

    fn compare(&self, standing: &Standing) {
        let Some(warned) = self.warned.get(usize::from(standing.policy.tag())) else {
            return;
        };
        let (used, count) = (standing.used(), standing.quota.count());
        let percent = u64::from(used) * 100 / u64::from(count);
        let threshold = match percent {
            0..50 => {
                warned.store(0, Relaxed);
                return;
            }
            50..80 => return,
            80..100 => 80,
            100.. => 100,
        };
        if warned.fetch_max(threshold, Relaxed) < threshold {
            tracing::warn!(
                policy = standing.policy.as_str(),
                limit = %standing.quota,
                used,
                "{}",
                if threshold == 100 {
                    "all clients together have used up a policy: everybody is refused until places \
                     are free. If they are genuine, raise it with --limit"
                } else {
                    "all clients together have used 80 % of a policy: at 100 % everybody is refused. \
                     If they are genuine, raise it with --limit"
                }
            );
        }
    }
}
