//! The path of every request:
//!
//! 1. A CORS preflight is answered and costs nothing.
//! 2. The credential is looked up and the request is counted at the door (`default`, `ip`).
//! 3. A bad credential, an unknown path, a wrong method, an unknown version or a foreign origin
//!    ends the request.
//! 4. The body is read under a cap and a deadline.
//! 5. The handler runs under its deadline. One with effects is spawned, so that it finishes even if
//!    the client hangs up.
//! 6. One decision makes the rate-limit headers, CORS headers are added, and one line is logged.
//!    A streamed answer goes on after that and logs its own end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

use crate::app::App;
use crate::domain::decision::Decision;
use crate::site::Site;
use crate::usecases::{admit, chat};

use super::body::{self, BodyError, BodyReader};
use super::client_ip::{ProxyWarnings, TrustedProxies};
use super::context::{RequestContext, ServerState};
use super::cors::AllowedOrigins;
use super::handlers;
use super::headers::X_REQUEST_ID;
use super::identity;
use super::log::LogLine;
use super::panics::{catch_panic, panicked};
use super::problem::{Code, Problem};
use super::render::{self, Renderer};
use super::reply::{Reply, ReplyBody};
use super::request_id::{RequestId, RequestIds};
use super::route::{Area, Endpoint};
use super::routes::Routes;

/// The service: answers requests, whatever transport they came over.
#[derive(Debug)]
pub struct LandingService {
    state: Arc<ServerState>,
    routes: Routes,
    ids: RequestIds,
    bodies: BodyReader,
    origins: AllowedOrigins,
    proxies: TrustedProxies,
    proxy_warnings: ProxyWarnings,
    renderer: Renderer,
}

impl LandingService {
    /// A service over `app` and `site`. `id_seed` is 16 random bytes; a body has `body_deadline`
    /// to arrive.
    #[must_use]
    pub fn new(app: Arc<App>, site: &Site, id_seed: [u8; 16], body_deadline: Duration) -> Self {
        Self {
            renderer: Renderer::new(&app.settings),
            state: Arc::new(ServerState::new(app, site)),
            routes: Routes::default(),
            ids: RequestIds::new(id_seed),
            bodies: BodyReader::new(body_deadline),
            origins: AllowedOrigins::default(),
            proxies: TrustedProxies::default(),
            proxy_warnings: ProxyWarnings::default(),
        }
    }

    /// The same service with another table of paths.
    #[must_use]
    pub fn routing(mut self, routes: Routes) -> Self {
        self.routes = routes;
        self
    }

    /// The same service, whose answers pages of these origins may read.
    #[must_use]
    pub fn allowing(mut self, origins: AllowedOrigins) -> Self {
        self.origins = origins;
        self
    }

    /// The same service behind these proxies.
    #[must_use]
    pub fn behind(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// The number of handlers with effects and streamed answers that have begun and not finished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.state.unfinished.len()
    }

    /// Waits until they have finished, whether or not their clients wait for them.
    pub async fn wait_for_unfinished(&self) {
        self.state.unfinished.close();
        self.state.unfinished.wait().await;
    }

    /// Answers one request from `peer`. Failures and panics become problems.
    pub async fn respond<B>(&self, peer: IpAddr, request: Request<B>) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>>,
    {
        let id = self.ids.next();
        let (parts, body) = request.into_parts();
        let (is_head, area) = (parts.method == Method::HEAD, Area::of(parts.uri.path()));
        let mut decision = Decision::default();
        let exchange = self.exchange(id, peer, Arc::new(parts), body, &mut decision);
        // The panic net of everything but spawned handlers, which have their `JoinHandle`.
        match catch_panic(exchange).await {
            Ok(response) => response,
            Err(panic) => {
                let problem = panicked(&*panic);
                let cause = problem.cause.as_deref();
                tracing::warn!(request.id = %id, status = 500, cause, "request");
                self.renderer
                    .problem(id, is_head, area, &problem, &decision)
            }
        }
    }

