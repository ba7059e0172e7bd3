//! Requests, whoever sends them.

use std::net::IpAddr;

use hyper::Method;
use hyper::body::Bytes;
use serde_json::json;

/// The visitor that requests come from unless another is named.
pub(crate) const VISITOR: &str = "192.0.2.1";

/// A request to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) peer: IpAddr,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            peer: VISITOR.parse().unwrap(),
            headers: vec![("host".to_owned(), b"landing.example".to_vec())],
            body: Bytes::new(),
        }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn head(path: &str) -> Self {
        Self::new(Method::HEAD, path)
    }

    pub(crate) fn health() -> Self {
        Self::get("/api/v1/health")
    }

    pub(crate) fn sign_up(email: &str) -> Self {
        Self::post("/api/v1/newsletter", json!({ "email": email }).to_string())
    }

    pub(crate) fn echo() -> Self {
        Self::post("/api/v1/sandbox/echo", r#"{"message":"hello"}"#)
    }

    pub(crate) fn chat() -> Self {
        Self::question("hello")
    }

    pub(crate) fn question(text: &str) -> Self {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        Self::post("/api/v1/assistant/chat", body.to_string())
    }

    pub(crate) fn mint() -> Self {
        Self::post("/api/v1/keys", "{}")
    }

    pub(crate) fn register() -> Self {
        Self::post("/agent/auth", r#"{"type":"anonymous"}"#)
    }

    pub(crate) fn revocation(token: &str) -> Self {
        Self::form("/agent/auth/revoke", format!("token={token}"))
    }

    /// A browser asks whether a page of `origin` may POST JSON to `path`.
    pub(crate) fn preflight(path: &str, origin: &str) -> Self {
        Self::new(Method::OPTIONS, path)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type")
    }

    /// A POST of JSON, written by hand.
    pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Self {
        let mut call = Self::new(Method::POST, path).header("content-type", "application/json");
        call.body = body.into();
        call
    }

    /// A POST of a form, written by hand.
    pub(crate) fn form(path: &str, body: impl Into<Bytes>) -> Self {
        Self::post(path, body).typed("application/x-www-form-urlencoded")
    }

    pub(crate) fn typed(self, media_type: &str) -> Self {
        self.without("content-type")
            .header("content-type", media_type)
    }

    pub(crate) fn to(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn from(mut self, peer: &str) -> Self {
        self.peer = peer.parse().unwrap();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let line = (name.to_owned(), value.as_ref().to_vec());
        self.headers.push(line);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| header != name);
        self
    }

    /// The same call with these values of a header, a line for each.
    pub(crate) fn headers<V: AsRef<[u8]>>(self, name: &str, values: &[V]) -> Self {
        let add = |call: Self, value| call.header(name, value);
        values.iter().fold(self, add)
    }

    pub(crate) fn bearer(self, credential: &str) -> Self {
        self.header("authorization", format!("Bearer {credential}"))
    }

    /// What a test that fails says of it.
    pub(crate) fn told(&self) -> String {
        let mut told = format!("{} {} from {}", self.method, self.path, self.peer);
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "host") {
            told += &format!(" [{name}: {:.80}]", String::from_utf8_lossy(value));
        }
        told + &format!(" {:.120}", String::from_utf8_lossy(&self.body))
    }
}
