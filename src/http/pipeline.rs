//! The path of every request:
//!
//! 1. A request from a network that the operator has blocked is refused and costs nothing. A CORS preflight
//!    and any other OPTIONS are answered and cost nothing, as does a load balancer's probe.
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
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};

use crate::app::App;
use crate::usecases::admit;

use crate::http::answer::cors;
use crate::http::answer::render;
use crate::http::answer::reply::{NO_STORE, X_REQUEST_ID};
use crate::http::endpoint::{Route, catch_panic, panicked};
use crate::http::endpoints;
use crate::http::handlers::health::{HEALTH, LIVEZ};
use crate::http::log::LogLine;
use crate::http::request::body::{self, BodyError};
use crate::http::request::identity;
use crate::http::request::version;
use crate::http::service::LandingService;
use crate::http::{Code, Endpoint, Problem, Reply, ReplyBody, RequestContext, RequestId};

impl LandingService {
    /// Answers one request from `peer`. Failures and panics become problems.
    pub async fn respond(
        &self,
        peer: IpAddr,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>>>,
    ) -> Response<ReplyBody> {
        let id = self.ids.next();
        let is_head = request.method() == Method::HEAD;
        // Boxed, because hyper moves a request's future before it polls it.
        let exchange = Box::pin(self.exchange(id, peer, request));
        catch_panic(exchange).await.unwrap_or_else(|panic| {
            let cause = panicked(&*panic).cause.unwrap_or_default();
            tracing::error!(request.id = %id, %cause, "a request was not answered as it should be");
            self.renderer.fault(id, is_head)
        })
    }

    async fn exchange(
        &self,
        id: RequestId,
        peer: IpAddr,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>>>,
    ) -> Response<ReplyBody> {
        let (parts, body) = request.into_parts();
        let client_ip = self.proxies.client_ip(peer, &parts.headers);
        let is_document = |path: &str| self.state.documents.contains(path);
        let route = endpoints::find(self.endpoints, &parts.method, parts.uri.path(), is_document);
        let (state, origins) = (Arc::clone(&self.state), self.origins.clone());
        let mut context = RequestContext::new(state, id, parts, client_ip, origins);
        let mut log_line = LogLine::begin(&self.log_throttle, &self.state, &context, route);
        let is_blocked = self.app().blocks.is_blocked(client_ip.address);
        if !is_blocked
            && context.head.is_ok()
            && context.parts.method == Method::OPTIONS
            && let Route::WrongMethod { allow, is_document } = route
        {
            let headers = self.origins.preflight(&context.parts, allow, is_document);
            let allowed = || HeaderMap::from_iter([(ALLOW, HeaderValue::from_static(allow))]);
            let headers = headers.unwrap_or_else(allowed);
            log_line.be_of_preflight();
            let response = preflight(&context, headers);
            log_line.write(&response, &Ok(Reply::empty()), &context.decision);
            return response;
        }
        let is_probe = [HEALTH.name, LIVEZ.name].contains(&route.name())
            || context.parts.method == Method::HEAD;
        self.proxy_warnings
            .observe(peer, client_ip.forwarding, is_probe);
        // Caught here, a panic leaves the decision in the answer. Those of spawned handlers are caught by
        // their `JoinHandle`.
        let answer = catch_panic(self.answer(&mut context, route, is_blocked, body)).await;
        let mut outcome = answer.unwrap_or_else(|panic| Err(panicked(&*panic)));
        let mut response = self.renderer.render(&mut context, &mut outcome);
        self.mark(&context, route, response.headers_mut());
        self.ceiling_warnings.observe(&context.decision);
        log_line.write(&response, &outcome, &context.decision);
        response
    }

    /// Refuses what is blocked; takes steps 2 and 3, then `operate`.
    async fn answer(
        &self,
        context: &mut RequestContext,
        route: Route,
        is_blocked: bool,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        if is_blocked {
            let refusal = Problem::of(Code::NetworkBlocked);
            return Err(refusal.with_header(CACHE_CONTROL, NO_STORE));
        }
        let app = self.app();
        let malformed = |detail| Problem::new(Code::MalformedHead, detail);
        if let Route::Found(endpoint) = route
            && endpoint.is_free
        {
            context.head.map_err(malformed)?;
            return self.operate(endpoint, context, body).await;
        }
        let (now, area) = (context.now, context.area);
        let (network, is_presented) = (
            context.client.network,
            identity::is_presented(context.headers()),
        );
        if is_presented && let Some(refusal) = admit::known_refusal(app.meter(), now, network) {
            context.decision = refusal;
            return Err(Problem::refused(Code::RateLimited, &context.decision));
        }
        // Counted before a bad credential is rejected, which is charged to its network.
        let credential = identity::identify(app.credentials(), now, context.headers(), area).await;
        context.client.credential = credential.as_ref().ok().copied().flatten();
        context.decision = admit::admit(app.meter(), now, &context.client).await?;
        if context.decision.is_refused() {
            if is_presented && context.client.credential.is_none() {
                // For the look-up. A failure only means that the next one is looked up, too.
                let _ = admit::admit_network(app.meter(), now, network).await;
            }
            return Err(Problem::refused(Code::RateLimited, &context.decision));
        }
        context.head.map_err(malformed)?;
        credential?;
        let endpoint = route.endpoint()?;
        match (self.operate(endpoint, context, body).await, endpoint.shows) {
            // A failure before the endpoint's own policies were asked shows them, too.
            (Err(problem), Some(shows)) if problem.decision.standings().is_empty() => {
                Err(problem.with_decision(shows(context.clone()).await?))
            }
            (outcome, _) => outcome,
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
            if !media_types.is_empty() {
                let origins = &self.origins;
                body::check_media_type(media_types, headers, own_origin, origins, is_empty)?;
            }
            // Reading the body may have taken long.
            context.now = self.app().clock.now();
        }
        endpoint.run(endpoint.handler, context.clone(), bytes).await
    }

    /// Adds the headers on versions, removal, `https`, CORS and the end of the connection.
    fn mark(&self, context: &RequestContext, route: Route, headers: &mut HeaderMap) {
        if let Some(hsts) = &self.hsts {
            headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        context.wanted.confirm(headers);
        if let Route::Found(endpoint) = route
            && let Some(sunset) = endpoint.sunset
        {
            version::announce(sunset, headers);
        }
        if route.is_document() {
            cors::open(headers);
        } else if context.area.is_for_programs() {
            let origin = self.origins.origin_of(context.headers());
            self.origins.apply(origin, headers);
        }
        if context.head.is_err() && context.parts.version < Version::HTTP_2 {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }

    fn app(&self) -> &App {
        &self.state.app
    }
}

/// The answer to OPTIONS, which may be a CORS preflight: `headers` and no body.
fn preflight(context: &RequestContext, mut headers: HeaderMap) -> Response<ReplyBody> {
    headers.insert(X_REQUEST_ID, context.id.to_header());
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
