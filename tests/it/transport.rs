//! What happens on the socket: framing, deadlines, caps. Time is paused where a deadline is
//! what is tested, so that nothing waits for real.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use landing_api::domain::chat::Conversation;
use landing_api::http::server::{Listeners, STOP_GRACE, ServerLimits, serve};
use landing_api::http::service::LandingService;
use landing_api::ports::{AnswerSink, ModelClient, ModelError, ModelReply};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

use crate::harness::{PanickingModelClient, Setup, TestApp};

pub(crate) const HEALTH: &str = "GET /api/v1/health HTTP/1.1\r\nHost: landing.example\r\n\r\n";

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    /// What a second signal cancels.
    pub(crate) interrupt: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    pub(crate) service: Arc<LandingService>,
    pub(crate) app: TestApp,
}

impl Server {
    pub(crate) async fn start(setup: Setup, limits: ServerLimits) -> Self {
        Self::start_with(setup, limits, CancellationToken::new()).await
    }

    /// A server whose clients of others have `interrupt`, too.
    pub(crate) async fn start_with(
        setup: Setup,
        limits: ServerLimits,
        interrupt: CancellationToken,
    ) -> Self {
        Self::start_on(setup, limits, interrupt, plain).await
    }

    pub(crate) async fn start_tls(
        setup: Setup,
        limits: ServerLimits,
        tls: Arc<ServerConfig>,
    ) -> Self {
        let listeners = |web| Listeners {
            tls: Some(tls),
            ..plain(web)
        };
        Self::start_on(setup, limits, CancellationToken::new(), listeners).await
    }

    /// A server whose address sends clients to its base URL.
    pub(crate) async fn start_redirecting(setup: Setup, limits: ServerLimits) -> Self {
        let web = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listeners = |redirect| Listeners {
            redirect: Some(redirect),
            further_names: vec!["www.landing.example".to_owned()],
            ..plain(web)
        };
        Self::start_on(setup, limits, CancellationToken::new(), listeners).await
    }

    /// A server on what is made of a new listener, whose address is the server's.
    async fn start_on(
        setup: Setup,
        limits: ServerLimits,
        interrupt: CancellationToken,
        listeners: impl FnOnce(TcpListener) -> Listeners,
    ) -> Self {
        let app = setup.start();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let service = Arc::clone(&app.service);
        let listeners = listeners(listener);
        let (served, interrupted) = (Arc::clone(&service), interrupt.clone());
        let serving = serve(listeners, served, limits, stopped, interrupted);
        let task = tokio::spawn(serving);
        Self {
            address,
            stop: Some(stop),
            interrupt,
            task,
            service,
            app,
        }
    }

    pub(crate) async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).await;
        Connection(BufReader::new(stream.unwrap()))
    }

    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

/// A socket that speaks plain HTTP, alone.
fn plain(web: TcpListener) -> Listeners {
    Listeners {
        web,
        tls: None,
        redirect: None,
        further_names: Vec::new(),
    }
}

fn behind_proxies() -> Setup {
    Setup::default().behind(&["127.0.0.0/8"])
}

/// So many connections.
pub(crate) fn up_to(connections_max: usize) -> ServerLimits {
    ServerLimits {
        connections_max,
        ..ServerLimits::default()
    }
}

pub(crate) async fn server() -> Server {
    Server::start(Setup::default(), ServerLimits::default()).await
}

type Http2Sender = SendRequest<Empty<Bytes>>;
type Http2Connection = http2::Connection<TokioIo<TcpStream>, Empty<Bytes>, TokioExecutor>;

/// An HTTP/2 connection of hyper's client.
pub(crate) async fn connect_http_2(server: &Server) -> (Http2Sender, Http2Connection) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    handshake.await.unwrap()
}

pub(crate) struct Connection(pub(crate) BufReader<TcpStream>);

impl Connection {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// The next answer: status, head and body.
    pub(crate) async fn receive(&mut self) -> (u16, String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let count = self.0.read_line(&mut head).await.unwrap();
            assert!(count > 0, "the connection ended: {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        (status, head, String::from_utf8(body).unwrap())
    }

    pub(crate) async fn check_health(&mut self) {
        self.send(HEALTH).await;
        assert_eq!(self.receive().await.0, 200);
    }

    /// Everything until the server closes; a reset counts as closing.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest).await;
        rest
    }
}

pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: landing.example\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn hello() -> String {
    post(
        "/api/v1/assistant/chat",
        r#"{"messages":[{"role":"user","content":"hello"}]}"#,
    )
}

/// A model that answers when it is let, and tells when it has been asked.
pub(crate) struct WaitingModelClient {
    asked: Semaphore,
    let_answer: Semaphore,
}

impl WaitingModelClient {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            asked: Semaphore::new(0),
            let_answer: Semaphore::new(0),
        })
    }

    pub(crate) async fn wait_until_asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }

    pub(crate) fn let_answer(&self) {
        self.let_answer.add_permits(1);
    }
}

