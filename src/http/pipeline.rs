//! The path of every request:
//!
//! 1. Blocked networks are refused. OPTIONS of a known path, the probe `/livez` and links from emails are not charged.
//! 2. The credential is looked up and the request is charged to the policies `default` and `ip`.
//! 3. A malformed head, a bad credential, an unknown path or a wrong method ends the request.
//! 4. An unknown version or a foreign origin ends it.
//! 5. The body is read under a cap and a deadline.
//! 6. The handler runs under its deadline. One with effects is spawned, so that it finishes even if
//!    the client hangs up.
//! 7. One decision makes the rate-limit headers, CORS headers are added, and one line is logged.
//!    A streamed answer goes on after that and logs its own end.
//!
//! The steps before the first wait are taken at once, by `begin`: health, documents and refusals need no future. The
//! rest follows in `resume`.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY,
};
use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use tokio::time::Instant;

use crate::domain::Decision;

use crate::http::answer::cors;
use crate::http::answer::render::{self, Renderer};
use crate::http::answer::reply::{NO_STORE, X_REQUEST_ID};
use crate::http::context::ServerState;
use crate::http::endpoint::{Handled, catch_panic, panicked};
use crate::http::handlers::health::{HEALTH, LIVEZ};
use crate::http::request::body::{self, BodyError, BodyReader};
use crate::http::request::client_ip::ProxyWarnings;
use crate::http::request::head::{SERVICE_API_VERSION, VERSION};
use crate::http::request::identity;
use crate::http::router::{Route, Router};
use crate::http::{Code, Endpoint, Peer, Problem, Reply, ReplyBody, RequestContext, whole};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Answers requests, over any transport. Made once, at start (`service.rs`).
#[derive(Debug)]
pub struct LandingService {
    pub(super) state: Arc<ServerState>,
    pub(super) router: Router,
    pub(super) bodies: BodyReader,
    pub(super) proxy_warnings: ProxyWarnings,
    pub(super) renderer: Renderer,
    /// `Strict-Transport-Security`, if it is sent.
    pub(super) hsts: Option<HeaderValue>,
}

/// A response as hyper takes it.
pub(crate) type Responded = Result<Response<ReplyBody>, Infallible>;

/// A response, or the future of one.
pub(crate) type Responding = Either<Ready<Responded>, BoxFuture<'static, Responded>>;

impl LandingService {
    /// The peer at `address`. Each connection has its own.
    pub fn peer(&self, address: IpAddr) -> Arc<Peer> {
        Peer::new(&self.state, address)
    }

    /// Answers one request of `peer`'s connection, which has just `arrived`; at once, if nothing has to be waited for.
    /// Failures and panics become problems.
    pub fn respond(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        arrived: Instant,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static>,
    ) -> Responding {
        let (parts, body) = request.into_parts();
        let mut exchange = Exchange {
            route: self.router.find(&parts.method, parts.uri.path()),
            context: RequestContext::new(peer, parts),
            decision: Decision::default(),
            arrived,
            is_finished: false,
        };
        // State that requests share is behind locks that a panic releases, or is changed in one step.
        let begun = catch_unwind(AssertUnwindSafe(|| exchange.begin(self)));
        let outcome = match begun.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(Step::Done(reply)) => Ok(reply),
            Err(problem) => Err(problem),
            Ok(step) => {
                let service = Arc::clone(self);
                return Either::Right(Box::pin(async move {
                    let outcome = catch_panic(exchange.resume(&service, step, body)).await;
                    let outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic)));
                    Ok(exchange.finish(&service, outcome))
                }));
            }
        };
        let response = exchange.finish(self, outcome);
        if body.is_end_stream() {
            return Either::Left(ready(Ok(response)));
        }
        // Before a body that nobody reads is dropped, hyper has to come to it: otherwise it closes the connection.
        Either::Right(Box::pin(async move {
            drop(body);
            Ok(response)
        }))
    }
}

/// One request, from its head to the head of its answer.
pub(super) struct Exchange {
    pub(super) context: RequestContext,
    pub(super) route: Route,
    /// The standings of the policies that the request has been charged to.
    pub(super) decision: Decision,
    pub(super) arrived: Instant,
    /// False if the client hung up before.
    is_finished: bool,
}

