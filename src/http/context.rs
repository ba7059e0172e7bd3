//! A request as handlers see it.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::domain::{Client, Language, QuotaToken, Subject, Timestamp};
use crate::ports::random;

use crate::http::peer::Peer;
use crate::http::request::client_ip::Forwarding;
use crate::http::request::head::Head;
use crate::http::request::{identity, negotiate};
use crate::http::state::ServerState;
use crate::http::{Area, RequestId};

/// One request without its body. Handlers that wait clone it.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) peer: Arc<Peer>,
    pub(crate) id: RequestId,
    pub(crate) parts: Arc<Parts>,
    pub(crate) area: Area,
    pub(crate) head: Head,
    /// Its credential is known once the request has been authenticated.
    pub(crate) client: Client,
    /// The client's address.
    pub(crate) address: IpAddr,
    /// Arrival of the request, or of its body.
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
            (None, None) => Subject::Hash(self.id.0.into_bytes()),
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
