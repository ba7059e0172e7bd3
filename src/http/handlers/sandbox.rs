//! `POST /api/v1/sandbox/echo` returns a message and changes nothing; `GET` describes it.

use hyper::header::{ACCEPT, HeaderName, USER_AGENT};
use serde::Serialize;
use serde_json::json;

use crate::domain::EchoMessage;
use crate::http::endpoint::Handled::Now;
use crate::http::request::head::VERSION;
use crate::http::request::json;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;

pub(crate) const ECHO: Endpoint = Endpoint {
    name: "sandbox.echo",
    paths: PATHS,
    body: Some(BodyRule::json(64)),
    tool: Some((Tool::Echo, |context, arguments| {
        Now(echo(context, &arguments))
    })),
    ..Endpoint::post(|context, body| Now(echo(context, &body)))
};

pub(crate) const DESCRIBE_ECHO: Endpoint = Endpoint {
    name: "sandbox.describe",
    paths: PATHS,
    ..Endpoint::get(|_context, _body| Now(describe()))
};

const PATHS: &[&str] = &["/api/v1/sandbox/echo"];

fn echo(context: &RequestContext, body: &[u8]) -> Result<Reply, Problem> {
    let (message, echo_headers) = read_request(body)?;
    // All values of a header as one text, with bytes that aren't UTF-8 replaced.
    let shown = |name: HeaderName| {
        let values = context.headers().get_all(name).into_iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let values: Vec<_> = values.collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    Ok(Reply::ok(&SandboxEchoResponse {
        ok: true,
        sandbox: true,
        version: VERSION,
        echo: message.as_str(),
        received_at: context.now.to_rfc3339(),
        request_accept: echo_headers.then(|| shown(ACCEPT)).flatten(),
        request_user_agent: echo_headers.then(|| shown(USER_AGENT)).flatten(),
    }))
}

#[derive(Serialize)]
struct SandboxEchoResponse<'a> {
    ok: bool,
    sandbox: bool,
    version: &'a str,
    echo: &'a str,
    received_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_accept: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_user_agent: Option<String>,
}

/// Responds with a `SandboxEchoInfoResponse`.
fn describe() -> Result<Reply, Problem> {
    Ok(Reply::ok(&json!({
        "ok": true,
        "sandbox": true,
        "version": VERSION,
        "usage": "POST a JSON object with message (1 to 2000 characters) to this path; the response \
                  returns it as echo. With echo_headers set to true, the response also has the \
                  request's Accept and User-Agent headers. Nothing is stored.",
    })))
}

/// Reads a `SandboxEchoRequest`: its `message` and `echo_headers`.
fn read_request(body: &[u8]) -> Result<(EchoMessage, bool), Problem> {
    json::read(body, Unknown::Rejected, |object, errors| {
        let message = object.required("message", errors);
        let message = message.and_then(|value| value.parsed(errors, EchoMessage::parse));
        let echo_headers = object.optional("echo_headers");
        let echo_headers = echo_headers.and_then(|value| value.boolean(errors));
        Some((message?, echo_headers.unwrap_or(false)))
    })
}
