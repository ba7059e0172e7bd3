//! JSON-RPC 2.0 messages of `POST /mcp`, and the headers they require.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::http::request::json;
use crate::http::{Code, Errors, JsonObject, JsonValue, Reply, Unknown};
use crate::site::tools::REVISIONS;

/// The first revision whose messages state their revision themselves.
const STATELESS: &str = REVISIONS[0];

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const HEADER_MISMATCH: i32 = -32020;
const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

/// One request or notification.
#[derive(Debug)]
pub(super) struct RpcMessage<'a> {
    /// A string or an integer. `None` for a notification.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// `params.name`, if it is a string.
    pub(super) name: Option<String>,
    /// `params.arguments`, unless it is null.
    pub(super) arguments: Option<&'a str>,
    /// `params.protocolVersion`, if it is a string.
    pub(super) requested_version: Option<String>,
    /// The revision in its `_meta`.
    version: Option<String>,
    /// True if its `_meta` lists the client's capabilities.
    has_capabilities: bool,
}

impl<'a> RpcMessage<'a> {
    /// Parses a body. Batches are refused: no supported revision has them.
    ///
    /// # Errors
    /// [`RpcError`] when the body is not JSON or not one message.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, RpcError> {
        json::read(body, Unknown::Ignored, Self::read).map_err(|problem| {
            if problem.code == Code::MalformedJson {
                return RpcError::bad_request(PARSE_ERROR, problem.detail);
            }
            let message = "The body must be one JSON-RPC 2.0 request or notification";
            RpcError::bad_request(INVALID_REQUEST, message)
        })
    }

    fn read(message: &mut JsonObject<'a>, errors: &mut Errors) -> Option<Self> {
        let jsonrpc = message.required("jsonrpc", errors)?.string(errors)?;
        let id = match message.optional("id") {
            Some(id) => Some(request_id(&id)?),
            None => None,
        };
        let method = message.required("method", errors)?.string(errors)?;
        let mut params = object(message.optional("params"), errors)?;
        let not_null = |value: &JsonValue<'_>| value.text != "null";
        let mut meta = object(params.optional("_meta").filter(not_null), errors)?;
        let string = |value: Option<JsonValue<'_>>| value?.string(&mut Errors::default());
        let arguments = params.optional("arguments").filter(not_null);
        let capabilities = meta.optional("io.modelcontextprotocol/clientCapabilities");
        let message = Self {
            id,
            method,
            name: string(params.optional("name")),
            arguments: arguments.map(|value| value.text),
            requested_version: string(params.optional("protocolVersion")),
            version: string(meta.optional("io.modelcontextprotocol/protocolVersion")),
            has_capabilities: capabilities.is_some_and(|value| value.text.starts_with('{')),
        };
        // A field that is read must not occur twice: others may read the second one.
        params.finish(Unknown::Ignored, errors);
        meta.finish(Unknown::Ignored, errors);
        (jsonrpc == "2.0").then_some(message)
    }

    /// Checks the headers of the protocol. True if the message is of the stateless revision, which has no
    /// handshake.
    ///
    /// # Errors
    /// [`RpcError`] when a header is repeated, missing or contradicts the message, the revision is unsupported,
    /// or a stateless request does not describe itself.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<bool, RpcError> {
        for name in [VERSION, METHOD, NAME] {
            if headers.get_all(&name).iter().count() > 1 {
                return Err(mismatch(&name, "occurs more than once"));
            }
        }
        let named = headers.get(VERSION).map(HeaderValue::as_bytes);
        if self.version.is_some() && self.version.as_deref().map(str::as_bytes) != named {
            return Err(mismatch(&VERSION, "must match _meta"));
        }
        // A handshake negotiates the revision by its body. A client may state another in the header, which
        // counts from then on; a request for the newest gets an older one.
        let is_handshake = self.method == "initialize" && self.version.is_none();
        if let Some(named) = named
            && !is_handshake
            && !REVISIONS.iter().any(|served| served.as_bytes() == named)
        {
            let requested = String::from_utf8_lossy(named);
            return Err(RpcError {
                status: StatusCode::BAD_REQUEST,
                error: json!({
                    "code": UNSUPPORTED_PROTOCOL_VERSION,
                    "message": "Unsupported protocol version",
                    "data": { "supported": REVISIONS, "requested": requested },
                }),
            });
        }
        let is_stateless = named == Some(STATELESS.as_bytes());
        if is_stateless {
            self.check_names(headers, is_handshake)?;
        }
        if is_handshake || self.id.is_none() {
            return Ok(false);
        }
        // Discovery exists in the stateless revision only.
        let describes_itself = self.version.is_some() && self.has_capabilities;
        if (is_stateless || self.method == "server/discover") && !describes_itself {
            let message = "_meta has to have protocolVersion and clientCapabilities";
            return Err(RpcError::bad_request(INVALID_PARAMS, message));
        }
        Ok(is_stateless)
    }

    /// Checks the headers that proxies route by.
    fn check_names(&self, headers: &HeaderMap, may_omit: bool) -> Result<(), RpcError> {
        let is_method = |value: &HeaderValue| value.as_bytes() == self.method.as_bytes();
        if !headers.get(METHOD).map_or(may_omit, is_method) {
            return Err(mismatch(&METHOD, "must match the method"));
        }
        if self.method == "tools/call"
            && let Some(name) = &self.name
            && !headers.get(NAME).is_some_and(|value| says(value, name))
        {
            return Err(mismatch(&NAME, "must match the name of the tool"));
        }
        Ok(())
    }
}

/// True if a header contains `text`, possibly as `=?base64?...?=`.
fn says(value: &HeaderValue, text: &str) -> bool {
    let value = value.as_bytes();
    let encoded = value
        .strip_prefix(b"=?base64?")
        .and_then(|rest| rest.strip_suffix(b"?="));
    match encoded.map(|encoded| STANDARD.decode(encoded)) {
        Some(decoded) => decoded.is_ok_and(|decoded| decoded == text.as_bytes()),
        None => value == text.as_bytes(),
    }
}

/// A string or an integer of 64 bits.
fn request_id(id: &JsonValue<'_>) -> Option<Value> {
    let id: Value = serde_json::from_str(id.text).ok()?;
    (id.is_string() || id.is_i64()).then_some(id)
}

/// An object, which may be absent.
fn object<'a>(value: Option<JsonValue<'a>>, errors: &mut Errors) -> Option<JsonObject<'a>> {
    match value {
        Some(value) => value.object(errors),
        None => Some(JsonObject::default()),
    }
}

fn mismatch(name: &HeaderName, detail: &str) -> RpcError {
    RpcError::bad_request(HEADER_MISMATCH, format!("Header mismatch: {name} {detail}"))
}

/// An error of the protocol.
#[derive(Debug)]
pub(super) struct RpcError {
    status: StatusCode,
    error: Value,
}

impl RpcError {
    fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self {
            status,
            error: json!({ "code": code, "message": message.into() }),
        }
    }

    fn bad_request(code: i32, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(super) fn invalid_params(message: &str) -> Self {
        Self::new(StatusCode::OK, INVALID_PARAMS, message)
    }

    pub(super) fn method_not_found(status: StatusCode) -> Self {
        Self::new(status, METHOD_NOT_FOUND, "Method not found")
    }

    /// The response to the message with this id.
    pub(super) fn reply(self, id: Option<Value>) -> Reply {
        let response = json!({ "jsonrpc": "2.0", "id": id, "error": self.error });
        Reply::json(self.status, response)
    }
}
