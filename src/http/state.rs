//! State shared by all requests.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::site::templates::Templates;
use crate::site::tools::Toolbox;

use crate::http::AllowedOrigins;
use crate::http::answer::documents::Documents;
use crate::http::log_throttle::LogThrottle;
use crate::http::request::client_ip::TrustedProxies;
use crate::http::request::request_id::RequestIds;
use crate::http::server::shares::Shares;

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
    /// The origins whose pages may read the answers.
    pub(crate) origins: AllowedOrigins,
    pub(crate) proxies: TrustedProxies,
    pub(crate) ids: RequestIds,
    /// For requests that are refused, free, or not served because a store is unavailable.
    pub(crate) log_throttle: LogThrottle,
    /// Permits for the turns that the model answers at once, if their number is bounded.
    pub(crate) turns: Option<Arc<Shares>>,
}