#[async_trait]
impl ModelClient for WaitingModelClient {
    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        _conversation: &Conversation,
        _sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        self.asked.add_permits(1);
        self.let_answer.acquire().await.unwrap().forget();
        Ok("At last.".to_owned().into())
    }
}

/// A server with one turn for each address, and its model.
pub(crate) async fn waiting_server(limits: ServerLimits) -> (Server, Arc<WaitingModelClient>) {
    let model = WaitingModelClient::new();
    let setup = Setup::with_model(model.clone()).limit("assistant-ip", "1/24h");
    (Server::start(setup, limits).await, model)
}

/// The same, and a connection whose `request` the model has been asked to answer.
pub(crate) async fn waiting_turn(
    request: String,
    limits: ServerLimits,
) -> (Server, Arc<WaitingModelClient>, Connection) {
    let (server, model) = waiting_server(limits).await;
    let mut connection = server.connect().await;
    connection.send(request).await;
    model.wait_until_asked().await;
    (server, model, connection)
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = server().await;
    let mut connection = server.connect().await;
    let echo = post("/api/v1/sandbox/echo", r#"{"message":"second"}"#);
    connection.send(format!("{HEALTH}{echo}{HEALTH}")).await;
    assert!(connection.receive().await.2.contains("\"service\""));
    assert!(connection.receive().await.2.contains("second"));
    assert!(connection.receive().await.2.contains("\"service\""));
}

#[tokio::test]
async fn http_2_is_spoken_with_prior_knowledge() {
    let server = server().await;
    let (mut sender, connection) = connect_http_2(&server).await;
    tokio::spawn(connection);
    for method in ["GET", "HEAD", "GET"] {
        let request = Request::builder()
            .method(method)
            .uri("http://landing.example/api/v1/health")
            .body(Empty::<Bytes>::new())
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.headers().contains_key("ratelimit"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.is_empty(), method == "HEAD");
    }
}

#[tokio::test]
async fn head_has_no_body_on_the_wire() {
    let server = server().await;
    let mut connection = server.connect().await;
    let head = HEALTH.replacen("GET", "HEAD", 1);
    connection.send(format!("{head}{HEALTH}")).await;
    let mut text = vec![0; 12];
    connection.0.read_exact(&mut text).await.unwrap();
    assert_eq!(text, b"HTTP/1.1 200");
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        connection.0.read_line(&mut line).await.unwrap();
    }
    assert_eq!(connection.receive().await.0, 200, "the next answer follows");
}

#[tokio::test]
async fn heads_that_are_no_http_are_refused_before_they_are_requests() {
    // Not a byte more, or the unread rest resets the connection under the answer.
    let long = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(16_384 - 19));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200));
    for (head, status) in [
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        (long, "HTTP/1.1 431"),
        (many, "HTTP/1.1 431"),
    ] {
        let server = server().await;
        let mut connection = server.connect().await;
        connection.send(head).await;
        let rest = connection.rest().await;
        assert!(rest.starts_with(status.as_bytes()), "{status}");
    }
}

#[tokio::test]
async fn a_head_has_at_most_a_hundred_headers() {
    for (further, status) in [(99, "HTTP/1.1 200"), (100, "HTTP/1.1 431")] {
        let server = server().await;
        let mut connection = server.connect().await;
        let further = "x: y\r\n".repeat(further - 1);
        let end = format!("\r\nConnection: close\r\n{further}\r\n");
        connection.send(HEALTH.replace("\r\n\r\n", &end)).await;
        let rest = connection.rest().await;
        assert!(rest.starts_with(status.as_bytes()), "{status}");
    }
}

