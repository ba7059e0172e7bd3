//! What happens to a request, from first to last:
//!
//! 1. it is named (`X-Request-Id`) and its route found; a CORS preflight is answered and goes no
//!    further;
//! 2. its credential is looked up, and it is counted at the door (`default`, `ip`);
//! 3. a bad credential (where one matters), an unknown path, a wrong method, an unknown version or a
//!    page of a foreign origin ends it here;
//! 4. its body is read, under a cap and a deadline;
//! 5. its operation runs; one with effects runs detached once it waits for something, so that it
//!    finishes even if the client hangs up (a chat that would be streamed is broken off then, and
//!    stays charged);
//! 6. whatever came of it, one decision makes the rate-limit headers, pages of allowed origins may
//!    read them, and one line is logged. An answer that is streamed goes on after that, detached,
//!    and logs its end by itself.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::header::HeaderName;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

use tokio::time::Instant;

use crate::app::App;
use crate::domain::client::{Client, HashedNetwork, Network};
use crate::domain::decision::Decision;
use crate::ports::Answer;
use crate::site::Site;
use crate::usecases::admit;
use crate::usecases::chat::{self, Asker};
use crate::usecases::meter::Meter;

use super::body::{self, BodyError, BodyReader};
use super::cookie::QuotaCookie;
use super::cors::AllowedOrigins;
use super::forwarded::TrustedProxies;
use super::handlers::{self, Call, Context, HeldContext, Outcome};
use super::headers::X_REQUEST_ID;
use super::identity;
use super::log::LogLine;
use super::panics::{catch_panic, panicked};
use super::problem::{Code, Problem};
use super::proxy_watch::ProxyWatch;
use super::render::{self, Renderer};
use super::reply::{Reply, ReplyBody};
use super::request_id::{RequestId, RequestIds};
use super::route::{Area, BodyRule, Endpoint};
use super::routes::Routes;
use super::version::Wanted;
use super::visit::{Peer, Visit};

/// What an identity provider revokes with, in the auth.md proposal (v0.1).
const LOGOUT_TOKEN: &str = "application/logout+jwt";
/// An answer that never fails, and is mostly there at once.
type Responding = Answer<'static, Response<ReplyBody>, Infallible>;

/// The service: what answers requests, whatever they came over.
#[derive(Debug)]
pub struct LandingService {
    context: Arc<Context>,
    routes: Routes,
    ids: RequestIds,
    bodies: BodyReader,
    origins: AllowedOrigins,
    proxies: TrustedProxies,
    proxy_watch: ProxyWatch,
    renderer: Renderer,
}

