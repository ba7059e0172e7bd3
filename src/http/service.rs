//! The service: settings and state made once, at start.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;

use crate::app::App;
use crate::site::Site;

use crate::http::answer::render::Renderer;
use crate::http::endpoints::{ENDPOINTS, Router};
use crate::http::request::body::BodyReader;
use crate::http::request::client_ip::{ProxyWarnings, TrustedProxies};
use crate::http::state::ServerState;
use crate::http::{AllowedOrigins, Endpoint, Peer};

/// Answers requests, over any transport (`pipeline.rs`).
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

impl LandingService {
    /// A service over `app` and `site`. `id_seed` is 16 random bytes; a body has `body_deadline`
    /// to arrive.
    pub fn new(app: Arc<App>, site: &Site, id_seed: [u8; 16], body_deadline: Duration) -> Self {
        let renderer = Renderer::new(&app.settings.policies);
        let state = Arc::new(ServerState::new(app, site, id_seed));
        Self {
            renderer,
            router: Router::new(ENDPOINTS, state.documents.paths()),
            state,
            bodies: BodyReader::new(body_deadline),
            proxy_warnings: ProxyWarnings::default(),
            hsts: None,
        }
    }

    /// The same service with another table of endpoints.
    #[must_use]
    pub fn serving(mut self, endpoints: &'static [&'static Endpoint]) -> Self {
        self.router = Router::new(endpoints, self.state.documents.paths());
        self
    }

    /// The same service, whose responses pages of these origins may read.
    #[must_use]
    pub fn allowing(self, origins: AllowedOrigins) -> Self {
        self.change(|state| state.origins = origins)
    }

    /// The same service behind these proxies.
    #[must_use]
    pub fn behind(self, proxies: TrustedProxies) -> Self {
        self.change(|state| state.proxies = proxies)
    }

    #[allow(clippy::expect_used, reason = "peers share it, and come later")]
    fn change(mut self, change: impl FnOnce(&mut ServerState)) -> Self {
        change(Arc::get_mut(&mut self.state).expect("no peer has come yet"));
        self
    }

    /// The peer at `address`. Each connection has its own.
    pub fn peer(&self, address: IpAddr) -> Arc<Peer> {
        Peer::new(&self.state, address)
    }

    /// The same service, whose responses tell browsers to use only `https` for this many seconds (RFC 6797).
    #[must_use]
    pub fn insisting_on_https(mut self, max_age_s: Option<u64>) -> Self {
        let value = max_age_s.map(|max_age_s| format!("max-age={max_age_s}"));
        self.hsts = value.and_then(|value| HeaderValue::try_from(value).ok());
        self
    }

    /// Resources held by clients: the bytes of bodies being read and of heads waiting for a body, and the
    /// model turns.
    pub fn held(&self) -> (usize, usize) {
        let turns = self.state.turns.as_ref().map(|turns| turns.held());
        (self.bodies.held(), turns.unwrap_or(0))
    }

    /// Number of unfinished handlers with effects and streamed answers.
    pub fn unfinished(&self) -> usize {
        self.state.unfinished.len()
    }

    /// Waits until they have finished, whether or not their clients do.
    pub async fn wait_for_unfinished(&self) {
        self.state.unfinished.close();
        self.state.unfinished.wait().await;
    }
}
