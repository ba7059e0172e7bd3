//! What has to be known of a message before `rmcp` reads it, and what `rmcp` leaves to be checked.

use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, ProtocolVersion, RequestId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire;

/// The revisions of the protocol that are spoken, newest first.
pub(super) const SUPPORTED: [ProtocolVersion; 3] = [
    ProtocolVersion::V_2026_07_28,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
];

/// The largest message without its arguments, in bytes: `rmcp` tries one method after another on it,
/// which costs many times what reading it does.
const BESIDE_ARGUMENTS_MAX: usize = 64 * 1024;

/// An object without members.
const NOTHING: &[u8] = b"{}";

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The headers that belong to the protocol.
pub(super) const HEADERS: [HeaderName; 3] = [
    VERSION,
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// One JSON-RPC message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: Option<RequestId>,
    /// The message without the arguments.
    pub(super) body: Bytes,
    /// What a tool is called with, as it was written. A tool that takes nothing may be called
    /// without.
    pub(super) arguments: Bytes,
    /// Whether it names its revision itself, as messages do since 2026-07-28.
    names_version: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    id: Option<RequestId>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<Params<'a>>,
}

/// Reads a member that may be absent, but not null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Params<'de>>, D::Error> {
    Params::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<IgnoredAny>,
}

impl Message {
    /// Reads as much of a message as is needed here. Whatever else there is may be nested as deep
    /// as it likes.
    ///
    /// # Errors
    /// [`Refusal`] when it is not JSON, or not one JSON-RPC message, or too large beside the
    /// arguments. Batches are no messages: the only revision that had them is not spoken.
    pub(super) fn read(body: &Bytes) -> Result<Self, Refusal> {
        if let Err(problem) = wire::parse(body) {
            return Err(Refusal::unreadable(problem));
        }
        let envelope: Envelope<'_> = match body.trim_ascii_start().first() {
            // A list could be taken for the members in their order.
            Some(b'[') => return Err(Refusal::no_message(None)),
            _ => serde_json::from_slice(body).map_err(|_error| Refusal::no_message(None))?,
        };
        let params = envelope.params.as_ref();
        let meta = params.and_then(|params| params.meta);
        let meta = meta.map(|meta| serde_json::from_str(meta.get()));
        let arguments = params.and_then(|params| params.arguments);
        // Anything but an object is left where it is, to be refused with the message.
        let arguments = arguments.filter(|arguments| arguments.get().starts_with('{'));
        let beside = arguments.map_or_else(|| body.clone(), |arguments| without(body, arguments));
        if beside.len() > BESIDE_ARGUMENTS_MAX {
            return Err(Refusal::too_large(envelope.id));
        }
        Ok(Self {
            body: beside,
            arguments: arguments.map_or(Bytes::from_static(NOTHING), |arguments| {
                body.slice_ref(arguments.get().as_bytes())
            }),
            names_version: matches!(meta, Some(Ok(Meta { version: Some(_) }))),
            id: envelope.id,
        })
    }

    /// Checks the protocol's headers as far as `rmcp` does not: it would take the first of several,
    /// and serve every revision it knows.
    ///
    /// # Errors
    /// [`Refusal`] when one stands there twice, or names a revision that is not spoken.
    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        for name in &HEADERS {
            if headers.get_all(name).iter().count() > 1 {
                let message = format!("Header mismatch: {name} is there more than once");
                let error = ErrorData::new(ErrorCode::HEADER_MISMATCH, message, None);
                return Err(Refusal::new(self.id.clone(), error));
            }
        }
        // A message that names its revision is held against its header by `rmcp`.
        match headers.get(VERSION) {
            Some(version) if !self.names_version && !is_supported(version) => {
                let requested = String::from_utf8_lossy(version.as_bytes());
                let data = json!({ "supported": SUPPORTED, "requested": requested });
                let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
                let error = ErrorData::new(code, "Unsupported protocol version", Some(data));
                Err(Refusal::new(self.id.clone(), error))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// `body` with nothing in place of the `arguments`, which are a part of it.
fn without(body: &Bytes, arguments: &RawValue) -> Bytes {
    let arguments = arguments.get().as_bytes();
    let before = arguments.as_ptr().addr() - body.as_ptr().addr();
    let (before, rest) = body.split_at(before);
    let (_arguments, after) = rest.split_at(arguments.len());
    Bytes::from([before, NOTHING, after].concat())
}

fn is_supported(version: &HeaderValue) -> bool {
    SUPPORTED
        .iter()
        .any(|supported| supported.as_str().as_bytes() == version.as_bytes())
}

/// A message that is not answered, and why.
#[derive(Debug)]
pub(super) struct Refusal(Box<JsonRpcError>);

impl Refusal {
    fn new(id: Option<RequestId>, error: ErrorData) -> Self {
        Self(Box::new(JsonRpcError::new(id, error)))
    }

    fn unreadable(problem: Problem) -> Self {
        Self::new(None, ErrorData::parse_error(problem.detail, None))
    }

    fn too_large(id: Option<RequestId>) -> Self {
        let words =
            format!("Beside a tool's arguments a message has at most {BESIDE_ARGUMENTS_MAX} bytes");
        Self::new(id, ErrorData::invalid_request(words, None))
    }

    /// The message is JSON, but not a message.
    pub(super) fn no_message(id: Option<RequestId>) -> Self {
        let words = "The body has to be one JSON-RPC 2.0 request or notification";
        Self::new(id, ErrorData::invalid_request(words, None))
    }

    pub(super) fn reply(&self) -> Result<Reply, Problem> {
        Reply::json(StatusCode::BAD_REQUEST, &self.0)
    }
}
