//! What a model says.

use serde_json::{Value, json};

pub(crate) use crate::provider::{Provider as Upstream, Script, Then};

impl Script {
    pub(crate) fn new(status: u16, media_type: &str, body: impl Into<String>) -> Self {
        Self::chunked(status, media_type, &[body.into()])
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// An answer as it should be.
    pub(crate) fn saying(text: &str) -> Self {
        Self::message(&json!({"role": "assistant", "content": text}), "stop")
    }

    pub(crate) fn message(message: &Value, finish: &str) -> Self {
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        let answer = json!({"object": "chat.completion", "choices": [choice]});
        Self::json(200, &answer)
    }

    /// A stream of these events, and of nothing else.
    pub(crate) fn stream(events: impl IntoIterator<Item = String>) -> Self {
        let events = events.into_iter();
        let chunks: Vec<_> = events.map(|event| format!("data: {event}\n\n")).collect();
        Self::chunked(200, "text/event-stream; charset=utf-8", &chunks)
    }

    /// Not even a head.
    pub(crate) fn silent() -> Self {
        Self::holding("")
    }

    /// The connection ends in place of a head.
    pub(crate) fn dropped() -> Self {
        Self::closing("")
    }
}

impl Upstream {
    pub(crate) fn base_url(&self) -> String {
        self.url("/v1")
    }
}

/// The data of a stream's chunk.
pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"object": "chat.completion.chunk", "choices": [choice]}).to_string()
}

pub(crate) fn piece(text: &str) -> String {
    chunk(&json!({"content": text}), None)
}

/// The chunk that ends a whole answer.
pub(crate) fn end() -> String {
    chunk(&json!({}), Some("stop"))
}
