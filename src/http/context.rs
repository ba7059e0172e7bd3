//! What a handler is given: the state of the server and one request.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::{Client, Decision, Timestamp};
use crate::site::Site;
use crate::site::page_writer::PageWriter;
use crate::site::tools::Toolbox;
use crate::usecases::ask_assistant::ChatIdentity;

use crate::http::answer::documents::{DocumentUrls, Documents};
use crate::http::request::client_ip::ClientIp;
use crate::http::request::head;
use crate::http::request::identity;
use crate::http::request::version::{VERSION, Wanted};
use crate::http::server::shares::Shares;
use crate::http::{AllowedOrigins, Area, RequestId};

/// What all requests share.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) app: Arc<App>,
    pub(crate) documents: Documents,
    pub(crate) urls: DocumentUrls,
    pub(crate) toolbox: Toolbox,
    /// Renders pages that are no documents.
    pub(crate) page_writer: PageWriter,
    /// The body of the health answer, which is always the same.
    pub(crate) health: Bytes,
    /// Handlers with effects and streamed answers that have begun. A stop waits for them.
    pub(crate) unfinished: TaskTracker,
    /// Permits for the turns that the model answers at once, if their number is bounded.
    pub(crate) turns: Option<Arc<Shares>>,
}

impl ServerState {
    pub(crate) fn new(app: Arc<App>, site: &Site) -> Self {
        let urls = DocumentUrls::new(&app.settings.base_url);
        let health = serde_json::json!({
            "ok": true,
            "service": app.settings.service_name,
            "version": VERSION,
            "documentation": urls.documentation,
            "openapi": urls.openapi,
        });
        Self {
            turns: app.model.turns_max().map(Shares::new),
            app,
            urls,
            documents: Documents::new(site.documents()),
            toolbox: site.toolbox().clone(),
            page_writer: site.page_writer().clone(),
            health: Bytes::from(health.to_string()),
            unfinished: TaskTracker::new(),
        }
    }
}

/// One request without its body. A clone is cheap.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) state: Arc<ServerState>,
    pub(crate) id: RequestId,
    pub(crate) parts: Arc<Parts>,
    pub(crate) area: Area,
    /// What is wrong with its head, in words for the client.
    pub(crate) head: Result<(), &'static str>,
    pub(crate) wanted: Wanted,
    /// The origins whose pages may read the answers.
    pub(crate) origins: AllowedOrigins,
    /// Its credential is known once the request has been authenticated.
    pub(crate) client: Client,
    /// The client's address.
    pub(crate) address: IpAddr,
    /// The standings of the policies that every request is charged to, once it has been; in the end
    /// those of all that it was charged to.
    pub(crate) decision: Decision,
    /// When the request came, or its body had arrived.
    pub(crate) now: Timestamp,
    /// Cancelled once nobody waits for the head of the answer. Only handlers with effects have it,
    /// because others are dropped then.
    pub(crate) abandoned: Option<CancellationToken>,
}

impl RequestContext {
    pub(crate) fn new(
        state: Arc<ServerState>,
        id: RequestId,
        parts: Parts,
        client_ip: ClientIp,
        origins: AllowedOrigins,
    ) -> Self {
        let area = Area::of(parts.uri.path());
        Self {
            id,
            area,
            head: head::check(&parts),
            origins,
            wanted: Wanted::of(area, &parts.headers),
            client: Client {
                network: client_ip.network(),
                credential: None,
                may_be_shared: client_ip.may_be_proxy(),
            },
            address: client_ip.address,
            decision: Decision::default(),
            now: state.app.clock.now(),
            abandoned: None,
            parts: Arc::new(parts),
            state,
        }
    }

    pub(crate) fn app(&self) -> &App {
        &self.state.app
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// The visitor that the quota cookie names.
    pub(crate) fn visitor(&self) -> ChatIdentity {
        let (is_https, secrets) = (self.app().settings.is_https(), &self.app().secrets);
        identity::visitor(self.headers(), is_https, &secrets.quota_token)
            .map_or(ChatIdentity::NewVisitor, ChatIdentity::Visitor)
    }

    /// Resolves once nobody waits for the head of the answer.
    pub(crate) async fn abandoned(&self) {
        match &self.abandoned {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }
}
