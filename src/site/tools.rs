//! The tools of `POST /mcp`.
//!
//! A tool is an operation of the API under another name, and takes its schemas from the OpenAPI
//! description.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::facts::SiteFacts;
use super::reference::resolve;

/// One tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Returns whether the service is ready.
    CheckHealth,
    /// Returns a message.
    Echo,
    /// Signs an e-mail address up.
    SubscribeNewsletter,
    /// Asks the landing assistant.
    AskAssistant,
    /// Returns how many questions are left.
    GetAssistantQuota,
    /// Issues a free key.
    CreateApiKey,
}

impl Tool {
    /// Every tool, in the order they are listed.
    pub const ALL: [Self; 6] = [
        Self::CheckHealth,
        Self::Echo,
        Self::SubscribeNewsletter,
        Self::AskAssistant,
        Self::GetAssistantQuota,
        Self::CreateApiKey,
    ];

    /// Its name in the protocol, which never changes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CheckHealth => "check_health",
            Self::Echo => "echo",
            Self::SubscribeNewsletter => "subscribe_newsletter",
            Self::AskAssistant => "ask_assistant",
            Self::GetAssistantQuota => "get_assistant_quota",
            Self::CreateApiKey => "create_api_key",
        }
    }

    /// The tool of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn card(self, facts: &SiteFacts, description: &Value) -> ToolCard {
        let (title, about) = self.words();
        let (input, output) = self.schemas();
        let schema = |name: &str| {
            let schema = description.pointer(&format!("/components/schemas/{name}"));
            closed(description, schema.unwrap_or_default())
        };
        ToolCard {
            name: self.name(),
            title,
            description: about,
            input_schema: input.map_or_else(
                || closed(description, &json!({ "type": "object", "properties": {} })),
                schema,
            ),
            output_schema: schema(output),
            annotations: self.annotations(facts),
        }
    }

    /// The names of the schemas of its arguments, if it takes any, and of its result.
    const fn schemas(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::CheckHealth => (None, "HealthResponse"),
            Self::Echo => (Some("SandboxEchoRequest"), "SandboxEchoResponse"),
            Self::SubscribeNewsletter => (
                Some("NewsletterSubscribeRequest"),
                "NewsletterSubscribeResponse",
            ),
            Self::AskAssistant => (Some("AssistantChatRequest"), "AssistantChatResponse"),
            Self::GetAssistantQuota => (None, "QuotaResponse"),
            Self::CreateApiKey => (Some("CreateKeyRequest"), "CreateKeyResponse"),
        }
    }

    /// Title and description.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::CheckHealth => (
                "Check health",
                "Tells whether the service is up and can keep sign-ups and keys, its name, and \
                 where its documentation and OpenAPI description are.",
            ),
            Self::Echo => (
                "Echo a message",
                "Gives a message back, to try a connection or a client. Nothing is stored.",
            ),
            Self::SubscribeNewsletter => (
                "Subscribe to the newsletter",
                "Signs an e-mail address up for the newsletter. Do so only if its owner asked \
                 for it.",
            ),
            Self::AskAssistant => (
                "Ask the landing assistant",
                "Asks the assistant that knows this service's guide. Give the conversation so \
                 far, oldest message first; its last message should be the user's. Each call \
                 uses one message of the quota that get_assistant_quota tells.",
            ),
            Self::GetAssistantQuota => (
                "Get the assistant's quota",
                "Tells how many messages to the assistant are used and left for this client: the \
                 credential that it presents, or its network. Asking is free.",
            ),
            Self::CreateApiKey => (
                "Create an API key",
                "Mints a free API key, which is shown this once. No tool or endpoint needs one; \
                 presented as Authorization: Bearer, it gives a client rate limits of its own.",
            ),
        }
    }

    /// What it does to the world. A sign-up that is passed on reaches the provider each time, and
    /// a model of the operator's is a world of its own.
    fn annotations(self, facts: &SiteFacts) -> Annotations {
        let (read_only_hint, idempotent_hint, open_world_hint) = match self {
            Self::CheckHealth | Self::Echo | Self::GetAssistantQuota => (true, true, false),
            Self::SubscribeNewsletter => {
                let passes_on = facts.passes_sign_ups_on;
                (false, !passes_on, passes_on)
            }
            Self::AskAssistant => (false, false, facts.has_model),
            Self::CreateApiKey => (false, false, false),
        };
        Annotations {
            read_only_hint,
            // Nothing is ever overwritten or taken away.
            destructive_hint: false,
            idempotent_hint,
            open_world_hint,
        }
    }
}

/// The supported revisions of the protocol, newest first.
pub const REVISIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// The newest of them that begins with a handshake.
pub const REVISION_WITH_HANDSHAKE: &str = "2025-11-25";

/// What the MCP endpoint says of itself, and its tools.
#[derive(Clone, Debug)]
pub struct Toolbox {
    /// The server's name.
    pub name: String,
    /// The service's name.
    pub title: String,
    /// The version of this program.
    pub version: &'static str,
    /// The address of the home page.
    pub website_url: String,
    /// The tools, in the order they are listed.
    pub tools: Vec<ToolCard>,
}

impl Toolbox {
    /// The toolbox of a service with these facts and this OpenAPI description.
    pub(super) fn new(facts: &SiteFacts, description: &Value) -> Self {
        let settings = &facts.settings;
        Self {
            name: facts.mcp_name(),
            title: settings.service_name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            website_url: format!("{}/", settings.base_url),
            tools: Tool::ALL.map(|tool| tool.card(facts, description)).to_vec(),
        }
    }
}

/// A JSON Schema of an object.
pub type Schema = Map<String, Value>;

/// A tool as `tools/list` shows it, member for member.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCard {
    /// Its name on the wire.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for a model to choose by.
    pub description: &'static str,
    /// What its arguments have to be.
    pub input_schema: Schema,
    /// What its structured result is.
    pub output_schema: Schema,
    /// What it does to the world.
    pub annotations: Annotations,
}

/// What a tool does to the world, all said out loud: the protocol's defaults are the worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may overwrite or take away.
    pub destructive_hint: bool,
    /// The same call again changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond this service.
    pub open_world_hint: bool,
}

/// `schema` with what its references lead to in their place, and no members but those it names:
/// what a tool would ignore it had better not be sent. Patterns are left out, because not every
/// reader knows the syntax of ECMA-262; the operation checks them anyway.
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
