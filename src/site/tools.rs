//! The table of tools: what `POST /mcp` lists and calls, and what the documents tell of it.
//!
//! A tool is an operation of the API under another name. Its schemas say in JSON Schema (2020-12)
//! what the operation's own parser enforces; the lengths are the domain's.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::chat::{self, Content};
use crate::domain::email;
use crate::domain::text::{EchoMessage, Label};

use super::facts::{SiteFacts, namespace};

/// One tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Is the service ready?
    CheckHealth,
    /// Comes back.
    Echo,
    /// Signs an address up.
    SubscribeNewsletter,
    /// Asks the landing assistant.
    AskAssistant,
    /// How many questions are left?
    GetAssistantQuota,
    /// Mints a free key.
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

    /// Its name on the wire, which never changes.
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

    /// What clients are told of it.
    pub(super) fn card(self, facts: &SiteFacts) -> ToolCard {
        let (title, description) = self.words();
        ToolCard {
            name: self.name(),
            title,
            description,
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
            annotations: self.annotations(facts),
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

    fn input_schema(self) -> Schema {
        match self {
            Self::CheckHealth | Self::GetAssistantQuota => object(&[], json!({})),
            Self::Echo => object(
                &["message"],
                json!({
                    "message": text(EchoMessage::LENGTH_MAX, "What to give back."),
                    "echo_headers": {
                        "type": "boolean",
                        "default": false,
                        "description": "Whether to tell the request's Accept and User-Agent, too.",
                    },
                }),
            ),
            Self::SubscribeNewsletter => object(
                &["email"],
                json!({
                    "email": {
                        "type": "string",
                        "format": "email",
                        "maxLength": email::LENGTH_MAX,
                        "description": "The address, such as name@example.com.",
                    },
                }),
            ),
            Self::AskAssistant => object(&["messages"], json!({ "messages": messages() })),
            Self::CreateApiKey => object(
                &[],
                json!({ "label": text(Label::LENGTH_MAX, "What the key is for.") }),
            ),
        }
    }

    fn output_schema(self) -> Schema {
        match self {
            Self::CheckHealth => object(
                &["ok", "service", "version"],
                json!({
                    "ok": { "type": "boolean" },
                    "service": { "type": "string" },
                    "version": { "const": "v1" },
                    "documentation": { "type": "string", "format": "uri" },
                    "openapi": { "type": "string", "format": "uri" },
                }),
            ),
            Self::Echo => object(
                &["ok", "sandbox", "version", "echo", "received_at"],
                json!({
                    "ok": { "type": "boolean" },
                    "sandbox": { "type": "boolean" },
                    "version": { "const": "v1" },
                    "echo": { "type": "string" },
                    "received_at": { "type": "string", "format": "date-time" },
                    "request_accept": { "type": "string" },
                    "request_user_agent": { "type": "string" },
                }),
            ),
            Self::SubscribeNewsletter => object(
                &["ok"],
                json!({
                    "ok": { "type": "boolean" },
                    "mode": {
                        "enum": ["contact", "notify"],
                        "description": "Whether the address is kept here or was passed on.",
                    },
                    "alreadyExists": {
                        "type": "boolean",
                        "description": "Whether it was there before, if this client may know.",
                    },
                }),
            ),
            Self::AskAssistant => object(
                &["message", "used", "max", "remaining"],
                json!({
                    "message": { "type": "string", "description": "What the assistant says." },
                    "used": count(),
                    "max": count(),
                    "remaining": count(),
                }),
            ),
            Self::GetAssistantQuota => object(
                &["used", "max", "remaining"],
                json!({ "used": count(), "max": count(), "remaining": count() }),
            ),
            Self::CreateApiKey => object(
                &["api_key", "tier", "expires_at"],
                json!({
                    "api_key": { "type": "string" },
                    "tier": { "const": "free" },
                    "label": { "type": "string" },
                    "rate_limit": object(
                        &["limit", "window_seconds"],
                        json!({ "limit": count(), "window_seconds": count() }),
                    ),
                    "expires_at": { "type": "string", "format": "date-time" },
                    "documentation": { "type": "string", "format": "uri" },
                    "note": { "type": "string" },
                }),
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

/// The revisions of the protocol that are served, newest first.
pub const REVISIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// What the endpoint says of itself, and its tools.
#[derive(Clone, Debug, Serialize)]
pub struct Toolbox {
    /// Where it is.
    pub endpoint: String,
    /// The server's name: a namespace made of the base URL's host, and one of our own.
    pub name: String,
    /// The service's name.
    pub title: String,
    /// The version of this program.
    pub version: &'static str,
    /// Where its pages are.
    pub website_url: String,
    /// The revisions of the protocol that are spoken, newest first.
    pub revisions: [&'static str; 3],
    /// The newest of them that begins with a handshake.
    pub revision_with_handshake: &'static str,
    /// The tools, in the order they are listed.
    pub tools: Vec<ToolCard>,
}

impl Toolbox {
    /// The one of the service that `facts` describe.
    #[must_use]
    pub fn new(facts: &SiteFacts) -> Self {
        let settings = &facts.settings;
        Self {
            endpoint: format!("{}/mcp", settings.base_url),
            name: format!("{}/public-api", namespace(settings.host())),
            title: settings.service_name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            website_url: format!("{}/", settings.base_url),
            revisions: REVISIONS,
            revision_with_handshake: "2025-11-25",
            tools: Tool::ALL.map(|tool| tool.card(facts)).to_vec(),
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

/// An object of these properties and no others.
fn object(required: &[&str], properties: Value) -> Schema {
    let mut schema = Schema::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// A text of 1 to `length_max` characters.
fn text(length_max: usize, description: &str) -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": length_max,
        "description": description,
    })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn messages() -> Value {
    let message = object(
        &["role", "content"],
        json!({
            "role": { "enum": ["user", "assistant"] },
            "content": text(Content::LENGTH_MAX, "What was said."),
        }),
    );
    json!({
        "type": "array",
        "minItems": 1,
        "maxItems": chat::MESSAGES_MAX,
        "items": message,
    })
}