/// Where a request stops at its first wait.
enum Step {
    Done(Reply),
    /// Its credential or the limiter has to be asked.
    Unadmitted,
    /// Admitted; its body has to be read, or the standings that its refusal shows looked up.
    Admitted(&'static Endpoint),
    /// The endpoint's handler runs.
    Handled(&'static Endpoint, Handled),
}

impl Exchange {
    /// Takes the steps before the first wait.
    fn begin(&mut self, service: &LandingService) -> Result<Step, Problem> {
        let forwarding = self.context.read_head();
        let context = &self.context;
        let is_probe = [HEALTH.name, LIVEZ.name, Route::PREFLIGHT].contains(&self.route.name)
            || context.is_head();
        let warnings = &service.proxy_warnings;
        warnings.observe(context.peer.address, forwarding, is_probe);
        let is_blocked = context.app().blocks.is_blocked(context.address);
        if self.route.is_preflight() && (is_blocked || context.head.fault.is_some()) {
            self.route.name = Route::WRONG_METHOD;
        }
        if is_blocked {
            let refusal = Problem::of(Code::NetworkBlocked);
            return Err(refusal.with_header(CACHE_CONTROL, NO_STORE));
        }
        if self.route.is_preflight() {
            let (origins, allow) = (&context.state().origins, self.route.allow);
            let headers = origins.preflight(&context.parts, allow, self.route.is_document);
            let allowed = || HeaderMap::from_iter([(ALLOW, HeaderValue::from_static(allow))]);
            let mut headers = headers.unwrap_or_else(allowed);
            headers.insert(X_REQUEST_ID, context.id.to_header());
            let reply = Reply::new(StatusCode::NO_CONTENT, headers, whole(""));
            return Ok(Step::Done(reply));
        }
        if let Some(endpoint) = self.route.endpoint.filter(|endpoint| endpoint.is_free) {
            self.check_head()?;
            return self.dispatch(endpoint);
        }
        if context.head.has_credential {
            return Ok(Step::Unadmitted);
        }
        let (meter, decision) = (context.app().meter(), &mut self.decision);
        if !meter.admit_now(&context.client, context.now, decision) {
            return Ok(Step::Unadmitted);
        }
        let endpoint = self.admitted_endpoint(Ok(()))?;
        self.dispatch(endpoint)
    }

    /// Steps 4 and 6, if there is no body to be read. A handler that is ready at once is finished here.
    fn dispatch(&self, endpoint: &'static Endpoint) -> Result<Step, Problem> {
        let is_refused = || self.check_version_and_origin(endpoint).is_err();
        if endpoint.body.is_some() || endpoint.shows.is_some() && is_refused() {
            return Ok(Step::Admitted(endpoint));
        }
        self.check_version_and_origin(endpoint)?;
        match endpoint.run(endpoint.handler, &self.context, Bytes::new()) {
            Handled::Now(outcome) => outcome.map(Step::Done),
            later @ Handled::Later(_) => Ok(Step::Handled(endpoint, later)),
        }
    }

    /// Takes the steps from the first wait on.
    async fn resume(
        &mut self,
        service: &LandingService,
        step: Step,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        let (endpoint, handled) = match step {
            Step::Done(reply) => return Ok(reply),
            Step::Handled(endpoint, handled) => (endpoint, Some(handled)),
            Step::Admitted(endpoint) => (endpoint, None),
            // Boxed: few requests wait here, and unboxed it would double the size of every request's future.
            Step::Unadmitted => (Box::pin(self.authenticate_and_charge()).await?, None),
        };
        let outcome = match handled {
            Some(handled) => handled.outcome_within(endpoint.deadline).await,
            None => self.read_and_handle(service, endpoint, body).await,
        };
        match (outcome, endpoint.shows) {
            // A failure before the endpoint's own policies were asked shows them, too.
            (Err(problem), Some(shows)) if problem.decision.standings().is_empty() => {
                Err(problem.with_decision(shows(&self.context).await?))
            }
            (outcome, _) => outcome,
        }
    }

    /// Steps 2 and 3. A request with a bad credential is charged to its network, then rejected.
    async fn authenticate_and_charge(&mut self) -> Result<&'static Endpoint, Problem> {
        let context = &mut self.context;
        let app = &context.peer.state.app;
        let is_presented = context.head.has_credential;
        if is_presented
            && let Some(refusal) = app.meter().known_refusal(&context.client, context.now)
        {
            self.decision = refusal;
            return self.admitted_endpoint(Ok(()));
        }
        let headers = &context.parts.headers;
        let sources = app.credentials();
        let credential = identity::identify(sources, context.now, headers, context.area).await;
        context.client.credential = credential.as_ref().ok().copied().flatten();
        context.now = app.clock.now();
        let (meter, client, now) = (app.meter(), &context.client, context.now);
        let door = meter.acquire(&meter.door_charges(client), now).await?;
        self.decision = door.decision;
        if self.decision.is_refused() && is_presented && context.client.credential.is_none() {
            // For the look-up. A failure only means that the next one is looked up, too.
            let charges = meter.network_charges(client);
            let _ = meter.acquire(&charges, now).await;
        }
        self.admitted_endpoint(credential.map(drop))
    }

    /// Step 3, once the request has been charged.
    fn admitted_endpoint(
        &self,
        credential: Result<(), Problem>,
    ) -> Result<&'static Endpoint, Problem> {
        if self.decision.is_refused() {
            return Err(Problem::refused(Code::RateLimited, &self.decision));
        }
        self.check_head()?;
        credential?;
        self.route.found()
    }

