//! Clients of the service over HTTP.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::time::{Instant, timeout};

pub(crate) use crate::call::Call;

/// How long a client waits for an answer. Nothing that the service does takes as long.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Null if it is not JSON.
    pub(crate) body: Value,
    pub(crate) sent: Instant,
    pub(crate) received: Instant,
}

impl Answer {
    pub(crate) fn took(&self) -> Duration {
        self.received - self.sent
    }

    /// The member `name` of the body, which is a text.
    pub(crate) fn text(&self, name: &str) -> String {
        let text = self.body[name].as_str();
        text.unwrap_or_else(|| panic!("{self:?} has no {name}"))
            .to_owned()
    }

    /// The count of a policy as `RateLimit-Policy` shows it.
    pub(crate) fn quota(&self, policy: &str) -> u32 {
        let shown = self.headers["ratelimit-policy"].to_str().unwrap();
        let (_, rest) = shown
            .split_once(&format!("\"{policy}\";q="))
            .unwrap_or_else(|| panic!("no {policy} in {shown}"));
        rest.split(';').next().unwrap().parse().unwrap()
    }

    pub(crate) fn cookie(&self) -> String {
        let cookie = self.headers["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}

/// A client that keeps its connections alive. Clones share them.
#[derive(Clone)]
pub(crate) struct Client(legacy::Client<HttpConnector, Full<Bytes>>);

impl Client {
    pub(crate) fn new() -> Self {
        Self(legacy::Client::builder(TokioExecutor::new()).build_http())
    }

    /// Sends a request to `address`, as `IP:PORT`. An error is a request without an answer.
    pub(crate) async fn try_send(&self, address: &str, call: &Call) -> Result<Answer, String> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(format!("http://{address}{}", call.path))
            // The tests are a trusted proxy.
            .header("x-forwarded-for", call.peer.to_string());
        for (name, value) in call.headers.iter().filter(|(name, _)| name != "host") {
            request = request.header(name, value.as_slice());
        }
        let request = request.body(Full::new(call.body.clone())).unwrap();
        let sent = Instant::now();
        let exchange = async {
            let answer = self.0.request(request).await;
            let (head, body) = answer.map_err(|error| format!("{error:?}"))?.into_parts();
            let body = body.collect().await.map_err(|error| format!("{error:?}"))?;
            Ok(Answer {
                status: head.status.as_u16(),
                headers: head.headers,
                body: serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
                sent,
                received: Instant::now(),
            })
        };
        let answer = timeout(PATIENCE, exchange).await;
        answer.unwrap_or_else(|_| Err(format!("no answer within {PATIENCE:?}")))
    }

    pub(crate) async fn status(&self, address: &str, call: &Call) -> u16 {
        self.send(address, call).await.status
    }

    pub(crate) async fn mint(&self, address: &str) -> String {
        self.send(address, &Call::mint()).await.text("api_key")
    }

    pub(crate) async fn send(&self, address: &str, call: &Call) -> Answer {
        let answer = self.try_send(address, call).await;
        answer.unwrap_or_else(|error| panic!("{call:?}: {error}"))
    }
}

/// Has `count` clients do `work` at once, each with its number and connections of its own. Returns what
/// came of it, in their order.
pub(crate) async fn at_once<T, F>(count: usize, work: impl Fn(usize, Client) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let clients = (0..count).map(|number| tokio::spawn(work(number, Client::new())));
    let clients: Vec<_> = clients.collect();
    let mut done = Vec::new();
    for client in clients {
        done.push(client.await.unwrap());
    }
    done
}
