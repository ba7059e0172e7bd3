//! `POST /mcp`: the Model Context Protocol, with a handshake and stateless, and the tools.

mod documents;
mod failures;
mod headers;
mod http;
mod limits;
mod program;
mod protocol;
mod tools;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Call, Reply, TestApp};

const MCP: &str = "/mcp";

/// The newest revision, in which every message names its revision itself.
const NEWEST: &str = "2026-07-28";

/// Those served, newest first.
const REVISIONS: [&str; 3] = [NEWEST, "2025-11-25", "2025-06-18"];

/// A message as literal JSON.
fn raw(body: &str) -> Call {
    Call::post(MCP, body.to_owned())
}

/// A message of a revision with a handshake.
fn plain(method: &str, params: &Value) -> Call {
    raw(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

/// A message of the stateless revision, with its headers.
fn modern(method: &str, mut params: Value) -> Call {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = plain(method, &params)
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", method);
    match params["name"].as_str() {
        Some(name) => call.header("mcp-name", name),
        None => call,
    }
}

/// The handshake that requests `version`.
fn initialize(version: &str) -> Call {
    plain(
        "initialize",
        &json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    )
}

/// A tool call.
fn call(tool: &str, arguments: &Value) -> Call {
    plain(
        "tools/call",
        &json!({ "name": tool, "arguments": arguments }),
    )
}

/// The call that asks the assistant.
pub(crate) fn ask() -> Call {
    let hello = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    call("ask_assistant", &hello)
}

/// The result of a successful request.
fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let answer = reply.json();
    assert_eq!(answer["jsonrpc"], "2.0");
    answer
        .get("result")
        .unwrap_or_else(|| panic!("{answer}"))
        .clone()
}

/// The output of a tool, which stands both in `content` and in `structuredContent`.
fn given(reply: &Reply) -> Value {
    let result = result(reply);
    assert_eq!(result["isError"], false, "{result}");
    let [content] = result["content"].as_array().unwrap().as_slice() else {
        panic!("{result}");
    };
    assert_eq!(content["type"], "text");
    let given = &result["structuredContent"];
    let text: Value = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, given);
    given.clone()
}

/// The text of a failed tool.
fn failure(reply: &Reply) -> String {
    let result = result(reply);
    assert_eq!(result["isError"], true, "{result}");
    // Clients would validate it against the output schema.
    assert_eq!(result.get("structuredContent"), None);
    let [content] = result["content"].as_array().unwrap().as_slice() else {
        panic!("{result}");
    };
    assert_eq!(content["type"], "text");
    content["text"].as_str().unwrap().to_owned()
}

/// HTTP status and code of a protocol error.
fn error(reply: &Reply) -> (u16, i64) {
    let code = reply.json()["error"]["code"].as_i64();
    (
        reply.status.as_u16(),
        code.unwrap_or_else(|| panic!("{:?}", reply.body)),
    )
}

/// The tools as they are listed.
async fn listed(app: &TestApp) -> Vec<Value> {
    let result = result(&app.send(plain("tools/list", &json!({}))).await);
    result["tools"].as_array().unwrap().clone()
}
