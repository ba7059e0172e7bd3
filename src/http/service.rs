//! What happens to a request, from first to last:
//!
//! 1. it is named (`X-Request-Id`) and its route found; a CORS preflight is answered and goes no
//!    further;
//! 2. its credential is looked up, and it is counted at the door (`default`, `ip`);
//! 3. a bad credential (where one matters), an unknown path, a wrong method, an unknown version or a
//!    page of a foreign origin ends it here;
//! 4. its body is read, under a cap and a deadline;
//! 5. its operation runs; one with effects runs detached, so that it finishes even if the client
//!    hangs up (a chat that would be streamed is broken off then, and stays charged);
//! 6. whatever came of it, one decision makes the rate-limit headers, pages of allowed origins may
//!    read them, and one line is logged. An answer that is streamed goes on after that, detached,
//!    and logs its end by itself.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::client::{Client, Network};
use crate::domain::decision::Decision;
use crate::site::Site;
use crate::usecases::admit;
use crate::usecases::chat::{self, Asker};

use super::body::{self, BodyError, BodyReader};
use super::cookie::QuotaCookie;
use super::cors::{self, AllowedOrigins};
use super::documents::Documents;
use super::forwarded::TrustedProxies;
use super::handlers::{self, Call};
use super::identity;
use super::log::LogLine;
use super::mcp::Catalogue;
use super::panics::{catch_panic, panicked};
use super::problem::{Code, Problem};
use super::proxy_watch::ProxyWatch;
use super::ratelimit;
use super::reply::{Reply, ReplyBody};
use super::request_id::{RequestId, RequestIds};
use super::route::{Area, Endpoint};
use super::routes::{Route, Routes};
use super::version::{self, Wanted};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const X_CONTENT_TYPE_OPTIONS: HeaderName = HeaderName::from_static("x-content-type-options");
/// What an identity provider revokes with, in the auth.md proposal (v0.1).
const LOGOUT_TOKEN: &str = "application/logout+jwt";
/// Tells nginx to pass a stream on as it comes.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The service: what answers requests, whatever they came over.
#[derive(Debug)]
pub struct LandingService {
    app: Arc<App>,
    documents: Arc<Documents>,
    routes: Routes,
    catalogue: Arc<Catalogue>,
    ids: RequestIds,
    bodies: BodyReader,
    origins: AllowedOrigins,
    proxies: TrustedProxies,
    proxy_watch: ProxyWatch,
    /// Operations that go on without their client.
    detached: TaskTracker,
}

impl LandingService {
    /// A service over `app` and `site`. `id_seed` is 16 random bytes; a body has `body_deadline`
    /// to arrive.
    #[must_use]
    pub fn new(app: Arc<App>, site: &Site, id_seed: [u8; 16], body_deadline: Duration) -> Self {
        Self {
            app,
            documents: Arc::new(Documents::new(site.documents())),
            routes: Routes::default(),
            catalogue: Arc::new(Catalogue::new(site.toolbox())),
            ids: RequestIds::new(id_seed),
            bodies: BodyReader::new(body_deadline),
            origins: AllowedOrigins::default(),
            proxies: TrustedProxies::default(),
            proxy_watch: ProxyWatch::default(),
            detached: TaskTracker::new(),
        }
    }

    /// The same service with another table of paths.
    #[must_use]
    pub fn routing(mut self, routes: Routes) -> Self {
        self.routes = routes;
        self
    }

    /// The same service, read by pages of these origins.
    #[must_use]
    pub fn allowing(mut self, origins: AllowedOrigins) -> Self {
        self.origins = origins;
        self
    }

