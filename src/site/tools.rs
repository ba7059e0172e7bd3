//! The tools of `POST /mcp`.
//!
//! A tool is an operation of the API under another name, and takes its schemas from the OpenAPI
//! description.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::SignUpsGo;
use crate::domain::macros::names;

use super::facts::SiteFacts;
use super::reference::{Operation, members, resolve};

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

impl Tool {
    /// The tool as `tools/list` returns it. Title and description are in `x-tool` of its operation.
    fn card(self, facts: &SiteFacts, description: &Value, operations: &[Operation]) -> ToolCard {
        let of_tool = |operation: &&Operation| {
            let tool = operation.get("x-tool").and_then(|tool| tool.get("name"));
            tool.is_some_and(|name| name == self.as_str())
        };
        let operation = operations.iter().find(of_tool);
        let field = |name| operation.and_then(|operation| operation.get(name));
        let text = |name| {
            let text = field("x-tool").and_then(|tool| tool.get(name)?.as_str());
            text.unwrap_or_default().trim_end().to_owned()
        };
        let schema = |body: Option<&Value>| {
            let body = body.map(|body| resolve(description, body));
            let schema = body.and_then(|body| body.pointer("/content/application~1json/schema"));
            schema.map(|schema| closed(description, schema))
        };
        let success = members(field("responses")).find(|(status, _)| status.starts_with('2'));
        let nothing = json!({ "type": "object", "properties": {} });
        ToolCard {
            name: self.as_str(),
            title: text("title"),
            description: text("description"),
            input_schema: schema(field("requestBody"))
                .unwrap_or_else(|| closed(description, &nothing)),
            output_schema: schema(success.map(|(_, response)| response)).unwrap_or_default(),
            annotations: self.annotations(facts),
            note: text("note"),
        }
    }

    /// Its effects. A forwarded sign-up reaches the provider each time. An external model makes the tool
    /// open-world. All fields are sent: the protocol's defaults are the worst case.
    fn annotations(self, facts: &SiteFacts) -> Value {
        let (is_read_only, is_idempotent, is_open_world) = match self {
            Self::CheckHealth | Self::Echo | Self::GetAssistantQuota => (true, true, false),
            Self::SubscribeNewsletter => {
                let passes_on = facts.settings.sign_ups != SignUpsGo::Kept;
                (false, !facts.settings.passes_sign_ups_on(), passes_on)
            }
            Self::AskAssistant => (false, false, facts.settings.has_model),
            Self::CreateApiKey => (false, false, false),
        };
        json!({
            "readOnlyHint": is_read_only,
            // No tool overwrites or deletes anything.
            "destructiveHint": false,
            "idempotentHint": is_idempotent,
            "openWorldHint": is_open_world,
        })
    }
}

/// The supported revisions of the protocol, newest first.
pub const REVISIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// The newest of them that begins with a handshake.
pub const REVISION_WITH_HANDSHAKE: &str = "2025-11-25";

/// The MCP server and its tools.
#[derive(Clone, Debug)]
pub struct Toolbox {
    /// The server's name.
    pub name: String,
    /// The service's name.
    pub title: String,
    /// The version of this program.
    pub version: &'static str,
    /// URL of the home page.
    pub website_url: String,
    /// The tools, in the order they are listed.
    pub tools: Vec<ToolCard>,
}

impl Toolbox {
    /// The toolbox of a service with these facts, this OpenAPI description and its operations.
    pub(super) fn new(facts: &SiteFacts, description: &Value, operations: &[Operation]) -> Self {
        let settings = &facts.settings;
        Self {
            name: facts.mcp_name(),
            title: settings.service_name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            website_url: format!("{}/", settings.base_url),
            tools: Tool::ALL
                .map(|tool| tool.card(facts, description, operations))
                .to_vec(),
        }
    }

    /// A sentence beside the value in the result of `tool`; empty if there is none.
    pub fn note(&self, tool: Tool) -> &str {
        let mut cards = self.tools.iter();
        let card = cards.find(|card| card.name == tool.as_str());
        card.map_or("", |card| &card.note)
    }
}

/// A JSON Schema of an object.
pub type Schema = Map<String, Value>;

/// A tool as `tools/list` shows it, field for field.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCard {
    /// Its name on the wire.
    pub name: &'static str,
    /// Its name for people.
    pub title: String,
    /// Its purpose, for a model to choose by.
    pub description: String,
    /// Schema of its arguments.
    pub input_schema: Schema,
    /// Schema of its structured result.
    pub output_schema: Schema,
    /// Its effects.
    pub annotations: Value,
    /// A sentence beside the value in its result; may be empty.
    #[serde(skip)]
    note: String,
}

/// The schema with references resolved and no additional properties: a tool rejects unknown fields. Patterns
/// are left out, because not every client supports ECMA-262 expressions; the operation checks them anyway.
fn closed(description: &Value, schema: &Value) -> Schema {
    let schema = resolve(description, schema);
    let mut closed = Schema::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let value = match (keyword.as_str(), value) {
            ("pattern" | "additionalProperties", _) => continue,
            ("items", items) => self::closed(description, items).into(),
            ("properties", Value::Object(properties)) => properties
                .iter()
                .filter(|(_, value)| value.get("x-tool") != Some(&json!(false)))
                .map(|(name, value)| (name.clone(), self::closed(description, value).into()))
                .collect::<Schema>()
                .into(),
            (_, value) => value.clone(),
        };
        closed.insert(keyword.clone(), value);
    }
    if schema.get("type").is_some_and(|kind| kind == "object") {
        closed.insert("additionalProperties".to_owned(), json!(false));
    }
    closed
}
