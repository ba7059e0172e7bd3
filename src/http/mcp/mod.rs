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

use crate::http::{Errors, JsonObject, Reply, whole};

use message::{RpcError, RpcMessage};

/// Lifetime of the list of tools in client caches, in milliseconds: it changes with a restart at most.
const TTL_MS: u64 = 3_600_000;

/// Answers one message. `run` runs a tool with its arguments, a JSON object, and answers JSON, also of a failure. Errors
/// of the message and of its tool are responses of the protocol.
pub(crate) async fn answer(
    toolbox: &Toolbox,
    headers: &HeaderMap,
    body: &[u8],
    run: impl AsyncFnOnce(Tool, String) -> Reply,
) -> Reply {
    let mut message = match RpcMessage::parse(body) {
        Ok(message) => message,
        Err(error) => return error.reply(None),
    };
    let is_stateless = match message.check(headers) {
        Ok(is_stateless) => is_stateless,
        Err(error) => return error.reply(message.id),
    };
    let Some(id) = message.id.take() else {
        return Reply {
            status: StatusCode::ACCEPTED,
            ..Reply::empty()
        };
    };
    let list = || json!({ "tools": toolbox.tools });
    // The tool's response without its body.
    let mut ran = Reply::empty();
    let answered = match (message.method.as_str(), is_stateless) {
        ("initialize", false) => initialize(toolbox, message.params),
        ("ping", false) => Ok(json!({})),
        ("server/discover", true) => Ok(cacheable(json!({
            "supportedVersions": REVISIONS,
            "capabilities": { "tools": {} },
        }))),
        // All tools are on one page.
        ("tools/list", true) => Ok(cacheable(list())),
        ("tools/list", false) => Ok(list()),
        ("tools/call", _) => call_tool(toolbox, &message, run)
            .await
            .map(|(result, reply)| {
                ran = reply;
                result
            }),
        _ => Err(RpcError::method_not_found(is_stateless)),
    };
    let result = match answered {
        Ok(result) => result,
        Err(error) => return error.reply(Some(id)),
    };
    let result = if is_stateless {
        let server_info = json!({ "io.modelcontextprotocol/serverInfo": toolbox.server_info });
        with(
            result,
            json!({ "resultType": "complete", "_meta": server_info }),
        )
    } else {
        result
    };
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    Reply {
        decision: ran.decision,
        tool: ran.tool,
        problem: ran.problem,
        ..Reply::json(StatusCode::OK, response)
    }
}

/// `object` with additional fields.
fn with(mut object: Value, members: Value) -> Value {
    if let (Value::Object(object), Value::Object(members)) = (&mut object, members) {
        object.extend(members);
    }
    object
}

fn cacheable(result: Value) -> Value {
    with(result, json!({ "ttlMs": TTL_MS, "cacheScope": "public" }))
}

/// Agrees on a revision with a handshake: the requested one, or the newest.
fn initialize(toolbox: &Toolbox, mut params: JsonObject<'_>) -> Result<Value, RpcError> {
    let requested = params.optional("protocolVersion");
    let Some(requested) = requested.and_then(|value| value.string(&mut Errors::default())) else {
        let message = "initialize needs protocolVersion, a string";
        return Err(RpcError::invalid_params(message));
    };
    let [_stateless, with_handshake @ ..] = REVISIONS;
    let agreed = with_handshake.into_iter().find(|known| *known == requested);
    Ok(json!({
        "protocolVersion": agreed.unwrap_or(REVISION_WITH_HANDSHAKE),
        "capabilities": { "tools": {} },
        "serverInfo": toolbox.server_info,
    }))
}

/// Runs a tool with its arguments as written. Returns its result, and its response for the headers and the
/// log. Its failure is a result, because models don't see protocol errors.
#[allow(clippy::indexing_slicing, reason = "an object takes any field")]
async fn call_tool(
    toolbox: &Toolbox,
    message: &RpcMessage<'_>,
    run: impl AsyncFnOnce(Tool, String) -> Reply,
) -> Result<(Value, Reply), RpcError> {
    let Some(tool) = message.name.as_deref().and_then(Tool::from_name) else {
        let message = "Unknown tool; tools/list lists them all";
        return Err(RpcError::invalid_params(message));
    };
    let arguments = message
        .arguments
        .as_ref()
        .map_or("{}", |value| value.raw.get());
    if !arguments.starts_with('{') {
        return Err(RpcError::invalid_params("arguments must be an object"));
    }
    let mut ran = run(tool, arguments.to_owned()).await;
    ran.tool = Some(tool.as_str());
    let body = mem::replace(&mut ran.body, whole("")).collect().await;
    // No tool answers with a stream, which could break off.
    let body = body.map_or_else(|_broken_off| Bytes::new(), Collected::to_bytes);
    let is_error = !ran.status.is_success();
    let note = toolbox.note(tool).filter(|_| !is_error);
    let texts = [Some(&*String::from_utf8_lossy(&body)), note];
    let content = texts.into_iter().flatten();
    let content = content.map(|text| json!({ "type": "text", "text": text }));
    let mut result = json!({ "content": content.collect::<Vec<_>>() });
    if !is_error {
        result["structuredContent"] = serde_json::from_slice(&body).unwrap_or_default();
    }
    result["isError"] = json!(is_error);
    Ok((result, ran))
}
