//! The commands of WebDriver (W3C) that the tests send.

use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustix::process::Pid;
use serde_json::{Value, json};
use url::Url;

/// The member that holds the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// The driver's words, or why it could not be asked.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// A session of a driver: one browser.
#[derive(Clone)]
pub(crate) struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    session: String,
    /// The browser's process.
    pub(crate) process: Option<Pid>,
}

impl Client {
    /// Opens a browser with `capabilities` at the driver of `url`.
    pub(crate) async fn open(url: &str, capabilities: Value) -> Self {
        let mut client = Self {
            http: legacy::Client::builder(TokioExecutor::new()).build_http(),
            session: format!("{url}/session"),
            process: None,
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let opened = client.post("", wanted).await;
        let id = opened["sessionId"].as_str().expect("a session without id");
        client.session = format!("{}/{id}", client.session);
        let process = opened["capabilities"]["goog:processID"].as_i64();
        client.process = Pid::from_raw(process.unwrap().try_into().unwrap());
        client
    }

    pub(crate) async fn close(&self) {
        self.send(Method::DELETE, "", None).await.unwrap();
    }

    pub(crate) async fn goto(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    pub(crate) async fn back(&self) {
        self.post("/back", json!({})).await;
    }

    pub(crate) async fn refresh(&self) {
        self.post("/refresh", json!({})).await;
    }

    pub(crate) async fn current_url(&self) -> Url {
        Url::parse(&self.get_text("/url").await).unwrap()
    }

    pub(crate) async fn title(&self) -> String {
        self.get_text("/title").await
    }

    /// A picture of the window, as PNG.
    pub(crate) async fn screenshot(&self) -> Vec<u8> {
        STANDARD.decode(self.get_text("/screenshot").await).unwrap()
    }

    /// The handles of all windows.
    pub(crate) async fn windows(&self) -> Vec<String> {
        serde_json::from_value(self.get("/window/handles").await).unwrap()
    }

    pub(crate) async fn switch_to_window(&self, handle: &str) {
        self.post("/window", json!({ "handle": handle })).await;
    }

    /// The frame of this index in the page, from 0.
    pub(crate) async fn enter_frame(&self, index: u16) {
        self.post("/frame", json!({ "id": index })).await;
    }

    pub(crate) async fn execute(&self, script: &str) -> Value {
        let body = json!({ "script": script, "args": [] });
        self.post("/execute/sync", body).await
    }

    /// The script's last argument is the function that takes the result.
    pub(crate) async fn execute_async(&self, script: &str) -> Result<Value, Failure> {
        let body = json!({ "script": script, "args": [] });
        self.send(Method::POST, "/execute/async", Some(body)).await
    }

    /// The first element that the CSS selector finds.
    pub(crate) async fn find(&self, selector: &str) -> Element {
        let body = json!({ "using": "css selector", "value": selector });
        let found = self.post("/element", body).await;
        self.element(&found).unwrap()
    }

    /// The element that a script gave back.
    pub(crate) fn element(&self, found: &Value) -> Option<Element> {
        let path = format!("/element/{}", found.get(ELEMENT)?.as_str()?);
        let client = self.clone();
        Some(Element { client, path })
    }

    async fn get_text(&self, path: &str) -> String {
        serde_json::from_value(self.get(path).await).unwrap()
    }

    async fn get(&self, path: &str) -> Value {
        let got = self.send(Method::GET, path, None).await;
        got.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Sends a command, also one that only this driver knows.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let posted = self.send(Method::POST, path, Some(body.clone())).await;
        posted.unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Failure> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.session))
            .header("content-type", "application/json")
            .body(Full::from(body))?;
        let answer = self.http.request(request).await?;
        let is_done = answer.status().is_success();
        let answer = answer.into_body().collect().await?.to_bytes();
        let mut answer: Value = serde_json::from_slice(&answer)?;
        let value = answer["value"].take();
        if is_done {
            Ok(value)
        } else {
            Err(format!("{}: {}", value["error"], value["message"]).into())
        }
    }
}

/// An element of the page that was shown when it was found.
pub(crate) struct Element {
    client: Client,
    path: String,
}

impl Element {
    /// The text that is seen.
    pub(crate) async fn text(&self) -> String {
        self.client.get_text(&format!("{}/text", self.path)).await
    }

    pub(crate) async fn is_displayed(&self) -> bool {
        let shown = self.client.get(&format!("{}/displayed", self.path)).await;
        shown.as_bool().unwrap()
    }

    pub(crate) async fn click(&self) {
        self.act("click", json!({})).await;
    }

    pub(crate) async fn clear(&self) {
        self.act("clear", json!({})).await;
    }

    pub(crate) async fn send_keys(&self, text: &str) {
        self.act("value", json!({ "text": text })).await;
    }

    async fn act(&self, action: &str, body: Value) {
        let path = format!("{}/{action}", self.path);
        self.client.post(&path, body).await;
    }
}