    /// The same service, behind these proxies.
    #[must_use]
    pub fn behind(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Waits until every operation has finished that goes on without its client.
    pub async fn finish_detached(&self) {
        self.detached.close();
        self.detached.wait().await;
    }

    /// Answers one request that came from `peer`. Always answers: what fails is a problem, and so
    /// is what panics.
    pub async fn respond<B>(&self, peer: IpAddr, request: Request<B>) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let id = self.ids.next();
        let (parts, body) = request.into_parts();
        let area = Area::of(parts.uri.path());
        let is_head = parts.method == Method::HEAD;
        let route = self.routes.find(&parts.method, parts.uri.path(), |path| {
            self.documents.contains(path)
        });
        if let Some(headers) = self.origins.preflight(&parts, route) {
            return preflight(id, headers);
        }
        let origin = self.origins.of(&parts.headers).cloned();
        let wanted = Wanted::of(&parts);
        let log_line = LogLine::begin(id, route);

        let mut decision = Decision::default();
        let mut outcome = catch_panic(self.exchange(id, &mut decision, route, peer, parts, body))
            .await
            .unwrap_or_else(|panic| Err(panicked(&*panic)));

        let mut response = self.render(id, &mut outcome, &mut decision, area, is_head);
        wanted.confirm(response.headers_mut());
        if route.is_document() {
            cors::open(response.headers_mut());
        } else if area.is_for_programs() {
            self.origins.write(origin, response.headers_mut());
        }
        if let Some(deprecation) = route.deprecation() {
            version::give_notice(deprecation, response.headers_mut());
        }
        log_line.write(response.status(), &outcome, &decision);
        response
    }

    /// Steps 2 to 5. What the door says is left in `decision`, whatever happens later.
    async fn exchange<B>(
        &self,
        id: RequestId,
        decision: &mut Decision,
        route: Route,
        peer: IpAddr,
        parts: Parts,
        body: B,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let is_probe =
            matches!(route, Route::Found(operation) if operation.endpoint == Endpoint::Health);
        let client = self.open_door(decision, peer, &parts, is_probe).await?;
        let endpoint = match route {
            Route::Found(operation) => operation.endpoint,
            Route::WrongMethod { allow, .. } => {
                let allow = HeaderValue::from_static(allow);
                return Err(Problem::of(Code::MethodNotAllowed).with_header(ALLOW, allow));
            }
            Route::Unknown => return Err(Problem::of(Code::NotFound)),
        };
        let asker = if endpoint.shows_quota() {
            self.visitor(&parts.headers)
        } else {
            Asker::Program
        };
        match self.operate(id, endpoint, client, asker, parts, body).await {
            // What failed before the quota was asked still tells what is left of it.
            Err(problem) if endpoint.shows_quota() && problem.decision.standings().is_empty() => {
                let now = self.app.clock.now();
                let quota = chat::quota(self.app.meter(), now, &client, asker).await?;
                Err(problem.with_decision(quota))
            }
            outcome => outcome,
        }
    }

    /// Steps 4 and 5.
    async fn operate<B>(
        &self,
        id: RequestId,
        endpoint: Endpoint,
        client: Client,
        asker: Asker,
        parts: Parts,
        body: B,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        Wanted::of(&parts).check()?;
        // What no provider may send is not even read.
        if endpoint == Endpoint::Revoke && body::is_of_type(&parts.headers, LOGOUT_TOKEN) {
            return Err(Problem::of(Code::IssuerNotEnabled));
        }
        let own_origin = &self.app.settings.base_url;
        if endpoint.checks_origin() && !self.origins.admits(&parts.headers, own_origin) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let body = match endpoint.body() {
            Some(rule) => {
                let read = self.bodies.read(client.network, body, rule.bytes_max);
                let body = read.await?;
                let is_empty = body.is_empty();
                let (media_type, headers) = (rule.media_type, &parts.headers);
                body::check_media_type(media_type, headers, own_origin, &self.origins, is_empty)?;
                body
            }
            None => Bytes::new(),
        };
        let mut call = Call {
            id,
            detached: self.detached.clone(),
            unawaited: None,
            app: Arc::clone(&self.app),
            documents: Arc::clone(&self.documents),
            catalogue: Arc::clone(&self.catalogue),
            client,
            asker,
            headers: parts.headers,
            path: parts.uri.path().to_owned(),
            // The body may have taken its time.
            now: self.app.clock.now(),
        };
        let operation = |unawaited| {
            call.unawaited = unawaited;
            handlers::handle(endpoint, call, body)
        };
        handlers::run(&self.detached, endpoint, operation).await
    }

