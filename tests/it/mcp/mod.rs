//! `POST /mcp`: the Model Context Protocol, with a handshake and stateless, and the tools.

mod documents;
mod failures;
mod headers;
mod http;
mod limits;
mod program;
mod protocol;
mod tools;

use std::panic::Location;

use crate::prelude::*;
use crate::transport::post;

const MCP: &str = "/mcp";

/// The newest revision, in which every message names its revision itself.
const NEWEST: &str = "2026-07-28";

/// The header that names a revision.
const REVISION: &str = "mcp-protocol-version";

/// Those served, newest first.
const REVISIONS: [&str; 3] = [NEWEST, "2025-11-25", "2025-06-18"];

/// A message as literal JSON.
pub(crate) fn raw(body: &str) -> Call {
    Call::post(MCP, body.to_owned())
}

/// A message of a revision with a handshake.
pub(crate) fn plain(method: &str, params: &Value) -> Call {
    raw(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

/// A message of the stateless revision, with its headers.
pub(crate) fn modern(method: &str, mut params: Value) -> Call {
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

fn initialize(version: &str) -> Call {
    plain("initialize", &client_at(version))
}

/// What a client says of itself in the handshake.
fn client_at(version: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client })
}

fn call(tool: &str, arguments: &Value) -> Call {
    let params = json!({ "name": tool, "arguments": arguments });
    plain("tools/call", &params)
}

/// A tool call whose arguments are literal JSON.
fn call_raw(tool: &str, arguments: &str) -> Call {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    let head = r#""jsonrpc":"2.0","id":1,"method":"tools/call""#;
    raw(&format!(r#"{{{head},"params":{params}}}"#))
}

pub(crate) fn ask() -> Call {
    let hello = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    call("ask_assistant", &hello)
}

pub(crate) fn subscribe() -> Call {
    let ada = json!({ "email": "ada@example.com" });
    call("subscribe_newsletter", &ada)
}

fn mint() -> Call {
    call("create_api_key", &json!({}))
}

/// The call that asks the assistant, as bytes of HTTP/1.1.
pub(crate) fn ask_on_the_wire() -> String {
    let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let params = format!(r#"{{"name":"ask_assistant","arguments":{hello}}}"#);
    let head = r#""jsonrpc":"2.0","id":1,"method":"tools/call""#;
    post(MCP, &format!(r#"{{{head},"params":{params}}}"#))
}

pub(crate) fn ping() -> Call {
    plain("ping", &json!({}))
}

pub(crate) fn list() -> Call {
    plain("tools/list", &json!({}))
}

fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let answer = reply.json();
    assert_eq!(answer["jsonrpc"], "2.0");
    let result = answer.get("result").cloned();
    result.unwrap_or_else(|| panic!("{answer}"))
}

/// The output of a tool, which stands both in `content` and in `structuredContent`.
fn given(reply: &Reply) -> Value {
    let result = result(reply);
    assert_eq!(result["isError"], false, "{result}");
    let text: Value = serde_json::from_str(&only_text(&result)).unwrap();
    assert_eq!(text, result["structuredContent"]);
    text
}

/// The text of a failed tool.
fn failure(reply: &Reply) -> String {
    let result = result(reply);
    assert_eq!(result["isError"], true, "{result}");
    // Clients would validate it against the output schema.
    assert_eq!(result.get("structuredContent"), None);
    only_text(&result)
}

/// The only content of a result.
fn only_text(result: &Value) -> String {
    let [content] = result["content"].as_array().unwrap().as_slice() else {
        panic!("{result}");
    };
    assert_eq!(content["type"], "text");
    content["text"].as_str().unwrap().to_owned()
}

impl TestApp {
    async fn result(&self, call: Call) -> Value {
        result(&self.send(call).await)
    }

    /// The output of a tool.
    async fn given(&self, call: Call) -> Value {
        given(&self.send(call).await)
    }

    /// The text of a tool that fails.
    async fn failure(&self, call: Call) -> String {
        failure(&self.send(call).await)
    }

    /// Fails unless the answer is a protocol error with this HTTP status and code: `400 -32600`.
    #[track_caller]
    fn expect_error(&self, expected: &str, call: Call) -> impl Future<Output = Reply> {
        let (caller, told) = (Location::caller(), call.told());
        async move {
            let reply = self.send(call).await;
            let code = &reply.json()["error"]["code"];
            let found = format!("{} {code}", reply.status.as_str());
            assert_eq!(found, expected, "{caller}: {told}: {:?}", reply.body);
            reply
        }
    }
}

/// The tools as they are listed.
pub(crate) async fn listed(app: &TestApp) -> Vec<Value> {
    let result = app.result(list()).await;
    result["tools"].as_array().unwrap().clone()
}
