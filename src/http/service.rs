//! Builds [`LandingService`] at start, and reports what it holds. `pipeline` has the type and answers requests.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::site::Site;

use crate::http::answer::documents::Documents;
use crate::http::answer::render::Renderer;
use crate::http::context::ServerState;
use crate::http::log_throttle::LogThrottle;
pub use crate::http::pipeline::LandingService;
use crate::http::request::body::BodyReader;
use crate::http::request::client_ip::{ProxyWarnings, TrustedProxies};
use crate::http::request::head::VERSION;
use crate::http::request::request_id::RequestIds;
use crate::http::router::Router;
use crate::http::server::shares::Shares;
use crate::http::{AllowedOrigins, Endpoint};

/// Settings of the service.
#[derive(Debug)]
pub struct ServiceOptions {
    /// The endpoints; [`crate::http::router::ENDPOINTS`] are all.
    pub endpoints: &'static [&'static Endpoint],
    /// The origins whose pages may read the responses.
    pub origins: AllowedOrigins,
    /// The proxies in front of the service.
    pub proxies: TrustedProxies,
    /// For so many seconds, browsers shall use only `https` (RFC 6797).
    pub hsts_max_age_s: Option<u64>,
    /// Time for a body to arrive.
    pub body_deadline: Duration,
    /// Random bytes, from which ids of requests are made.
    pub id_seed: [u8; 16],
}

impl LandingService {
    /// A service over `app` and `site`.
    pub fn new(app: Arc<App>, site: &Site, options: ServiceOptions) -> Self {
        let renderer = Renderer::new(&app.settings.policies);
        let hsts = options
            .hsts_max_age_s
            .map(|age_s| format!("max-age={age_s}"));
        let base_url = &app.settings.base_url;
        let health = serde_json::json!({
            "ok": true,
            "service": app.settings.service_name,
            "version": VERSION,
            "documentation": format!("{base_url}/docs"),
            "openapi": format!("{base_url}/openapi.json"),
        });
        let state = ServerState {
            turns: app.model.turns_max().map(Shares::new),
            app,
            documents: Documents::new(&site.documents),
            toolbox: site.toolbox.clone(),
            templates: Arc::clone(&site.templates),
            health: health.to_string().leak().as_bytes(),
            unfinished: TaskTracker::new(),
            origins: options.origins,
            proxies: options.proxies,
            ids: RequestIds::new(options.id_seed),
            log_throttle: LogThrottle::new(1000, Duration::from_secs(1)),
        };
        Self {
            renderer,
            router: Router::new(options.endpoints, state.documents.paths()),
            state: Arc::new(state),
            bodies: BodyReader::new(options.body_deadline),
            proxy_warnings: ProxyWarnings::default(),
            hsts: hsts.and_then(|value| HeaderValue::try_from(value).ok()),
        }
    }

    /// Resources held by clients: the bytes of bodies being read and of heads waiting for a body, and the
    /// model turns.
    pub fn held(&self) -> (usize, usize) {
        let turns = self.state.turns.as_ref().map(|turns| turns.held());
        (self.bodies.held(), turns.unwrap_or(0))
    }

    /// The unfinished handlers with effects and streamed answers, whether or not their clients wait.
    pub fn unfinished(&self) -> &TaskTracker {
        &self.state.unfinished
    }
}
