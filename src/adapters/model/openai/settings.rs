//! The model, its endpoint and the key.

use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::InvalidUri;
use serde_json::{Map, Value};

/// The model and its endpoint.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// The endpoint.
    pub address: Uri,
    /// The model's name.
    pub model: String,
    /// The value of `Authorization`, if the upstream requires one.
    pub key: Option<HeaderValue>,
    /// The first message of every request.
    pub system_prompt: String,
    /// Further fields of each request. Fields set by the service itself are overwritten.
    pub params: Map<String, Value>,
    /// The server opens the model's thinking in its own prompt, so answers begin inside it.
    pub thinks_first: bool,
    /// Deadline of an answer.
    pub timeout: Duration,
    /// Limit of concurrent turns.
    pub concurrency: usize,
}

/// The address of the endpoint for chat completions below the base URL of the API, which is `http` or `https`
/// without a trailing slash.
///
/// # Errors
/// [`InvalidUri`] when it is not a URI. The text does not quote it: it may contain a secret.
pub fn chat_completions(base_url: &str) -> Result<Uri, InvalidUri> {
    format!("{base_url}/chat/completions").parse()
}

/// The header value with the operator's key, which has no surrounding white space. `Debug` does not reveal it.
///
/// # Errors
/// When it is not a valid header value. The message does not quote it.
pub fn bearer_token(text: &str) -> Result<HeaderValue, &'static str> {
    let text = text.trim();
    let is_key = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::try_from(format!("Bearer {text}")).ok();
    let mut value = value
        .filter(|_| is_key)
        .ok_or("must contain one key: printable ASCII without spaces")?;
    // So that `Debug` omits the value.
    value.set_sensitive(true);
    Ok(value)
}
