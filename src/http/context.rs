//! A request as handlers see it, the other end of its connection, and the state that all requests share.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::time::DAY_MS;
use crate::domain::{Client, Language, Pseudonym, QuotaToken, Subject, Timestamp};
use crate::ports::random;
use crate::site::templates::Templates;
use crate::site::tools::Toolbox;

use crate::http::answer::documents::Documents;
use crate::http::log_throttle::LogThrottle;
use crate::http::request::client_ip::{ClientIp, Forwarding, TrustedProxies};
use crate::http::request::head::Head;
use crate::http::request::request_id::RequestIds;
use crate::http::request::{form, identity, negotiate};
use crate::http::server::shares::Shares;
use crate::http::{AllowedOrigins, Area, RequestId};

/// One request without its body. Handlers that wait clone it.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) peer: Arc<Peer>,
    /// A UUID that no other request of the process has, from a random seed and a counter.
    pub(crate) id: RequestId,
    pub(crate) parts: Arc<Parts>,
    pub(crate) area: Area,
    pub(crate) head: Head,
    /// Its credential is known once the request has been authenticated.
    pub(crate) client: Client,
    /// The client's address.
    pub(crate) address: IpAddr,
    /// Arrival of the request or of its body, or the start of a handler with effects. Read again after each wait:
    /// the limiter takes a time more than 100 ms behind the newest one for a clock that was set back
    /// (`domain/window.rs`).
    pub(crate) now: Timestamp,
    /// Cancelled once nobody waits for the head of the response. Only handlers with effects have it, because
    /// others are dropped then.
    pub(crate) abandoned: Option<CancellationToken>,
}

impl RequestContext {
    /// The context of a request whose head has not been read.
    pub(super) fn new(peer: &Arc<Peer>, parts: Parts) -> Self {
        Self {
            id: peer.ids.next(),
            area: Area::of(parts.uri.path()),
            head: Head::default(),
            client: peer.client,
            address: peer.ip.address,
            now: Timestamp::default(),
            abandoned: None,
            parts: Arc::new(parts),
            peer: Arc::clone(peer),
        }
    }

    /// Reads the clock and the head. Returns the source of the client's address.
    pub(super) fn read_head(&mut self) -> Forwarding {
        let app = &self.peer.state.app;
        self.now = app.clock.now();
        self.head = Head::read(&self.parts, self.area, &app.settings.base_url);
        if !self.head.is_forwarded {
            return self.peer.ip.forwarding;
        }
        let (client, ip) = self.peer.forwarded(&self.parts.headers);
        (self.client, self.address) = (client, ip.address);
        ip.forwarding
    }

    pub(crate) fn is_head(&self) -> bool {
        self.parts.method == Method::HEAD
    }

    pub(crate) fn state(&self) -> &ServerState {
        &self.peer.state
    }

    pub(crate) fn app(&self) -> &App {
        &self.state().app
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// The parameter `name` of the query, the first if it is repeated.
    pub(crate) fn query_parameter(&self, name: &str) -> Option<String> {
        form::parameter_of(&self.parts.uri, name)
    }

    /// The visitor that the quota cookie names, or a new one. `None` for a program, which presents a credential in its
    /// place.
    pub(crate) fn visitor(&self) -> Option<QuotaToken> {
        let is_program = self.client.credential.is_some();
        let new = || QuotaToken::from_bytes(random(&*self.app().entropy));
        self.known_visitor().or_else(|| (!is_program).then(new))
    }

    /// The subject of a look at the quota, which charges nothing: a new visitor is counted by the id of the request.
    pub(crate) fn quota_subject(&self) -> Subject<'_> {
        match (self.known_visitor(), self.client.credential) {
            (Some(visitor), _) => Subject::Visitor(visitor),
            (None, Some(_)) => self.client.subject(),
            (None, None) => Subject::NewVisitor(self.id.shuffled_bytes()),
        }
    }

    fn known_visitor(&self) -> Option<QuotaToken> {
        let app = self.app();
        let is_https = app.settings.is_https();
        identity::visitor(self.headers(), is_https, &app.secrets.quota_token)
    }

    /// Resolves once nobody waits for the head of the response.
    pub(crate) async fn abandoned(&self) {
        match &self.abandoned {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The language of the response: one of the site's.
    pub(crate) fn language(&self) -> Language {
        negotiate::language(&self.parts, &self.state().templates.languages)
    }
}

/// The other end of a connection: a client, or a proxy in front of many. Computed once per connection. Every connection
/// has its own, so that cores do not contend for one reference count.
#[derive(Debug)]
pub struct Peer {
    pub(super) state: Arc<ServerState>,
    pub(super) address: IpAddr,
    /// The sender of requests without a forwarding header.
    pub(super) ip: ClientIp,
    pub(super) client: Client,
    pub(super) ids: RequestIds,
    /// Today's name in the log, and its day.
    log_name: Mutex<Option<(u64, Pseudonym)>>,
}

impl Peer {
    pub(super) fn new(state: &Arc<ServerState>, address: IpAddr) -> Arc<Self> {
        let ip = state.proxies.client_ip(address, &HeaderMap::new());
        Arc::new(Self {
            address,
            ip,
            client: client_at(state, &ip),
            ids: state.ids.of_connection(),
            log_name: Mutex::default(),
            state: Arc::clone(state),
        })
    }

    /// The sender of a request that a proxy has forwarded, or is said to have.
    pub(super) fn forwarded(&self, headers: &HeaderMap) -> (Client, ClientIp) {
        let ip = self.state.proxies.client_ip(self.address, headers);
        (client_at(&self.state, &ip), ip)
    }

    /// The name of `client` in the log.
    pub(super) fn log_name(&self, client: &Client, now: Timestamp) -> Pseudonym {
        let keys = &self.state.app.secrets;
        let name = || Pseudonym::new(keys, client.network_hash, now);
        if client.network_hash != self.client.network_hash {
            return name();
        }
        let day = now.as_ms() / DAY_MS;
        let mut cached = self.log_name.lock();
        match *cached {
            Some((named_day, name)) if named_day == day => name,
            Some(_) | None => cached.insert((day, name())).1,
        }
    }
}

fn client_at(state: &ServerState, ip: &ClientIp) -> Client {
    let key = &state.app.secrets.limiter;
    Client::new(ip.network(), ip.may_be_proxy(), key)
}

/// State shared by all requests, made once at start.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) app: Arc<App>,
    pub(crate) documents: Documents,
    pub(crate) toolbox: Toolbox,
    /// Renders pages that are no documents.
    pub(crate) templates: Arc<Templates>,
    /// The body of the health answer, which is always the same. Static, so that it has no reference count that
    /// all cores share.
    pub(crate) health: &'static [u8],
    /// Handlers with effects and streamed answers that have begun. A stop waits for them.
    pub(crate) unfinished: TaskTracker,
    /// The origins whose pages may read the answers. Empty by default: no headers.
    pub(crate) origins: AllowedOrigins,
    pub(crate) proxies: TrustedProxies,
    pub(crate) ids: RequestIds,
    /// For requests that are refused, free, or not served because a store is unavailable.
    pub(crate) log_throttle: LogThrottle,
    /// Permits for the turns that the model answers at once, if their number is bounded.
    pub(crate) turns: Option<Arc<Shares>>,
}