impl LandingService {
    /// A service over `app` and `site`. `id_seed` is 16 random bytes; a body has `body_deadline`
    /// to arrive.
    #[must_use]
    pub fn new(app: Arc<App>, site: &Site, id_seed: [u8; 16], body_deadline: Duration) -> Self {
        Self {
            renderer: Renderer::new(&app.settings),
            context: Arc::new(Context::new(app, site)),
            routes: Routes::default(),
            ids: RequestIds::new(id_seed),
            bodies: BodyReader::new(body_deadline),
            origins: AllowedOrigins::default(),
            proxies: TrustedProxies::default(),
            proxy_watch: ProxyWatch::default(),
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
        self.context.detached.close();
        self.context.detached.wait().await;
    }

    /// Whoever speaks from `address`. Made once for a connection, as it hashes the network.
    #[must_use]
    pub fn peer(&self, address: IpAddr) -> Peer {
        let network = Network::from(address);
        Peer {
            address,
            network: HashedNetwork::new(network, &self.app().secrets.limiter),
            context: Arc::new(HeldContext(Arc::clone(&self.context))),
        }
    }

    /// Answers one request that came from `peer` when it was `arrived`: at once if nothing has to be
    /// waited for, which is most requests. Always answers: what fails is a problem, and so is what
    /// panics.
    pub fn respond<B>(
        self: &Arc<Self>,
        peer: Peer,
        arrived: Instant,
        request: Request<B>,
    ) -> Responding
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BodyError>,
    {
        let id = self.ids.next();
        // Over HTTP/2 a panic here would end every stream of the connection.
        catch_unwind(AssertUnwindSafe(|| self.begin(id, peer, arrived, request)))
            .unwrap_or_else(|panic| Answer::ready(self.apologise(id, &panicked(&*panic))))
    }

    fn begin<B>(
        self: &Arc<Self>,
        id: RequestId,
        peer: Peer,
        arrived: Instant,
        request: Request<B>,
    ) -> Responding
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BodyError>,
    {
        let (parts, body) = request.into_parts();
        let area = Area::of(parts.uri.path());
        let route = self.routes.find(&parts.method, parts.uri.path(), |path| {
            self.context.documents.contains(path)
        });
        if let Some(headers) = self.origins.preflight(&parts, route) {
            return Answer::ready(preflight(id, headers));
        }
        let mut visit = Visit {
            id,
            now: self.app().clock.now(),
            source: self.proxies.source(peer.address, &parts.headers),
            peer,
            area,
            route,
            wanted: Wanted::of(area, &parts.headers),
            is_head: parts.method == Method::HEAD,
            origin: self.origins.of(&parts.headers).cloned(),
            parts,
        };
        self.watch_proxies(&visit);
        let log_line = LogLine::begin(id, route, arrived);

        let mut decision = Decision::default();
        let begun = catch_unwind(AssertUnwindSafe(|| self.at_once(&visit, &mut decision)))
            .unwrap_or_else(|panic| Begun::Over(Err(panicked(&*panic))));
        let client = match begun {
            Begun::Over(mut outcome) => {
                let response = self.finish(&visit, log_line, &mut outcome, &mut decision);
                return Answer::ready(response);
            }
            Begun::Inside(client) => Some(client),
            Begun::Outside => None,
        };
        let this = Arc::clone(self);
        Answer::pending(async move {
            let outcome = match client {
                Some(client) => catch_panic(this.attend(&mut visit, client, body)).await,
                // It takes much room, which most requests do without.
                None => {
                    let exchange = this.exchange(&mut visit, &mut decision, body);
                    catch_panic(Box::pin(exchange)).await
                }
            };
            let mut outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic)));
            let finish = || this.finish(&visit, log_line, &mut outcome, &mut decision);
            Ok(catch_unwind(AssertUnwindSafe(finish))
                .unwrap_or_else(|panic| this.apologise(id, &panicked(&*panic))))
        })
    }

    /// The answer when none could be begun.
    fn apologise(&self, id: RequestId, problem: &Problem) -> Response<ReplyBody> {
        let cause = problem.cause.as_deref();
        let status = problem.code.kind().status;
        tracing::warn!(request.id = %id, status = status.as_u16(), cause, "request");
        self.renderer.apology(id, problem)
    }

    /// Step 6.
    fn finish(
        &self,
        visit: &Visit,
        log_line: LogLine,
        outcome: &mut Result<Reply, Problem>,
        decision: &mut Decision,
    ) -> Response<ReplyBody> {
        let mut response = self.renderer.render(visit, outcome, decision);
        if visit.is_for_programs() {
            self.origins
                .write(visit.origin.as_ref(), response.headers_mut());
        }
        log_line.write(response.status(), outcome, decision);
        response
    }

    /// Steps 2 to 5, as far as nothing has to be waited for. What the door says is left in
    /// `decision`.
    fn at_once(&self, visit: &Visit, decision: &mut Decision) -> Begun {
        if identity::presents_any(&visit.parts.headers) {
            return Begun::Outside;
        }
        let client = visit.client(None);
        let admitted = match admit::admit(self.meter(visit), visit.now, &client) {
            Answer::Ready(admitted) => admitted,
            Answer::Pending(_) => return Begun::Outside,
        };
        let endpoint = admitted.map_err(Problem::from).and_then(|admitted| {
            *decision = admitted;
            let_in(decision)?;
            visit.endpoint()
        });
        match endpoint {
            Err(problem) => Begun::Over(Err(problem)),
            Ok(endpoint) if endpoint.is_plain() && visit.wanted.check().is_ok() => {
                let Parts { uri, headers, .. } = &visit.parts;
                handlers::at_once(endpoint, &self.context, uri.path(), headers)
                    .map_or(Begun::Inside(client), Begun::Over)
            }
            Ok(_) => Begun::Inside(client),
        }
    }

    /// Steps 2 to 5. What the door says is left in `decision`, whatever happens later.
    async fn exchange<B>(
        &self,
        visit: &mut Visit,
        decision: &mut Decision,
        body: B,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let client = self.open_door(decision, visit).await?;
        self.attend(visit, client, body).await
    }

    /// Steps 3 to 5 of a request that has been let in.
    async fn attend<B>(&self, visit: &mut Visit, client: Client, body: B) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let endpoint = visit.endpoint()?;
        let asker = if endpoint.shows_quota() {
            self.visitor(&visit.parts.headers)
        } else {
            Asker::Program
        };
        match self.operate(visit, endpoint, client, asker, body).await {
            // What failed before the quota was asked still tells what is left of it.
            Err(problem) if endpoint.shows_quota() && problem.decision.standings().is_empty() => {
                let now = self.app().clock.now();
                let quota = chat::quota(self.app().meter(), now, &client, asker);
                Err(problem.with_decision(quota.await?))
            }
            outcome => outcome,
        }
    }

    /// Steps 4 and 5.
    async fn operate<B>(
        &self,
        visit: &mut Visit,
        endpoint: Endpoint,
        client: Client,
        asker: Asker,
        body: B,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        visit.wanted.check()?;
        let headers = &visit.parts.headers;
        // What no provider may send is not even read.
        if endpoint == Endpoint::Revoke && body::is_of_type(headers, LOGOUT_TOKEN) {
            return Err(Problem::of(Code::IssuerNotEnabled));
        }
        if endpoint.checks_origin() && !self.origins.admits(headers, self.own_origin()) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let body = match endpoint.body() {
            Some(rule) => self.read(client.network, headers, rule, body).await?,
            None => Bytes::new(),
        };
        let mut call = self.call(visit, client, asker);
        // The body may have taken its time.
        call.now = self.app().clock.now();
        self.run(endpoint, call, body).await
    }

    fn run(&self, endpoint: Endpoint, mut call: Call, body: Bytes) -> Outcome {
        handlers::run(&self.context.detached, endpoint, |unawaited| {
            call.unawaited = unawaited;
            handlers::handle(endpoint, call, body)
        })
    }

    /// What an operation is told of a request. Takes headers and URI out of it.
    fn call(&self, visit: &mut Visit, client: Client, asker: Asker) -> Call {
        Call {
            id: visit.id,
            context: Arc::clone(&visit.peer.context),
            unawaited: None,
            client,
            asker,
            headers: std::mem::take(&mut visit.parts.headers),
            uri: std::mem::take(&mut visit.parts.uri),
            now: visit.now,
        }
    }

    /// The body of a request from `network`, as `rule` wants it.
    async fn read<B>(
        &self,
        network: Network,
        headers: &HeaderMap,
        rule: BodyRule,
        body: B,
    ) -> Result<Bytes, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let BodyRule {
            media_type,
            bytes_max,
        } = rule;
        let body = self.bodies.read(network, body, bytes_max).await?;
        let own_origin = self.own_origin();
        let is_empty = body.is_empty();
        body::check_media_type(media_type, headers, own_origin, &self.origins, is_empty)?;
        Ok(body)
    }

    fn app(&self) -> &App {
        &self.context.app
    }

    fn meter(&self, visit: &Visit) -> Meter<'_> {
        Meter {
            known: Some(visit.peer.network),
            ..self.app().meter()
        }
    }

    fn own_origin(&self) -> &str {
        &self.app().settings.base_url
    }

    fn visitor(&self, headers: &HeaderMap) -> Asker {
        QuotaCookie::new(self.app().settings.is_https())
            .read(headers, &self.app().secrets.quota_cookie)
            .map_or(Asker::Stranger, Asker::Visitor)
    }

    /// Tells the operator of a proxy that has to be named or configured.
    fn watch_proxies(&self, visit: &Visit) {
        let is_probe = visit.route.leads_to(Endpoint::Health);
        let forwarding = visit.source.forwarding;
        let watch = &self.proxy_watch;
        if let Some(advice) = watch.observe(visit.now, visit.peer.address, forwarding, is_probe) {
            tracing::warn!("{}", advice.text());
        }
    }

    /// Finds out who is asking and counts the request.
    async fn open_door(&self, decision: &mut Decision, visit: &Visit) -> Result<Client, Problem> {
        let (now, headers) = (visit.now, &visit.parts.headers);
        let credentials = self.app().credentials();
        let authenticated = identity::authenticate(credentials, now, headers, visit.area).await;
        let credential = authenticated.as_ref().ok().copied().flatten();
        let client = visit.client(credential);
        *decision = admit::admit(self.meter(visit), now, &client).await?;
        let_in(decision)?;
        authenticated.map(|_credential| client)
    }
}

/// How far a request has come without waiting.
enum Begun {
    /// It waits at the door, mostly for its credential to be looked up.
    Outside,
    /// It has been let in.
    Inside(Client),
    /// It has come to its end.
    Over(Result<Reply, Problem>),
}

/// Whether the door's decision lets a request in.
fn let_in(decision: &Decision) -> Result<(), Problem> {
    if decision.is_refused() {
        return Err(Problem::refused(Code::RateLimited, decision));
    }
    Ok(())
}

/// The answer to a CORS preflight: `headers` and no body.
fn preflight(id: RequestId, mut headers: HeaderMap) -> Response<ReplyBody> {
    let status = StatusCode::NO_CONTENT;
    tracing::info!(request.id = %id, endpoint = "preflight", status = status.as_u16(), "request");
    headers.insert(HeaderName::from_static(X_REQUEST_ID), id.to_header());
    render::response(status, headers, ReplyBody::default())
}