    fn visitor(&self, headers: &HeaderMap) -> Asker {
        QuotaCookie::new(self.app.settings.is_https())
            .read(headers, &self.app.secrets.quota_cookie)
            .map_or(Asker::Stranger, Asker::Visitor)
    }

    /// Finds out who is asking and counts the request.
    async fn open_door(
        &self,
        decision: &mut Decision,
        peer: IpAddr,
        parts: &Parts,
        is_probe: bool,
    ) -> Result<Client, Problem> {
        let now = self.app.clock.now();
        let source = self.proxies.source(peer, &parts.headers);
        let advice = self
            .proxy_watch
            .observe(now, peer, source.forwarding, is_probe);
        if let Some(advice) = advice {
            tracing::warn!("{}", advice.text());
        }
        let area = Area::of(parts.uri.path());
        let credentials = self.app.credentials();
        let authenticated = identity::authenticate(credentials, now, &parts.headers, area).await;
        let client = Client {
            network: Network::from(source.address),
            credential: authenticated.as_ref().ok().copied().flatten(),
            forwarding_untrusted: source.is_doubtful(),
        };
        *decision = admit::admit(self.app.meter(), now, &client).await?;
        if decision.is_refused() {
            return Err(Problem::refused(Code::RateLimited, decision));
        }
        authenticated.map(|_credential| client)
    }

    /// Writes the answer with the headers that every answer has.
    fn render(
        &self,
        id: RequestId,
        outcome: &mut Result<Reply, Problem>,
        decision: &mut Decision,
        area: Area,
        is_head: bool,
    ) -> Response<ReplyBody> {
        let (status, headers, body) = match outcome {
            Ok(reply) => {
                decision.merge(&reply.decision);
                let body = std::mem::take(&mut reply.body);
                (reply.status, std::mem::take(&mut reply.headers), body)
            }
            Err(problem) => {
                decision.merge(&problem.decision);
                let body = problem.body(&self.app.settings.base_url, id, decision, area);
                let mut headers = HeaderMap::new();
                headers.insert(CONTENT_TYPE, PROBLEM_JSON);
                headers.extend(problem.headers.drain(..));
                let status = problem.code.kind().status;
                (status, headers, ReplyBody::from(Bytes::from(body)))
            }
        };
        let length = body.size_hint().exact();
        let body = if is_head { ReplyBody::default() } else { body };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let headers = response.headers_mut();
        match length {
            // Whose length is not that of what the client has.
            Some(_) if status == StatusCode::NOT_MODIFIED => {}
            Some(length) => {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            // A stream is one reader's at one moment.
            None => {
                headers.insert(CACHE_CONTROL, NO_STORE);
                headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
            }
        }
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let mut insert = |name, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        insert(X_REQUEST_ID, id.to_string());
        if let Err(problem) = outcome
            && status == StatusCode::UNAUTHORIZED
        {
            let metadata = self.app.settings.protected_resource();
            insert(WWW_AUTHENTICATE, problem.challenge(&metadata));
        }
        if area == Area::OAuth {
            // RFC 6749, section 5.1.
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        }
        if area.is_for_programs() || decision.is_refused() {
            ratelimit::write(decision, status, headers);
        }
        response
    }
}

/// The answer to a CORS preflight: `headers` and no body.
fn preflight(id: RequestId, mut headers: HeaderMap) -> Response<ReplyBody> {
    let status = StatusCode::NO_CONTENT;
    tracing::info!(request.id = %id, endpoint = "preflight", status = status.as_u16(), "request");
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        headers.insert(X_REQUEST_ID, id);
    }
    let mut response = Response::new(ReplyBody::default());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
