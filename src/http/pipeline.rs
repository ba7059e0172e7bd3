//! The path of every request:
//!
//! 1. A CORS preflight is answered and costs nothing, as does a load balancer's probe.
//! 2. The credential is looked up and the request is charged to the policies `default` and `ip`.
//! 3. A malformed head, a bad credential, an unknown path or a wrong method ends the request.
//! 4. An unknown version or a foreign origin ends it.
//! 5. The body is read under a cap and a deadline.
//! 6. The handler runs under its deadline. One with effects is spawned, so that it finishes even if
//!    the client hangs up.
//! 7. One decision makes the rate-limit headers, CORS headers are added, and one line is logged.
//!    A streamed answer goes on after that and logs its own end.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::{Body, Bytes};
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, StatusCode, Version};

use crate::app::App;
use crate::domain::decision::Decision;
use crate::domain::deprecation::Deprecation;
use crate::usecases::{admit, ask_assistant};

use super::body::{self, BodyError};
use super::context::RequestContext;
use super::cors;
use super::endpoint::{Endpoint, Route};
use super::endpoints;
use super::handlers::health::HEALTH;
use super::head;
use super::headers::X_REQUEST_ID;
use super::identity;
use super::log::{LogLine, PREFLIGHT};
use super::panics::{catch_panic, panicked};
use super::problem::{Code, Problem};
use super::render;
use super::reply::{Reply, ReplyBody};
use super::request_id::RequestId;
use super::service::LandingService;
use super::version;

impl LandingService {
    /// Answers one request from `peer`. Failures and panics become problems.
    pub async fn respond(
        &self,
        peer: IpAddr,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>>>,
    ) -> Response<ReplyBody> {
        let id = self.ids.next();
        let (parts, body) = request.into_parts();
        let mut log_line = LogLine::begin(id, &self.log_throttle, self.app(), &parts.method);
        let mut decision = Decision::default();
        let parts = Arc::new(parts);
        let exchange = self.exchange(
            id,
            peer,
            Arc::clone(&parts),
            body,
            &mut decision,
            &mut log_line,
        );
        // Boxed, because hyper moves a request's future before it polls it. All panics are caught here
        // except those of spawned handlers, which have a `JoinHandle`.
        match catch_panic(Box::pin(exchange)).await {
            Ok(response) => response,
            Err(panic) => {
                let problem = panicked(&*panic);
                let response = self.renderer.problem(id, &parts, &problem, &decision);
                log_line.write(&response, &Err(problem), &decision);
                response
            }
        }
    }

