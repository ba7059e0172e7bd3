//! How the service stops: what has begun finishes, nothing new begins, and whoever cannot be waited
//! for is told so.

use http_body_util::{BodyExt as _, Empty};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::notify::direct_webhook;
use crate::openai::server_before;
use crate::openai::upstream::{Script, Upstream};
use crate::prelude::*;
use crate::transport::{connect_http_2, hello, post, server, waiting_server, waiting_turn};

const NEWSLETTER: &str = "/api/v1/newsletter";
const ADA: &str = r#"{"email":"ada@example.com"}"#;

/// The sign-up as an agent's tool makes it.
fn subscribe_tool() -> String {
    let params = format!(r#"{{"name":"subscribe_newsletter","arguments":{ADA}}}"#);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":PARAMS}"#;
    post("/mcp", &message.replace("PARAMS", &params))
}

/// A server before `provider`, and a connection whose `sign_up` the provider has been told of.
async fn waiting_sign_up(provider: &Provider, sign_up: String) -> (Server, Connection) {
    let setup = Setup::with_provider(Arc::new(direct_webhook(&provider.url("/"), None)));
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(sign_up).await;
    while provider.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    (server, connection)
}

/// A server before `upstream`, and a connection whose turn the upstream has been asked to answer.
async fn waiting_upstream(upstream: &Upstream, asked: String) -> (Server, Connection) {
    let server = server_before(upstream, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(asked).await;
    upstream.wait_until_asked().await;
    (server, connection)
}

fn draining_for(drain_deadline: Duration) -> ServerLimits {
    ServerLimits {
        drain_deadline,
        ..ServerLimits::default()
    }
}

/// Stops the server. Returns how long that took.
async fn stop(mut server: Server) -> Duration {
    let began = Instant::now();
    server.stop();
    server.task.await.unwrap();
    began.elapsed()
}

/// Stops the server, which waits until its deadline, or until its caller has no more patience. Then what it
/// waited for is answered with this code, and the visitor has back what this header shows.
async fn check_interrupted(
    (mut server, mut connection): (Server, Connection),
    deadline: Duration,
    patience: Option<Duration>,
    (code, left): (&str, &str),
) {
    let began = Instant::now();
    server.stop();
    if let Some(patience) = patience {
        sleep(patience).await;
        assert!(!server.task.is_finished());
        server.interrupt.cancel();
    }
    let (status, head, body) = connection.receive().await;
    let until = patience.unwrap_or(deadline);
    assert!(began.elapsed() >= until, "{code}");
    assert_eq!(status, 503);
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["code"], code);
    assert!(head.contains(left), "{head}");
    assert!(!head.contains("set-cookie"), "{head}");
    assert_eq!(connection.rest().await, b"");
    server.task.await.unwrap();
    assert!(began.elapsed() < until + Duration::from_secs(1), "{code}");
}

#[tokio::test]
async fn a_stop_lets_what_has_begun_finish_and_nothing_new_begin() {
    let (mut server, model) = waiting_server(ServerLimits::default()).await;
    let mut idle = server.connect().await;
    idle.check_health().await;
    let mut busy = server.connect().await;
    busy.send(hello()).await;
    model.wait_until_asked().await;

    server.stop();
    assert_eq!(idle.rest().await, b"", "idle connections are closed");
    assert!(TcpStream::connect(server.address).await.is_err());
    model.let_answer();
    let (status, _, body) = busy.receive().await;
    assert_eq!(status, 200);
    assert!(body.contains("At last."));
    server.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_turn_whose_client_has_gone() {
    for asked in [hello(), mcp::ask_on_the_wire()] {
        let upstream = Upstream::start([Script::silent()]).await;
        let (server, connection) = waiting_upstream(&upstream, asked).await;
        drop(connection);
        assert!(stop(server).await < Duration::from_secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_sign_up_whose_client_has_gone_but_not_for_ever() {
    for sign_up in [post(NEWSLETTER, ADA), subscribe_tool()] {
        let provider = Provider::start([Script::holding("")]).await;
        let (server, mut connection) = waiting_sign_up(&provider, sign_up).await;
        // It sends no more, which is to hang up.
        connection.0.get_mut().shutdown().await.unwrap();
        assert_eq!(connection.rest().await, b"");
        let took = stop(server).await;
        // As long as for the provider.
        assert!(took > Duration::from_secs(4) && took < Duration::from_secs(6));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_requests_that_have_not_begun() {
    for said in ["", "P", "GET /api/v1/health HTTP/1.1\r\nHost:"] {
        let server = server().await;
        let mut connection = server.connect().await;
        connection.send(said).await;
        // Another connection's answer shows that this one has been accepted.
        let mut other = server.connect().await;
        other.check_health().await;
        drop(other);
        assert!(stop(server).await <= Duration::from_secs(3), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_long_turn_as_long_as_it_was_told() {
    let limits = draining_for(Duration::from_secs(40));
    let (mut server, model, mut connection) = waiting_turn(hello(), limits).await;
    let began = Instant::now();
    server.stop();
    sleep(Duration::from_secs(35)).await;
    model.let_answer();
    assert_eq!(connection.receive().await.0, 200);
    server.task.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(37));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_a_stop_cannot_wait_for_is_answered_and_given_back() {
    let deadline = ServerLimits::default().drain_deadline;
    for patience in [None, Some(Duration::from_secs(5))] {
        let upstream = Upstream::start([Script::silent()]).await;
        let waiting = waiting_upstream(&upstream, hello()).await;
        let told = ("model_unavailable", "ratelimit: \"assistant\";r=10;");
        check_interrupted(waiting, deadline, patience, told).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_up_that_its_provider_does_not_answer_is_answered_and_given_back_before_a_stop() {
    let provider = Provider::start([Script::holding("")]).await;
    let waiting = waiting_sign_up(&provider, post(NEWSLETTER, ADA)).await;
    let told = ("newsletter_unavailable", "ratelimit: \"newsletter\";r=8;");
    check_interrupted(waiting, Duration::from_millis(4_500), None, told).await;
}

async fn get(sender: &mut SendRequest<Empty<Bytes>>, path: &str) -> Response<Incoming> {
    let request = Request::get(format!("http://landing.example{path}"));
    let request = request.body(Empty::new()).unwrap();
    sender.send_request(request).await.unwrap()
}

/// Asks over HTTP/2 for an answer of several times what the client takes at once. The length of its
/// body and the body, of which no more is sent than is read.
async fn long_answer(server: &Server) -> (SendRequest<Empty<Bytes>>, usize, Incoming) {
    let (sender, length, body) = answer_through(8192, server).await;
    assert!(length > 3 * 8192, "{length}");
    (sender, length, body)
}

/// The same for a client that takes `window` bytes at once.
async fn answer_through(
    window: usize,
    server: &Server,
) -> (SendRequest<Empty<Bytes>>, usize, Incoming) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(u32::try_from(window).unwrap())
        .initial_connection_window_size(1 << 20)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let response = get(&mut sender, "/openapi.json").await;
    let length = response.headers()["content-length"].to_str().unwrap();
    (sender, length.parse().unwrap(), response.into_body())
}

/// How much of `body` comes to a reader that rests after each piece.
async fn read_slowly(mut body: Incoming, rest: Duration) -> usize {
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        length += frame.into_data().map_or(0, |data| data.len());
        sleep(rest).await;
    }
    length
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_cut_off_an_answer_that_is_read_slowly() {
    let mut server = Server::start(Setup::default(), draining_for(Duration::from_secs(80))).await;
    let (_sender, length, body) = long_answer(&server).await;
    server.stop();
    assert_eq!(read_slowly(body, Duration::from_millis(1500)).await, length);
    server.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_reader_that_does_not_read_no_longer_than_for_others() {
    let server = server().await;
    let _unread = long_answer(&server).await;
    let took = stop(server).await;
    assert!(took >= ServerLimits::default().drain_deadline);
    assert!(took < Duration::from_secs(12));
}

#[tokio::test(start_paused = true)]
async fn a_connection_idles_only_since_the_last_of_its_answer_has_gone() {
    let server = server().await;
    let (_sender, length, _body) = long_answer(&server).await;
    // All but a hundred bytes leave at once, and those when the rest is read.
    let (mut sender, _, body) = answer_through(length - 100, &server).await;
    let pause = ServerLimits::default().idle_deadline * 2 / 3;
    sleep(pause).await;
    assert_eq!(read_slowly(body, Duration::ZERO).await, length);
    sleep(pause).await;
    let response = get(&mut sender, "/api/v1/health").await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_an_http_2_connection_that_idles() {
    let server = server().await;
    let (mut sender, connection) = connect_http_2(&server).await;
    let connection = tokio::spawn(connection);
    get(&mut sender, "/api/v1/health").await;
    assert!(stop(server).await <= Duration::from_secs(3));
    let _ = connection.await.unwrap();
    assert!(sender.is_closed());
}
