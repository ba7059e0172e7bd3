//! What `rmcp` asks on behalf of one message: who the server is, which tools there are, and what
//! comes of calling one.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt;
use hyper::body::Bytes;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString, ContentBlock, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, ErrorData, InitializeRequestParams, InitializeResult,
    InitializeResultMethod, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;

use crate::domain::decision::Decision;
use crate::http::context::RequestContext as Request;
use crate::http::handlers;
use crate::http::panics::{catch_panic, panicked};
use crate::http::problem::{Code, Problem};
use crate::http::reply::{Aside, Reply};
use crate::site::tools::Tool;

use super::message::SUPPORTED;

/// How long clients may keep the list of tools, in milliseconds: it changes with a restart at most.
const TTL_MS: u64 = 3_600_000;

/// Whether a method is offered. Since messages name their revision themselves there is no handshake,
/// and nobody to ping.
fn is_offered(method: &str, names_revision: bool) -> bool {
    match method {
        "tools/list" | "tools/call" => true,
        "server/discover" => names_revision,
        "initialize" | "ping" => !names_revision,
        _ => false,
    }
}

/// The one who answers a message.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    request: Request,
    arguments: Bytes,
    /// What came of calling a tool, for the answer's headers and the log.
    ran: Arc<Mutex<Ran>>,
}

/// What calling a tool leaves behind.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) decision: Decision,
    pub(super) aside: Aside,
}

type Answer<T> = Result<T, ErrorData>;

impl Handler {
    /// For the message of `request`, whose tool is called with `arguments`.
    pub(super) fn new(request: Request, arguments: Bytes) -> Self {
        Self {
            request,
            arguments,
            ran: Arc::default(),
        }
    }

    /// What the tool left behind, if one was called.
    pub(super) fn ran(&self) -> Ran {
        std::mem::take(&mut self.ran.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a tool as its operation is run over HTTP.
    async fn run(&self, tool: Tool) -> Result<(Decision, Value), Problem> {
        let running = handlers::run_tool(tool, self.request.clone(), self.arguments.clone());
        // Nobody would answer for a task of rmcp's that panicked.
        let reply: Reply = catch_panic(running)
            .await
            .unwrap_or_else(|panic| Err(panicked(&*panic)))?;
        let fault = |error: String| Problem::of(Code::InternalError).because(error);
        let body = reply.body.collect().await;
        let body = body.map_err(|error| fault(error.to_string()))?.to_bytes();
        let value = serde_json::from_slice(&body).map_err(|error| fault(error.to_string()))?;
        let decision = reply.decision.map(|decision| *decision);
        Ok((decision.unwrap_or_default(), value))
    }

    /// Who answers: told with every result since 2026-07-28.
    fn signature(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        context.meta.protocol_version()?;
        let server_info =
            serde_json::to_value(&self.request.state.catalogue.config.server_info).ok()?;
        let mut meta = MetaObject::default();
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), server_info);
        Some(meta)
    }
}

/// The answer about a method that is not offered.
fn not_offered<T, M: ConstString>() -> Answer<T> {
    Err(ErrorData::method_not_found::<M>())
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.request.state.catalogue.config.clone()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&SUPPORTED)
    }

    /// A message that names its revision itself has no handshake, whatever else it says.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<InitializeResult> {
        if context.meta.protocol_version().is_some() {
            return not_offered::<_, InitializeResultMethod>();
        }
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Answer<DiscoverResult> {
        let mut result = DiscoverResult::from_server_info(SUPPORTED.to_vec(), self.get_info());
        result.ttl_ms = TTL_MS;
        result.cache_scope = CacheScope::Public;
        Ok(result)
    }

    /// All tools are on one page, so that no cursor was ever given out.
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("There is no such cursor", None));
        }
        let tools = self.request.state.catalogue.tools.clone();
        let mut result = ListToolsResult::with_all_items(tools);
        result.meta = self.signature(&context);
        if result.meta.is_some() {
            result.ttl_ms = Some(TTL_MS);
            result.cache_scope = Some(CacheScope::Public);
        }
        Ok(result)
    }

    /// Whatever goes wrong inside a tool is a result that says so: errors of the protocol are not
    /// shown to the model that called it.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let Some(tool) = Tool::from_name(&request.name) else {
            let words = "There is no tool of that name; tools/list names them all";
            return Err(ErrorData::invalid_params(words, None));
        };
        let (mut result, decision, problem) = match self.run(tool).await {
            Ok((decision, value)) => (CallToolResult::structured(value), decision, None),
            Err(problem) => {
                let words = ContentBlock::text(problem.words(self.request.id));
                let decision = (*problem.decision).clone();
                let problem = Some(Box::new(problem));
                (CallToolResult::error(vec![words]), decision, problem)
            }
        };
        let ran = Ran {
            decision,
            aside: Aside {
                tool: Some(tool.name()),
                problem,
            },
        };
        *self.ran.lock().unwrap_or_else(PoisonError::into_inner) = ran;
        result.meta = self.signature(&context);
        Ok(result.into())
    }

    /// What `rmcp` cannot make out: a method that it does not know, or one called in the wrong shape,
    /// who is not to be told that there is no such method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Answer<CustomResult> {
        let names_revision = context.meta.protocol_version().is_some();
        Err(if is_offered(&request.method, names_revision) {
            ErrorData::invalid_params("The parameters are not those of this method", None)
        } else {
            let words = "There is no such method";
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None)
        })
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Answer<CompleteResult> {
        not_offered::<_, CompleteRequestMethod>()
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        not_offered::<_, ListPromptsRequestMethod>()
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        not_offered::<_, ListResourcesRequestMethod>()
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        not_offered::<_, ListResourceTemplatesRequestMethod>()
    }
}