    /// `decision` and `log_line` belong to the caller, who needs them after a panic.
    async fn exchange(
        &self,
        id: RequestId,
        peer: IpAddr,
        parts: Arc<Parts>,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
        decision: &mut Decision,
        log_line: &mut LogLine<'_>,
    ) -> Response<ReplyBody> {
        let is_document = |path: &str| self.state.documents.contains(path);
        let route = endpoints::find(&parts.method, parts.uri.path(), is_document);
        log_line.endpoint = route.name();
        log_line.route = route.path(parts.uri.path());
        let head = head::check(&parts);
        if head.is_ok()
            && let Some(headers) = self.origins.preflight(&parts, route)
        {
            log_line.endpoint = PREFLIGHT;
            let response = preflight(id, headers);
            log_line.write(&response, &Ok(Reply::empty()), decision);
            return response;
        }
        let client_ip = self.proxies.client_ip(peer, &parts.headers);
        let is_probe = route.name() == HEALTH.name;
        let forwarding = client_ip.forwarding;
        self.proxy_warnings.observe(peer, forwarding, is_probe);
        let (state, origins) = (Arc::clone(&self.state), self.origins.clone());
        let mut context = RequestContext::new(state, id, parts, client_ip, origins);
        log_line.client = Some((context.client.network, context.now));
        let answer = self.answer(&mut context, head, route, body, decision);
        let mut outcome = answer.await;
        let mut response = self.renderer.render(&context, &mut outcome, decision);
        self.mark(&context, route, response.headers_mut());
        if head.is_err() && context.parts.version < Version::HTTP_2 {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        self.ceiling_warnings.observe(decision);
        log_line.write(&response, &outcome, decision);
        response
    }

    /// Steps 2 and 3, then `operate`. `decision` becomes the decision of `admit`, and is kept if a
    /// later step fails.
    async fn answer(
        &self,
        context: &mut RequestContext,
        head: Result<(), &'static str>,
        route: Route,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
        decision: &mut Decision,
    ) -> Result<Reply, Problem> {
        let app = self.app();
        if let Route::Found(endpoint) = route
            && endpoint.is_free
        {
            head.map_err(|detail| Problem::new(Code::MalformedHead, detail))?;
            return self.operate(endpoint, context, body).await;
        }
        let (now, area) = (context.now, context.area);
        // Counted before a bad credential is rejected, which is charged to its network.
        let credential =
            identity::authenticate(app.credentials(), now, context.headers(), area).await;
        context.client.credential = credential.as_ref().ok().copied().flatten();
        *decision = admit::admit(app.meter(), now, &context.client).await?;
        if decision.is_refused() {
            return Err(Problem::refused(Code::RateLimited, decision));
        }
        head.map_err(|detail| Problem::new(Code::MalformedHead, detail))?;
        credential?;
        let endpoint = route.endpoint()?;
        match self.operate(endpoint, context, body).await {
            // A failure before the quota was read shows the quota, too.
            Err(problem) if endpoint.shows_quota && problem.decision.standings().is_empty() => {
                let (now, identity) = (app.clock.now(), context.visitor());
                let quota = ask_assistant::quota(app.meter(), now, &context.client, identity);
                Err(problem.with_decision(Box::pin(quota).await?))
            }
            outcome => outcome,
        }
    }

    /// Steps 4 to 6 of a request to `endpoint`.
    async fn operate(
        &self,
        endpoint: &'static Endpoint,
        context: &mut RequestContext,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        context.wanted.check()?;
        let (headers, own_origin) = (context.headers(), &self.app().settings.base_url);
        if endpoint.checks_origin && !self.origins.admits(headers, own_origin) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let mut bytes = Bytes::new();
        if let Some(rule) = endpoint.body {
            body::check_refused(rule, headers)?;
            let (network, head_bytes) = (context.client.network, body::head_bytes(&context.parts));
            let read = self.bodies.read(network, head_bytes, body, rule.bytes_max);
            bytes = Box::pin(read).await?;
            let (media_types, is_empty) = (rule.media_types, bytes.is_empty());
            body::check_media_type(media_types, headers, own_origin, &self.origins, is_empty)?;
            // Reading the body may have taken long.
            context.now = self.app().clock.now();
        }
        let handler = endpoint.handler;
        endpoint.run(handler, context.clone(), bytes).await
    }

    /// Adds the headers on versions, removal, `https` and CORS.
    fn mark(&self, context: &RequestContext, route: Route, headers: &mut HeaderMap) {
        if let Some(hsts) = &self.hsts {
            headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        context.wanted.confirm(headers);
        if let Route::Found(endpoint) = route {
            let is_meant = |it: &&Deprecation| {
                (it.method, it.path) == (endpoint.method.as_str(), context.path())
            };
            if let Some(deprecation) = self.deprecations.iter().find(is_meant) {
                version::announce(deprecation, headers);
            }
        }
        if route.is_document() {
            cors::open(headers);
        } else if context.area.is_for_programs() {
            let origin = self.origins.origin_of(context.headers());
            self.origins.apply(origin, headers);
        }
    }

    fn app(&self) -> &App {
        &self.state.app
    }
}

/// The answer to a CORS preflight: `headers` and no body.
fn preflight(id: RequestId, mut headers: HeaderMap) -> Response<ReplyBody> {
    headers.insert(X_REQUEST_ID, id.to_header());
    render::response(StatusCode::NO_CONTENT, headers, ReplyBody::default())
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;

    use super::*;

    /// hyper keeps room for it as long as a connection lives.
    #[test]
    fn the_future_of_a_request_stays_small() {
        fn size<A, F>(_: fn(&'static LandingService, IpAddr, A) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size::<Request<Empty<Bytes>>, _>(LandingService::respond);
        assert!(bytes <= 1024, "{bytes} bytes");
    }
}
