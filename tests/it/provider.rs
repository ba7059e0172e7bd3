//! A server that does as it is told, on a socket of its own: it answers with bytes, whatever they are, as a webhook's
//! receiver or as a model.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// The bytes that answer a request, and what becomes of the connection.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The body in chunks ends, and the next request may come.
    GoOn,
    Close,
    Hold,
    /// The same bytes again and again.
    Repeat,
    /// A body in chunks goes on with a blank a second.
    Drip,
    /// The bytes are sent before any request, and nothing is read.
    Greet,
    /// No connection is taken.
    Refuse,
}

impl Script {
    fn with(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        let bytes = bytes.into();
        Self { bytes, then }
    }

    /// The connection ends behind these bytes.
    pub(crate) fn closing(bytes: impl Into<Vec<u8>>) -> Self {
        Self::with(bytes, Then::Close)
    }

    /// A response with these lines in its head, and the length of `body`; the last one of its connection.
    pub(crate) fn response(head: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head = format!("HTTP/1.1 {head}Connection: close\r\nContent-Length: {length}\r\n\r\n");
        Self::closing([head.as_bytes(), body].concat())
    }

    /// A response in these chunks.
    pub(crate) fn chunked(status: u16, media_type: &str, chunks: &[String]) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: {media_type}\r\n");
        let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
        }
        Self::with(bytes, Then::GoOn)
    }

    /// The same with a line more in its head.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let mut ends = self.bytes.windows(2);
        let at = ends.position(|end| end == b"\r\n").unwrap() + 2;
        let line = format!("{name}: {value}\r\n");
        self.bytes.splice(at..at, line.into_bytes());
        self
    }

    pub(crate) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }

    /// A response with this status and no body; a redirect leads to itself.
    pub(crate) fn answer(status: u16) -> Self {
        Self::response(&format!("{status} X\r\nLocation: /elsewhere\r\n"), "")
    }

    /// The connection stays open behind these bytes.
    pub(crate) fn holding(bytes: impl Into<Vec<u8>>) -> Self {
        Self::with(bytes, Then::Hold)
    }

    /// These bytes without end.
    pub(crate) fn repeating(bytes: &str) -> Self {
        Self::with(bytes.repeat(100), Then::Repeat)
    }

    /// Greets like a mail server: neither HTTP nor TLS.
    pub(crate) fn greeting() -> Self {
        Self::with("220 mail.example ESMTP\r\n", Then::Greet)
    }

    pub(crate) fn refusing() -> Self {
        Self::with("", Then::Refuse)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(header, _)| header == name);
        let value = named.next().map(|(_, value)| value.as_str());
        assert!(named.next().is_none(), "{name} came twice");
        value
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The request in these bytes, once it has a head and as much of a body as that says.
    fn read(bytes: &[u8]) -> Option<Self> {
        let at = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
        let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ').map(str::to_owned);
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let request = Self {
            method: first.next()?,
            target: first.next()?,
            headers: headers.collect(),
            body: bytes[at + 4..].to_vec(),
        };
        let length = request.header("content-length").unwrap_or("0");
        (request.body.len() >= length.parse().unwrap()).then_some(request)
    }
}

/// The server; it takes no connections once this value is gone.
pub(crate) struct Provider {
    address: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

/// Makes the script of a request.
type Answer = dyn Fn(&Received) -> Script + Send + Sync;

struct State {
    scripts: Mutex<VecDeque<Script>>,
    /// In place of scripts that were written before.
    answer: Option<Box<Answer>>,
    requests: Mutex<Vec<Received>>,
    /// One for each request that has come.
    arrivals: Semaphore,
    /// One for each connection that has ended.
    ended: Semaphore,
}

impl State {
    /// The script of the next request; the last one is that of all that follow.
    fn next(&self) -> Script {
        let mut scripts = self.scripts.lock().unwrap();
        match scripts.len() {
            1 => scripts[0].clone(),
            _ => scripts.pop_front().unwrap(),
        }
    }

    fn is_next(&self, then: Then) -> bool {
        let scripts = self.scripts.lock().unwrap();
        scripts.front().is_some_and(|script| script.then == then)
    }
}

impl Provider {
    /// Answers as `scripts` say, one after the other, and then like the last of them.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::start_with(scripts, None).await
    }

    pub(crate) async fn start_with(
        scripts: impl IntoIterator<Item = Script>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        Self::start_on(scripts.into_iter().collect(), None, tls).await
    }

    /// Answers each request as `answer` says.
    pub(crate) async fn answering(
        answer: impl Fn(&Received) -> Script + Send + Sync + 'static,
        tls: TlsAcceptor,
    ) -> Self {
        Self::start_on(VecDeque::new(), Some(Box::new(answer)), Some(tls)).await
    }

    async fn start_on(
        scripts: VecDeque<Script>,
        answer: Option<Box<Answer>>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            scripts: Mutex::new(scripts),
            answer,
            requests: Mutex::default(),
            arrivals: Semaphore::new(0),
            ended: Semaphore::new(0),
        });
        let accepting = tokio::spawn(accept(listener, tls, Arc::clone(&state)));
        Self {
            address,
            state,
            accepting,
        }
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// From now on it answers like this.
    pub(crate) fn script(&self, scripts: impl IntoIterator<Item = Script>) {
        *self.state.scripts.lock().unwrap() = scripts.into_iter().collect();
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(crate) async fn wait_until_asked(&self) {
        self.state.arrivals.acquire().await.unwrap().forget();
    }

    /// Waits until one more connection has ended.
    pub(crate) async fn wait_until_left(&self) {
        self.state.ended.acquire().await.unwrap().forget();
    }

    pub(crate) fn connections_ended(&self) -> usize {
        self.state.ended.available_permits()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    while !state.is_next(Then::Refuse) {
        let (stream, _) = listener.accept().await.unwrap();
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        tokio::spawn(async move {
            match tls {
                None => serve(stream, &state).await,
                Some(tls) => {
                    // A client that does not trust us ends the handshake.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, &state).await;
                    }
                }
            }
            state.ended.add_permits(1);
        });
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: &State) {
    let mut bytes = Vec::new();
    loop {
        let mut answer = None;
        while !state.is_next(Then::Greet) {
            if let Some(request) = Received::read(&bytes) {
                answer = state.answer.as_ref().map(|answer| answer(&request));
                state.requests.lock().unwrap().push(request);
                break;
            }
            if !matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        }
        bytes.clear();
        let mut script = answer.unwrap_or_else(|| state.next());
        state.arrivals.add_permits(1);
        if script.then == Then::GoOn {
            // At once: a clock that stands still would go on in between.
            script.bytes.extend(b"0\r\n\r\n");
        }
        let mut written = stream.write_all(&script.bytes).await;
        match script.then {
            Then::GoOn => {}
            Then::Close | Then::Greet | Then::Refuse => return,
            Then::Hold => {
                let _flushed = stream.flush().await;
                let _gone = stream.read_to_end(&mut bytes).await;
                return;
            }
            Then::Repeat => {
                while written.is_ok() {
                    written = stream.write_all(&script.bytes).await;
                }
            }
            Then::Drip => {
                while written.is_ok() {
                    sleep(Duration::from_secs(1)).await;
                    written = stream.write_all(b"1\r\n \r\n").await;
                }
            }
        }
        if written.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}