    fn check_head(&self) -> Result<(), Problem> {
        match self.context.head.fault {
            Some(detail) => Err(Problem::new(Code::MalformedHead, detail)),
            None => Ok(()),
        }
    }

    fn check_version_and_origin(&self, endpoint: &Endpoint) -> Result<(), Problem> {
        let context = &self.context;
        if context.head.is_our_version == Some(false) {
            return Err(Problem::of(Code::UnsupportedApiVersion));
        }
        let (origins, own) = (&context.state().origins, &context.app().settings.base_url);
        if endpoint.checks_origin && !origins.admits(context.headers(), own) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        Ok(())
    }

    /// Steps 4 to 6.
    async fn read_and_handle(
        &mut self,
        service: &LandingService,
        endpoint: &'static Endpoint,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        self.check_version_and_origin(endpoint)?;
        let context = &mut self.context;
        let mut bytes = Bytes::new();
        if let Some(rule) = endpoint.body {
            let (state, headers) = (&context.peer.state, &context.parts.headers);
            body::check_refused(rule, headers)?;
            let (network, head_bytes) = (context.client.network, body::head_bytes(&context.parts));
            let read = service
                .bodies
                .read(network, head_bytes, body, rule.bytes_max);
            bytes = Box::pin(read).await?;
            let (media_types, is_empty) = (rule.media_types, bytes.is_empty());
            if !media_types.is_empty() {
                let (own_origin, origins) = (&state.app.settings.base_url, &state.origins);
                body::check_media_type(media_types, headers, own_origin, origins, is_empty)?;
            }
            // Reading the body may have taken long ([`RequestContext::now`]).
            context.now = state.app.clock.now();
        }
        let handled = endpoint.run(endpoint.handler, context, bytes);
        handled.outcome_within(endpoint.deadline).await
    }

    /// Step 7.
    fn finish(
        &mut self,
        service: &LandingService,
        outcome: Result<Reply, Problem>,
    ) -> Response<ReplyBody> {
        self.is_finished = true;
        let duration = self.arrived.elapsed();
        let written = || self.write(service, outcome, duration);
        let response = catch_unwind(AssertUnwindSafe(written)).unwrap_or_else(|panic| {
            let (context, cause) = (&self.context, panicked(&*panic).cause.unwrap_or_default());
            tracing::error!(request.id = %context.id.0, %cause, "a request was not answered as it should be");
            render::fault(&context.app().settings.base_url, context.id, context.is_head())
        });
        let metrics = &self.context.app().metrics;
        metrics.record_request(self.route.name, Some(response.status().as_u16()), duration);
        response
    }

    fn write(
        &mut self,
        service: &LandingService,
        outcome: Result<Reply, Problem>,
        duration: Duration,
    ) -> Response<ReplyBody> {
        let (context, decision) = (&self.context, &mut self.decision);
        let is_complete = self.route.is_preflight() && outcome.is_ok();
        let reply = match outcome {
            Ok(reply) => {
                if let Some(later) = &reply.decision {
                    decision.merge(later);
                }
                reply
            }
            Err(problem) => {
                decision.merge(&problem.decision);
                let mut reply = render::problem_reply(context, decision, &problem);
                reply.problem = Some(Box::new(problem));
                reply
            }
        };
        let mut response = reply.response;
        if !is_complete {
            let renderer = &service.renderer;
            renderer.complete(context, decision, reply.content_type, &mut response);
            service.add_headers(context, &self.route, response.headers_mut());
        }
        self.log(&response, reply.tool, reply.problem.as_deref(), duration);
        response
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_finished {
            self.log_hang_up();
        }
    }
}

impl LandingService {
    /// Adds the headers on versions, removal, `https`, CORS and the end of the connection.
    fn add_headers(&self, context: &RequestContext, route: &Route, headers: &mut HeaderMap) {
        if let Some(hsts) = &self.hsts {
            headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        if context.head.is_our_version == Some(true) {
            headers.insert(SERVICE_API_VERSION, HeaderValue::from_static(VERSION));
        }
        if let Some(sunset) = route.endpoint.and_then(|endpoint| endpoint.sunset) {
            // The value of the first drafts; RFC 9745 has a date.
            headers.insert(DEPRECATION, HeaderValue::from_static("true"));
            headers.insert(SUNSET, HeaderValue::from_static(sunset));
        }
        if route.is_document {
            cors::open(headers);
        } else if context.area.is_for_programs() {
            self.state.origins.apply(&context.parts.headers, headers);
        }
        if context.head.fault.is_some() && context.parts.version < Version::HTTP_2 {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}
