//! An upstream that answers as its script says, and remembers what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    status: u16,
    headers: Vec<(&'static str, String)>,
    steps: Vec<Step>,
    /// Before the head.
    is_silent: bool,
    drops_connection: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(String),
    Wait(Duration),
    /// Never another byte.
    Hang,
    /// The connection breaks.
    Break,
}

impl Script {
    pub(crate) fn new(status: u16, media_type: &str, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type", media_type.to_owned())],
            steps: vec![Step::Send(body.into())],
            is_silent: false,
            drops_connection: false,
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// An answer as it should be.
    pub(crate) fn saying(text: &str) -> Self {
        let message = serde_json::json!({"role": "assistant", "content": text});
        Self::message(&message, "stop")
    }

    pub(crate) fn message(message: &Value, finish: &str) -> Self {
        let choice = serde_json::json!({"index": 0, "message": message, "finish_reason": finish});
        Self::json(
            200,
            &serde_json::json!({"object": "chat.completion", "choices": [choice]}),
        )
    }

    /// A stream of these events, and of nothing else.
    pub(crate) fn stream(events: impl IntoIterator<Item = String>) -> Self {
        let mut script = Self::new(200, "text/event-stream; charset=utf-8", "");
        script.steps = events
            .into_iter()
            .map(|event| Step::Send(format!("data: {event}\n\n")))
            .collect();
        script
    }

    /// Not even a head.
    pub(crate) fn silent() -> Self {
        let mut script = Self::saying("never");
        script.is_silent = true;
        script
    }

    /// The connection ends in place of a head.
    pub(crate) fn dropped() -> Self {
        let mut script = Self::saying("never");
        script.drops_connection = true;
        script
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// The data of a stream's chunk.
pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = serde_json::json!({"index": 0, "delta": delta, "finish_reason": finish});
    serde_json::json!({"object": "chat.completion.chunk", "choices": [choice]}).to_string()
}

/// A stream's chunk with this text.
pub(crate) fn piece(text: &str) -> String {
    chunk(&serde_json::json!({"content": text}), None)
}

/// The chunk that ends a whole answer.
pub(crate) fn end() -> String {
    chunk(&serde_json::json!({}), Some("stop"))
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Default)]
struct State {
    scripts: Mutex<VecDeque<Script>>,
    asked: Mutex<Vec<Asked>>,
}

/// The upstream, listening on loopback.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    /// One for each request that has come.
    pub(crate) arrivals: Arc<Semaphore>,
    /// One for each connection that has ended.
    pub(crate) ended: Arc<Semaphore>,
}

impl Upstream {
    /// Answers as `scripts` say, one after the other, and then like the last of them.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::start_with(scripts, None).await
    }

    pub(crate) async fn start_with(
        scripts: impl IntoIterator<Item = Script>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = Self {
            address,
            state: Arc::new(State {
                scripts: Mutex::new(scripts.into_iter().collect()),
                ..State::default()
            }),
            arrivals: Arc::new(Semaphore::new(0)),
            ended: Arc::new(Semaphore::new(0)),
        };
        let (state, arrivals, ended) = (
            upstream.state.clone(),
            upstream.arrivals.clone(),
            upstream.ended.clone(),
        );
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (state, arrivals) = (state.clone(), arrivals.clone());
                let (tls, ended) = (tls.clone(), ended.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, state, arrivals).await,
                        Some(tls) => {
                            // A client that does not trust us ends the handshake.
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, state, arrivals).await;
                            }
                        }
                    }
                    ended.add_permits(1);
                });
            }
        });
        upstream
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// From now on it answers like this.
    pub(crate) fn script(&self, scripts: impl IntoIterator<Item = Script>) {
        *self.state.scripts.lock().unwrap() = scripts.into_iter().collect();
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) async fn wait_until_asked(&self) {
        self.arrivals.acquire().await.unwrap().forget();
    }
}

async fn serve<S>(stream: S, state: Arc<State>, arrivals: Arc<Semaphore>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request| answer(request, state.clone(), arrivals.clone()));
    // It ends as the script or the client likes.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
    arrivals: Arc<Semaphore>,
) -> Result<Response<ScriptedBody>, Broken> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    state.asked.lock().unwrap().push(Asked {
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let script = {
        let mut scripts = state.scripts.lock().unwrap();
        if scripts.len() > 1 {
            scripts.pop_front().unwrap()
        } else {
            scripts.front().unwrap().clone()
        }
    };
    arrivals.add_permits(1);
    if script.is_silent {
        std::future::pending::<Infallible>().await;
    }
    if script.drops_connection {
        return Err(Broken);
    }
    let mut response = Response::builder().status(script.status);
    for (name, value) in &script.headers {
        response = response.header(*name, value);
    }
    let body = ScriptedBody {
        steps: script.steps.into(),
        waiting: None,
        has_flushed: false,
    };
    Ok(response.body(body).unwrap())
}

#[derive(Debug, thiserror::Error)]
#[error("as the script says")]
struct Broken;

struct ScriptedBody {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
    has_flushed: bool,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                std::task::ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Send(text)) => {
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
                }
                Some(Step::Wait(time)) => self.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                // What was sent before has to leave first.
                Some(Step::Break) if !self.has_flushed => {
                    self.has_flushed = true;
                    self.steps.push_front(Step::Break);
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Break) => return Poll::Ready(Some(Err(Broken))),
            }
        }
    }
}
