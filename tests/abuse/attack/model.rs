//! A model that is slow and costs money.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::bodies::home;
use super::harness::{ATTACKER, PROXY, Pace, STRANGER, Trial, Verdict};
use super::wire::{Wire, chat, forwarded_for};
use crate::Run;

/// What the model answers at once; to anything else it says nothing for long.
const QUICK: &str = "a quick question";
const SLOW: &str = "a long story";

/// A server of the chat API of OpenAI.
struct FakeModel {
    address: SocketAddr,
    /// Turns that it works on.
    working: Arc<AtomicUsize>,
}

/// Counts a turn as long as it lives: hyper drops the answer of a client that has gone.
struct Working(Arc<AtomicUsize>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl FakeModel {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let working = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&working);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let counter = Arc::clone(&counter);
                let answer = service_fn(move |request| answer(request, Arc::clone(&counter)));
                tokio::spawn(async move {
                    // It ends as its client likes.
                    let io = TokioIo::new(stream);
                    let _ = http1::Builder::new().serve_connection(io, answer).await;
                });
            }
        });
        Self { address, working }
    }

    fn working(&self) -> usize {
        self.working.load(Ordering::Relaxed)
    }

    /// The flag that names it.
    fn flag(&self) -> String {
        format!("--model-url=http://{}/v1", self.address)
    }
}

async fn answer(
    request: Request<Incoming>,
    counter: Arc<AtomicUsize>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    counter.fetch_add(1, Ordering::Relaxed);
    let _working = Working(counter);
    let asked = request.into_body().collect().await;
    let asked = asked.map(|body| body.to_bytes()).unwrap_or_default();
    if !String::from_utf8_lossy(&asked).contains(QUICK) {
        sleep(Duration::from_secs(300)).await;
    }
    let answer = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}"#;
    let mut response = Response::new(Full::from(answer));
    let json = "application/json".parse().unwrap();
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

/// 64 turns of one address, which waits for all of them, and then hangs up on as many as it can.
pub(crate) async fn places(run: Run) -> Verdict {
    const SHARE: usize = 8;
    let model = FakeModel::start().await;
    let trial = Trial::begin(&[
        &model.flag(),
        "--model=fake",
        "--limit=assistant-ip=off",
        "--limit=default=off",
    ])
    .await;
    let mut waiting = Vec::new();
    for _ in 0..64 {
        let mut wire = trial.connect(ATTACKER).await;
        wire.send(chat("", SLOW)).await.unwrap();
        waiting.push(wire);
    }
    let mut pace = Pace::of(100);
    while pace.is_within(run.length()) {
        pace.step().await;
        let mut wire = trial.connect(ATTACKER).await;
        wire.send(chat("", SLOW)).await.unwrap();
        assert!(model.working() <= SHARE, "{} turns", model.working());
    }
    ask(&trial, "the next visitor").await;
    drop(waiting);
    let freed = timeout(Duration::from_secs(5), async {
        while model.working() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    });
    freed.await.expect("a turn ends with its client");
    let mut wire = trial.connect(ATTACKER).await;
    let answer = wire.ask(chat("", QUICK)).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    drop(wire);
    trial.end().await
}

/// A stranger's question is answered.
async fn ask(trial: &Trial, who: &str) {
    let mut wire = trial.connect(STRANGER).await;
    let answer = wire.ask(chat("", QUICK)).await.unwrap();
    assert_eq!(answer.status, 200, "{who}: {}", answer.body);
}

/// The /64s of one home ask for what everybody may cost in a day.
pub(crate) async fn bill(run: Run) -> Verdict {
    /// What `assistant-ip` grants.
    const MOST: usize = 200;
    let model = FakeModel::start().await;
    let trial = Trial::begin(&[&model.flag(), "--model=fake"]).await;
    let mut pace = Pace::of(200);
    let mut wire: Option<Wire> = None;
    let mut answered = 0;
    for number in 0..run.of(800, 8000) {
        pace.step().await;
        let connection = match &mut wire {
            Some(wire) => wire,
            none => none.insert(trial.connect(PROXY).await),
        };
        let forwarded = forwarded_for(home(number));
        let answer = connection.ask(chat(&forwarded, QUICK)).await.unwrap();
        match answer.status {
            200 => answered += 1,
            429 => assert!(answer.body.contains("assistant-ip"), "{}", answer.body),
            _ => panic!("{}", answer.body),
        }
    }
    assert_eq!(answered, MOST, "a home has what one client has");
    ask(&trial, "somebody else").await;
    drop(wire);
    trial.end().await
}
