//! `POST /mcp`: operations of the API as tools of the Model Context Protocol, over streamable HTTP and
//! without sessions.
//!
//! Three revisions are supported. Until 2025-11-25 a client begins with `initialize`. Since 2026-07-28 each
//! message states its revision in `_meta` and in its headers, and there is no handshake. A message passes the
//! pipeline like any other request: it is counted, and its origin, media type and size are checked. A tool
//! reads its arguments with the parser of its operation.

mod message;

use std::mem;

use http_body_util::BodyExt;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::site::tools::{REVISION_WITH_HANDSHAKE, REVISIONS, Tool, Toolbox};

use crate::http::{Errors, JsonObject, Problem, Reply, RequestId, whole};

use message::{RpcError, RpcMessage};

/// Lifetime of the list of tools in client caches, in milliseconds: it changes with a restart at most.
const TTL_MS: u64 = 3_600_000;

/// Answers one message. `run` runs a tool with its arguments, a JSON object. Errors of the message and of its tool
/// are responses of the protocol.
pub(crate) async fn answer(
    toolbox: &Toolbox,
    request_id: RequestId,
    headers: &HeaderMap,
    body: &[u8],
    run: impl AsyncFnOnce(Tool, String) -> Result<Reply, Problem>,
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
    let without_tool = |result| (result, Reply::empty());
    let answered = match (message.method.as_str(), is_stateless) {
        ("initialize", false) => initialize(toolbox, message.params).map(without_tool),
        ("ping", false) => Ok(without_tool(json!({}))),
        ("server/discover", true) => Ok(without_tool(cacheable(json!({
            "supportedVersions": REVISIONS,
            "capabilities": { "tools": {} },
        })))),
        ("tools/list", _) => list_tools(toolbox, is_stateless, message.params).map(without_tool),
        ("tools/call", _) => call_tool(toolbox, &message, request_id, run).await,
        _ => Err(RpcError::method_not_found(is_stateless)),
    };
    // The tool's response without its body.
    let (result, ran) = match answered {
        Ok(answered) => answered,
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
    let mut errors = Errors::default();
    let version = params.required("protocolVersion", &mut errors);
    let version = version.and_then(|version| version.string(&mut errors));
    for name in ["capabilities", "clientInfo"] {
        if let Some(member) = params.required(name, &mut errors) {
            member.object(&mut errors);
        }
    }
    let Ok(requested) = errors.finish(version) else {
        let message = "initialize needs protocolVersion, capabilities and clientInfo";
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

/// All tools are on one page, so no cursor was ever issued.
fn list_tools(
    toolbox: &Toolbox,
    is_stateless: bool,
    mut params: JsonObject<'_>,
) -> Result<Value, RpcError> {
    if params
        .optional("cursor")
        .is_some_and(|value| value.raw.get() != "null")
    {
        return Err(RpcError::invalid_params("There is no such cursor"));
    }
    let list = json!({ "tools": toolbox.tools });
    Ok(if is_stateless { cacheable(list) } else { list })
}

/// Runs a tool with its arguments as written. Returns its result, and its response for the headers and the
/// log. Its failure is a result, because models don't see protocol errors.
async fn call_tool(
    toolbox: &Toolbox,
    message: &RpcMessage<'_>,
    request_id: RequestId,
    run: impl AsyncFnOnce(Tool, String) -> Result<Reply, Problem>,
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
    let outcome = match run(tool, arguments.to_owned()).await {
        Ok(reply) => read_reply(reply).await,
        Err(problem) => Err(problem),
    };
    let (result, mut reply) = match outcome {
        Ok((value, reply)) => {
            let said = [Some(&*value.to_string()), toolbox.note(tool)];
            let content = said.into_iter().flatten();
            let content = content.map(|text| json!({ "type": "text", "text": text }));
            let content: Vec<_> = content.collect();
            let result =
                json!({ "content": content, "structuredContent": value, "isError": false });
            (result, reply)
        }
        Err(problem) => {
            let text = problem.words(request_id);
            let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
            (result, Reply::empty().about(problem))
        }
    };
    reply.tool = Some(tool.as_str());
    Ok((result, reply))
}

/// Reads the body of `reply`, and returns the rest separately.
async fn read_reply(mut reply: Reply) -> Result<(Value, Reply), Problem> {
    let body = mem::replace(&mut reply.body, whole("")).collect().await;
    let body = body.map_err(Problem::fault)?.to_bytes();
    let value = serde_json::from_slice(&body).map_err(Problem::fault)?;
    Ok((value, reply))
}