#[tokio::test]
async fn a_refused_request_with_a_body_keeps_its_connection() {
    let server = server().await;
    let mut connection = server.connect().await;
    let head = "POST /nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "5\r\nhello\r\n0\r\n\r\n";
    connection.send([head, body].concat()).await;
    assert_eq!(connection.receive().await.0, 404);
    connection.check_health().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_or_half_a_head_or_idles_is_closed() {
    for said in [
        "",
        "P",
        "PR",
        "GET /api/v1/health HTTP/1.1\r\nHost:",
        HEALTH,
    ] {
        let server = server().await;
        let began = Instant::now();
        let mut connection = server.connect().await;
        connection.send(said).await;
        if said == HEALTH {
            assert_eq!(connection.receive().await.0, 200);
        }
        assert_eq!(connection.rest().await, b"", "{said:?}");
        let deadline = ServerLimits::default().idle_deadline + 2 * STOP_GRACE;
        assert!(began.elapsed() <= deadline, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_too_slowly_is_408() {
    let server = server().await;
    let mut connection = server.connect().await;
    let request = post("/api/v1/sandbox/echo", r#"{"message":"never whole"}"#);
    connection.send(&request[..request.len() - 1]).await;
    let (status, _, body) = connection.receive().await;
    assert_eq!(status, 408);
    assert!(body.contains("request_timeout"));
    assert_eq!(connection.rest().await, b"");
}

/// A sign-up whose body has this framing.
fn chunked(body: &str) -> String {
    format!(
        "POST /api/v1/newsletter HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_however_it_is_framed() {
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    let chunked = chunked(&format!("{}0\r\n\r\n", chunk.repeat(3)));
    let announced = post("/api/v1/newsletter", &" ".repeat(9_000));
    for request in [chunked, announced] {
        let server = server().await;
        let mut connection = server.connect().await;
        connection.send(request).await;
        let (status, head, body) = connection.receive().await;
        assert_eq!(status, 413);
        assert!(head.contains("ratelimit: "));
        assert!(body.contains("payload_too_large"));
    }
}

#[tokio::test]
async fn a_body_with_broken_framing_is_400() {
    let server = server().await;
    let mut connection = server.connect().await;
    connection.send(chunked("nonsense\r\n")).await;
    let (status, _, body) = connection.receive().await;
    assert_eq!(status, 400);
    assert!(body.contains("malformed_body"));
}

#[tokio::test]
async fn expect_100_continue_is_answered() {
    let server = server().await;
    let mut connection = server.connect().await;
    let body = r#"{"message":"waited"}"#;
    let request =
        post("/api/v1/sandbox/echo", body).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    connection.send(request.strip_suffix(body).unwrap()).await;
    assert_eq!(connection.receive().await.0, 100);
    connection.send(body).await;
    assert!(connection.receive().await.2.contains("waited"));
}

#[tokio::test]
async fn a_panic_leaves_the_connection_alive() {
    let setup = Setup::with_model(Arc::new(PanickingModelClient));
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(hello()).await;
    assert_eq!(connection.receive().await.0, 500);
    connection.check_health().await;
}

#[tokio::test]
async fn a_turn_stays_charged_when_the_client_hangs_up() {
    for asked in [hello(), crate::mcp::ask_on_the_wire()] {
        for is_half in [false, true] {
            let (server, model, mut connection) =
                waiting_turn(asked.clone(), ServerLimits::default()).await;
            if is_half {
                connection.0.get_mut().shutdown().await.unwrap();
                assert_eq!(connection.rest().await, b"", "nobody waits for an answer");
            }
            drop(connection);
            model.let_answer();
            let mut connection = server.connect().await;
            connection.send(&asked).await;
            let (_, head, body) = connection.receive().await;
            assert!(head.contains("ratelimit: \"assistant-ip\";r=0"), "{head}");
            assert!(body.contains("rate_limited"), "{body}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_cut_ends_the_connection_at_once() {
    for said in ["", "GET", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let server = server().await;
        let began = Instant::now();
        let mut connection = server.connect().await;
        connection.send(said).await;
        connection.0.get_mut().shutdown().await.unwrap();
        let rest = String::from_utf8(connection.rest().await).unwrap();
        let is_right = rest.is_empty() || rest.starts_with("HTTP/1.1 400");
        assert!(is_right, "{rest}");
        assert!(began.elapsed() < Duration::from_secs(1), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_past_its_deadline_is_503() {
    // Of a tool the result says so, and the door's limit is shown.
    let (hello, tool) = (hello(), crate::mcp::ask_on_the_wire());
    for (asked, expected, policy) in [(hello, 503, "assistant"), (tool, 200, "default")] {
        let (_server, _model, mut connection) = waiting_turn(asked, ServerLimits::default()).await;
        let (status, head, body) = connection.receive().await;
        assert_eq!(status, expected);
        assert!(head.contains(&format!("ratelimit: \"{policy}\"")), "{head}");
        assert!(body.contains("handler_timeout"), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_preface_holds_its_slot_no_longer_than_its_client() {
    let server = Server::start(behind_proxies(), up_to(1)).await;
    let mut gone = server.connect().await;
    gone.send("P").await;
    drop(gone);
    let began = Instant::now();
    let mut next = server.connect().await;
    next.check_health().await;
    assert!(began.elapsed() <= Duration::from_secs(1));
}

#[tokio::test]
async fn connections_of_proxies_beyond_the_cap_wait_their_turn() {
    let server = Server::start(behind_proxies(), up_to(1)).await;
    let mut first = server.connect().await;
    first.check_health().await;
    let mut second = server.connect().await;
    second.send(HEALTH).await;
    first.check_health().await;
    drop(first);
    assert_eq!(second.receive().await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_let_go() {
    let setup = behind_proxies().limit("default", "off").limit("ip", "off");
    let server = Server::start(setup, up_to(1)).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let requests = "GET /docs HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    // Until neither side's buffers take any more, or the server has had enough of it.
    loop {
        let writable = tokio::time::timeout(Duration::from_secs(20), stream.writable());
        if writable.await.is_err() {
            break;
        }
        match stream.try_write(requests.as_bytes()) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_closed) => break,
        }
    }
    // The only slot there is becomes free, although the first client has not gone.
    let began = Instant::now();
    let mut next = server.connect().await;
    next.check_health().await;
    assert!(began.elapsed() <= 2 * ServerLimits::default().idle_deadline);
}
