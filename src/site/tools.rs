//! The tools of `POST /mcp`.
//!
//! A tool is an operation of the API under another name, and takes its schemas from the OpenAPI
//! description.

use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::Settings;
use crate::domain::macros::names;

use super::openapi::{Operation, members, resolve};

names! {
    /// One tool, in the order they are listed. A name in the protocol never changes.
    pub enum Tool {
        CheckHealth => "check_health",
        Echo => "echo",
        SubscribeNewsletter => "subscribe_newsletter",
        AskAssistant => "ask_assistant",
        GetAssistantQuota => "get_assistant_quota",
        CreateApiKey => "create_api_key",
    }
}

/// The hints of the protocol about the effects of a tool.
const EFFECTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

impl Tool {
    /// The tool as `tools/list` returns it: `x-tool` of its operation, with its schemas. The note there is for its
    /// results.
    fn card(self, description: &Value, operations: &[Operation]) -> ToolCard {
        let of_tool = |operation: &&Operation| {
            operation.pointer("/x-tool/name") == Some(&json!(self.as_str()))
        };
        let operation = operations.iter().find(of_tool);
        let field = |name| operation.and_then(|operation| operation.get(name));
        let schema = |body: Option<&Value>| {
            let body = resolve(description, body?);
            let schema = body.pointer("/content/application~1json/schema")?;
            Some(closed(description, schema))
        };
        let mut responses = members(field("responses"));
        let success = responses.find(|(status, _)| status.starts_with('2'));
        let output = schema(success.map(|(_, response)| response));
        let nothing = || closed(description, &json!({ "type": "object", "properties": {} }));
        let input = schema(field("requestBody")).unwrap_or_else(nothing);
        let card = field("x-tool").and_then(Value::as_object);
        let mut card = card.cloned().unwrap_or_default();
        let mut take = |name| Some(card.remove(name)?.as_str()?.to_owned());
        let (effects, note) = (take("effects").unwrap_or_default(), take("note"));
        // All are sent: the protocol's defaults are the worst case.
        let hints = EFFECTS.map(|hint| (hint.to_owned(), json!(effects.contains(hint))));
        card.insert("annotations".to_owned(), hints.into_iter().collect());
        card.insert("inputSchema".to_owned(), input);
        card.insert("outputSchema".to_owned(), output.unwrap_or_default());
        ToolCard {
            tool: self,
            card: card.into(),
            note,
        }
    }
}

/// The supported revisions of the protocol, newest first.
pub const REVISIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// The newest of them that begins with a handshake.
pub const REVISION_WITH_HANDSHAKE: &str = "2025-11-25";

/// The MCP server and its tools.
#[derive(Clone, Debug)]
pub struct Toolbox {
    /// The server as it introduces itself.
    pub server_info: Value,
    /// The tools, in the order they are listed.
    pub tools: Vec<ToolCard>,
}

impl Toolbox {
    /// The toolbox of a service with these settings, this OpenAPI description and its operations.
    pub(super) fn new(settings: &Settings, description: &Value, operations: &[Operation]) -> Self {
        let tools = Tool::ALL.map(|tool| tool.card(description, operations));
        Self {
            server_info: json!({
                "name": mcp_name(settings.host()),
                "title": settings.service_name,
                "version": env!("CARGO_PKG_VERSION"),
                "websiteUrl": format!("{}/", settings.base_url),
            }),
            tools: tools.to_vec(),
        }
    }

    /// A sentence beside the value in the result of `tool`, if there is one.
    pub fn note(&self, tool: Tool) -> Option<&str> {
        let mut tools = self.tools.iter();
        tools.find(|card| card.tool == tool)?.note.as_deref()
    }
}

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ToolCard {
    #[serde(skip)]
    tool: Tool,
    card: Value,
    #[serde(skip)]
    note: Option<String>,
}

/// The schema with references resolved and no additional properties: a tool rejects unknown fields. Patterns
/// are left out, because not every client supports ECMA-262 expressions; the operation checks them anyway.
fn closed(description: &Value, schema: &Value) -> Value {
    let schema = resolve(description, schema);
    let mut closed = Map::new();
    for (keyword, value) in members(Some(schema)) {
        let value = match (keyword.as_str(), value) {
            ("pattern" | "additionalProperties", _) => continue,
            ("items", items) => self::closed(description, items),
            ("properties", properties) => members(Some(properties))
                .filter(|(_, value)| value.get("x-tool") != Some(&json!(false)))
                .map(|(name, value)| (name.clone(), self::closed(description, value)))
                .collect(),
            (_, value) => value.clone(),
        };
        closed.insert(keyword.clone(), value);
    }
    if schema.get("type") == Some(&json!("object")) {
        closed.insert("additionalProperties".to_owned(), json!(false));
    }
    closed.into()
}

/// A host in the characters that a URN of the AI catalog allows.
pub(super) fn publisher(host: &str) -> String {
    host.trim_matches(['[', ']']).replace(':', "-")
}

/// The name of the MCP server on a host. Its namespace is the host in reverse order, as in `com.example.api`, or an
/// address as it is.
pub(super) fn mcp_name(host: &str) -> String {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    let namespace = match is_address {
        true => publisher(host),
        false => host.rsplit('.').collect::<Vec<_>>().join("."),
    };
    format!("{namespace}/public-api")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gives_names() {
        for (host, as_publisher, as_namespace) in [
            ("api.example.com", "api.example.com", "com.example.api"),
            ("localhost", "localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
            ("[::1]", "--1", "--1"),
        ] {
            assert_eq!(publisher(host), as_publisher);
            assert_eq!(mcp_name(host), format!("{as_namespace}/public-api"));
        }
    }
}
