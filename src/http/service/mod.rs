//! What happens to a request, from first to last:
//!
//! 1. it is named (`X-Request-Id`) and its route found; a CORS preflight is answered and goes no
//!    further;
//! 2. its credential is looked up, and it is counted at the door (`default`, `ip`);
//! 3. a bad credential (where one matters), an unknown path, a wrong method, an unknown version or a
//!    page of a foreign origin ends it here;
//! 4. its body is read, under a cap and a deadline;
//! 5. its operation runs; one with effects goes on by itself once nobody waits for it, so that it
//!    finishes even if the client hangs up (a chat that would be streamed is broken off then, and
//!    stays charged);
//! 6. whatever came of it, one decision makes the rate-limit headers, pages of allowed origins may
//!    read them, and one line is logged. An answer that is streamed goes on after that, detached,
//!    and logs its end by itself.

mod door;
mod inside;

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::header::HeaderName;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::time::Instant;

use crate::app::App;
use crate::domain::client::{HashedNetwork, Network};
use crate::domain::decision::Decision;
use crate::ports::Answer;
use crate::site::Site;

use super::body::{BodyError, BodyReader};
use super::client_ip::{ProxyWarnings, TrustedProxies};
use super::cors::AllowedOrigins;
use super::handlers::{Context, HeldContext};
use super::headers::X_REQUEST_ID;
use super::log::LogLine;
use super::panics::{catch_panic, panicked};
use super::problem::Problem;
use super::render::{self, Renderer};
use super::reply::{Reply, ReplyBody};
use super::request_id::{RequestId, RequestIds};
use super::route::Area;
use super::routes::Routes;
use super::version::Wanted;
use super::visit::{Peer, Visit};

use self::door::Begun;

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
            context: Arc::new(Context::new(app, site)),
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

    /// How many operations with effects and streamed answers have begun and not finished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.context.unfinished.len()
    }

    /// Waits until they have finished, whether or not their clients wait for them.
    pub async fn wait_for_unfinished(&self) {
        self.context.unfinished.close();
        self.context.unfinished.wait().await;
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
    pub fn respond(
        self: &Arc<Self>,
        peer: &Peer,
        arrived: Instant,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static>,
    ) -> Responding {
        let id = self.ids.next();
        let is_head = request.method() == Method::HEAD;
        // Over HTTP/2 a panic here would end every stream of the connection.
        catch_unwind(AssertUnwindSafe(|| self.begin(id, peer, arrived, request)))
            .unwrap_or_else(|panic| Answer::ready(self.apologise(id, is_head, &panicked(&*panic))))
    }

    fn begin(
        self: &Arc<Self>,
        id: RequestId,
        peer: &Peer,
        arrived: Instant,
        request: Request<impl Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static>,
    ) -> Responding {
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
            peer_address: peer.address,
            peer_network: peer.network,
            client_ip: self.proxies.client_ip(peer.address, &parts.headers),
            area,
            route,
            wanted: Wanted::of(area, &parts.headers),
            is_head: parts.method == Method::HEAD,
            origin: self.origins.origin_of(&parts.headers).cloned(),
            parts,
        };
        self.watch_proxies(&visit);
        let log_line = LogLine::begin(id, route, arrived);

        let mut decision = Decision::default();
        let mut begun = catch_unwind(AssertUnwindSafe(|| {
            self.at_once(&visit, &peer.context, &mut decision)
        }))
        .unwrap_or_else(|panic| Begun::Over(Err(panicked(&*panic))));
        let client = match &mut begun {
            // Finished where it stands: an outcome is large.
            Begun::Over(outcome) => {
                let response = self.finish(&visit, log_line, outcome, &mut decision);
                return Answer::ready(response);
            }
            Begun::Inside(client) => Some(*client),
            Begun::Outside => None,
        };
        let this = Arc::clone(self);
        let context = Arc::clone(&peer.context);
        Answer::pending(async move {
            let outcome = match client {
                Some(client) => catch_panic(this.attend(&mut visit, context, client, body)).await,
                // It takes much room, which most requests do without.
                None => {
                    let exchange = this.exchange(&mut visit, context, &mut decision, body);
                    catch_panic(Box::pin(exchange)).await
                }
            };
            let mut outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic)));
            let finish = || this.finish(&visit, log_line, &mut outcome, &mut decision);
            Ok(catch_unwind(AssertUnwindSafe(finish))
                .unwrap_or_else(|panic| this.apologise(id, visit.is_head, &panicked(&*panic))))
        })
    }

    /// The answer when a panic left none.
    fn apologise(&self, id: RequestId, is_head: bool, problem: &Problem) -> Response<ReplyBody> {
        let cause = problem.cause.as_deref();
        let status = problem.code.kind().status;
        tracing::warn!(request.id = %id, status = status.as_u16(), cause, "request");
        self.renderer.apology(id, is_head, problem)
    }

    /// Step 6.
    fn finish(
        &self,
        visit: &Visit,
        mut log_line: LogLine,
        outcome: &mut Result<Reply, Problem>,
        decision: &mut Decision,
    ) -> Response<ReplyBody> {
        log_line.answering();
        let mut response = self.renderer.render(visit, outcome, decision);
        if visit.is_for_programs() {
            self.origins
                .apply(visit.origin.as_ref(), response.headers_mut());
        }
        log_line.write(response.status(), outcome, decision);
        response
    }

    fn app(&self) -> &App {
        &self.context.app
    }

    fn own_origin(&self) -> &str {
        &self.app().settings.base_url
    }
}

/// The answer to a CORS preflight: `headers` and no body.
fn preflight(id: RequestId, mut headers: HeaderMap) -> Response<ReplyBody> {
    let status = StatusCode::NO_CONTENT;
    tracing::info!(request.id = %id, endpoint = "preflight", status = status.as_u16(), "request");
    headers.insert(HeaderName::from_static(X_REQUEST_ID), id.to_header());
    render::response(status, headers, ReplyBody::default())
}