    async fn exchange<B>(
        &self,
        id: RequestId,
        peer: IpAddr,
        parts: Arc<Parts>,
        body: B,
        decision: &mut Decision,
    ) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>>,
    {
        let documents = &self.state.documents;
        let route = self.routes.find(&parts.method, parts.uri.path(), |path| {
            documents.contains(path)
        });
        if let Some(headers) = self.origins.preflight(&parts, route) {
            return preflight(id, headers);
        }
        let client_ip = self.proxies.client_ip(peer, &parts.headers);
        let state = Arc::clone(&self.state);
        let mut context = RequestContext::new(state, id, parts, route, client_ip);
        let is_probe = route.leads_to(Endpoint::Health);
        self.proxy_warnings
            .observe(peer, client_ip.forwarding, is_probe);
        let mut log_line = LogLine::begin(id, route);
        let mut outcome = self.answer(&mut context, body, decision).await;
        log_line.answering();
        let mut response = self.renderer.render(&context, &mut outcome, decision);
        if context.is_for_programs() {
            let origin = self.origins.origin_of(context.headers());
            self.origins.apply(origin, response.headers_mut());
        }
        log_line.write(response.status(), &outcome, decision);
        response
    }

    /// Steps 2 to 5. `decision` is what the door said, even if a later step fails.
    async fn answer<B>(
        &self,
        context: &mut RequestContext,
        body: B,
        decision: &mut Decision,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>>,
    {
        let app = self.app();
        let (now, area) = (context.now, context.area);
        // Counted first, judged after: a bad credential is charged to its network.
        let credential =
            identity::authenticate(app.credentials(), now, context.headers(), area).await;
        context.client.credential = credential.as_ref().ok().copied().flatten();
        *decision = admit::admit(app.meter(), now, &context.client).await?;
        if decision.is_refused() {
            return Err(Problem::refused(Code::RateLimited, decision));
        }
        credential?;
        let endpoint = context.route.endpoint()?;
        match self.operate(endpoint, context, body).await {
            // A failure before the quota was asked shows it all the same.
            Err(problem) if endpoint.shows_quota() && problem.decision.standings().is_empty() => {
                let (now, asker) = (app.clock.now(), context.visitor());
                let quota = chat::quota(app.meter(), now, &context.client, asker);
                Err(problem.with_decision(Box::pin(quota).await?))
            }
            outcome => outcome,
        }
    }

    /// Steps 3 to 5 of a request that leads to `endpoint`.
    async fn operate<B>(
        &self,
        endpoint: Endpoint,
        context: &mut RequestContext,
        body: B,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>>,
    {
        context.wanted.check()?;
        let (headers, own_origin) = (context.headers(), &self.app().settings.base_url);
        // What identity providers revoke with in the auth.md proposal (v0.1). It is not read.
        if endpoint == Endpoint::Revoke && body::is_of_type(headers, "application/logout+jwt") {
            return Err(Problem::of(Code::IssuerNotEnabled));
        }
        if endpoint.checks_origin() && !self.origins.admits(headers, own_origin) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let mut bytes = Bytes::new();
        if let Some(rule) = endpoint.body() {
            let network = context.client.network;
            bytes = Box::pin(self.bodies.read(network, body, rule.bytes_max)).await?;
            let (media_type, is_empty) = (rule.media_type, bytes.is_empty());
            body::check_media_type(media_type, headers, own_origin, &self.origins, is_empty)?;
            // The body may have taken its time.
            context.now = self.app().clock.now();
        }
        handlers::run(endpoint, context.clone(), |context| {
            handlers::handle(endpoint, context, bytes)
        })
        .await
    }

    fn app(&self) -> &App {
        &self.state.app
    }
}

/// The answer to a CORS preflight: `headers` and no body.
fn preflight(id: RequestId, mut headers: HeaderMap) -> Response<ReplyBody> {
    let status = StatusCode::NO_CONTENT;
    tracing::info!(request.id = %id, endpoint = "preflight", status = status.as_u16(), "request");
    headers.insert(X_REQUEST_ID, id.to_header());
    render::response(status, headers, ReplyBody::default())
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
        assert!(bytes <= 2048, "{bytes} bytes");
    }
}
