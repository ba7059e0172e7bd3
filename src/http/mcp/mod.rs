//! `POST /mcp`: the operations as tools of the Model Context Protocol, over streamable HTTP and
//! without sessions.
//!
//! Three revisions are spoken. Until 2025-11-25 a client shakes hands with `initialize`; since
//! 2026-07-28 every message says by itself, in its `_meta` and its headers, what it is. `rmcp` tells
//! the two apart message by message, holds headers against bodies and words the answers. A message
//! gets there through the same door as any request: it has been counted, its origin and media type
//! are known, and its body is within its cap and here.
//!
//! Around `rmcp` stands what it leaves open. [`message`] finds what is no message, and a revision
//! that it would serve although it is not offered; [`handler`] runs the tools. Arguments do not go
//! through it at all: the operation's own parser reads them as they were written, so that they are
//! judged as a body is.

mod handler;
mod message;

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri};
use rmcp::model::{
    Implementation, ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::site::tools::{ToolCard, Toolbox};

use super::context::RequestContext;
use super::problem::{Code, Problem};
use super::reply::Reply;

use handler::Handler;
use message::{HEADERS, Message, Refusal};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Both forms of an answer: `rmcp` insists on both, although we send but one.
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// What every message is answered from, in the words of `rmcp`.
#[derive(Debug)]
pub(crate) struct Catalogue {
    config: ServerConfig,
    tools: Vec<Tool>,
}

impl Catalogue {
    pub(crate) fn new(toolbox: &Toolbox) -> Self {
        let server_info = Implementation::new(&toolbox.name, toolbox.version)
            .with_title(&toolbox.title)
            .with_website_url(&toolbox.website_url);
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut config = ServerConfig::new(capabilities).with_server_info(server_info);
        // What is offered to who asks for a revision that is not spoken.
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        Self {
            config,
            tools: toolbox.tools.iter().map(tool).collect(),
        }
    }
}

fn tool(card: &ToolCard) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(card.annotations.read_only_hint)
        .destructive(card.annotations.destructive_hint)
        .idempotent(card.annotations.idempotent_hint)
        .open_world(card.annotations.open_world_hint);
    Tool::new(card.name, card.description, card.input_schema.clone())
        .with_title(card.title)
        .with_raw_output_schema(Arc::new(card.output_schema.clone()))
        .with_annotations(annotations)
}

/// Answers one message.
///
/// # Errors
/// The problem to be answered when the service has a fault. What is wrong with the message is an
/// answer of the protocol, and so is what a tool says.
pub(crate) async fn answer(context: RequestContext, body: &Bytes) -> Result<Reply, Problem> {
    let message = match Message::read(body) {
        Ok(message) => message,
        Err(refusal) => return refusal.reply(),
    };
    if let Err(refusal) = message.check_headers(context.headers()) {
        return refusal.reply();
    }
    let request = request(context.headers(), message.body);
    let handler = Handler::new(context, message.arguments);
    let made = handler.clone();
    let service = StreamableHttpService::new(
        move || Ok(made.clone()),
        Arc::new(NeverSessionManager::default()),
        config(),
    );
    let (parts, body) = service.handle(request).await.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let is_answer =
        parts.status == StatusCode::ACCEPTED || parts.headers.get(CONTENT_TYPE) == Some(&JSON);
    if !is_answer {
        // What it cannot read it refuses in plain text.
        return if parts.status.is_client_error() {
            Refusal::no_message(message.id).reply()
        } else {
            let text = String::from_utf8_lossy(&body);
            Err(Problem::of(Code::InternalError).because(text))
        };
    }
    let ran = handler.ran();
    let mut reply = Reply::written(parts.status, body).with_decision(ran.decision);
    reply.aside = ran.aside;
    Ok(reply)
}

/// The message with what `rmcp` is to judge, and nothing else.
fn request(headers_sent: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    // It wants to know a host, and compares it with nothing.
    *request.uri_mut() = Uri::from_static("http://localhost/mcp");
    let headers = request.headers_mut();
    headers.insert(ACCEPT, JSON_OR_EVENTS);
    headers.insert(CONTENT_TYPE, JSON);
    for name in HEADERS {
        if let Some(value) = headers_sent.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    request
}

/// No sessions, no streams; what the door has checked is not checked again.
fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins()
}
