//! `POST /mcp`: operations of the API as tools of the Model Context Protocol, over streamable HTTP and
//! without sessions.
//!
//! Three revisions are supported. Until 2025-11-25 a client begins with `initialize`. Since 2026-07-28 each
//! message states its revision in `_meta` and in its headers, and there is no handshake. A message passes the
//! pipeline like any other request: it is counted, and its origin, media type and size are checked. A tool
//! reads its arguments with the parser of its operation.

mod message;

use std::mem;

use http_body_util::{BodyExt, Collected};
use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::site::tools::{REVISION_WITH_HANDSHAKE, REVISIONS, Tool, Toolbox};

use crate::http::{Reply, whole};

use message::{RpcError, RpcMessage};

/// Lifetime of the list of tools in client caches, in milliseconds: it changes with a restart at most.
const TTL_MS: u64 = 3_600_000;

/// Answers one message. `run` runs a tool with its arguments, a JSON object, and answers JSON, also of a failure.
/// Errors of the message and of its tool are responses of the protocol.
pub(crate) async fn answer(
    toolbox: &Toolbox,
    headers: &HeaderMap,
    body: &[u8],
    run: impl AsyncFnOnce(Tool, String) -> Reply,
) -> Reply {
    let message = match RpcMessage::parse(body) {
        Ok(message) => message,
        Err(error) => return error.reply(None),
    };
    let id = message.id.clone();
    let answered = answer_message(toolbox, headers, message, run).await;
    answered.unwrap_or_else(|error| error.reply(id))
}

#[allow(clippy::indexing_slicing, reason = "an object takes any field")]
async fn answer_message(
    toolbox: &Toolbox,
    headers: &HeaderMap,
    message: RpcMessage<'_>,
    run: impl AsyncFnOnce(Tool, String) -> Reply,
) -> Result<Reply, RpcError> {
    let is_stateless = message.check(headers)?;
    let Some(id) = &message.id else {
        let (status, headers) = (StatusCode::ACCEPTED, HeaderMap::new());
        return Ok(Reply::new(status, headers, whole("")));
    };
    // The tool's response without its body.
    let mut ran = Reply::empty();
    let mut result = match (message.method.as_str(), is_stateless) {
        ("initialize", false) => initialize(toolbox, &message)?,
        ("ping", false) => json!({}),
        ("server/discover", true) => json!({
            "supportedVersions": REVISIONS,
            "capabilities": { "tools": {} },
        }),
        // All tools are on one page.
        ("tools/list", _) => json!({ "tools": toolbox.tools }),
        ("tools/call", _) => call_tool(toolbox, &message, run, &mut ran).await?,
        (_, true) => return Err(RpcError::method_not_found(StatusCode::NOT_FOUND)),
        (_, false) => return Err(RpcError::method_not_found(StatusCode::OK)),
    };
    if is_stateless {
        if message.method != "tools/call" {
            result["ttlMs"] = json!(TTL_MS);
            result["cacheScope"] = json!("public");
        }
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": toolbox.server_info });
    }
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    Ok(Reply {
        decision: ran.decision,
        tool: ran.tool,
        problem: ran.problem,
        ..Reply::json(StatusCode::OK, response)
    })
}

/// Agrees on a revision with a handshake: the requested one, or the newest.
fn initialize(toolbox: &Toolbox, message: &RpcMessage<'_>) -> Result<Value, RpcError> {
    let Some(requested) = &message.requested_version else {
        let message = "initialize needs protocolVersion, a string";
        return Err(RpcError::invalid_params(message));
    };
    let [_stateless, with_handshake @ ..] = REVISIONS;
    let agreed = with_handshake.into_iter().find(|known| known == requested);
    Ok(json!({
        "protocolVersion": agreed.unwrap_or(REVISION_WITH_HANDSHAKE),
        "capabilities": { "tools": {} },
        "serverInfo": toolbox.server_info,
    }))
}

/// Runs a tool with its arguments as written, and leaves its response in `ran`. Its failure is a result, because
/// models don't see protocol errors.
#[allow(clippy::indexing_slicing, reason = "an object takes any field")]
async fn call_tool(
    toolbox: &Toolbox,
    message: &RpcMessage<'_>,
    run: impl AsyncFnOnce(Tool, String) -> Reply,
    ran: &mut Reply,
) -> Result<Value, RpcError> {
    let Some(tool) = message.name.as_deref().and_then(Tool::from_name) else {
        let message = "Unknown tool; tools/list lists them all";
        return Err(RpcError::invalid_params(message));
    };
    let arguments = message.arguments.unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Err(RpcError::invalid_params("arguments must be an object"));
    }
    *ran = run(tool, arguments.to_owned()).await;
    ran.tool = Some(tool.as_str());
    let body = mem::replace(ran.response.body_mut(), whole(""))
        .collect()
        .await;
    // No tool answers with a stream, which could break off.
    let body = body.map_or_else(|_broken_off| Bytes::new(), Collected::to_bytes);
    let is_error = !ran.response.status().is_success();
    let note = toolbox.note(tool).filter(|_| !is_error);
    let texts = [Some(&*String::from_utf8_lossy(&body)), note];
    let content = texts.into_iter().flatten();
    let content = content.map(|text| json!({ "type": "text", "text": text }));
    let mut result = json!({ "content": content.collect::<Vec<_>>() });
    if !is_error {
        result["structuredContent"] = serde_json::from_slice(&body).unwrap_or_default();
    }
    result["isError"] = json!(is_error);
    Ok(result)
}
