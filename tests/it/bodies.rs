//! Bodies that come slowly: whoever sends them takes room from themselves, not from others.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use crate::prelude::*;

const CHAT: &str = "/api/v1/assistant/chat";
const ECHO: &str = "/api/v1/sandbox/echo";
/// The largest body of a chat request.
const LARGEST: usize = 320 * 1024;
/// So many of the largest fit into the room of all, each with 4 KiB for its head; a network has an eighth.
const FITTING: usize = 96 * 1024 / 324;
/// So many would fill the room by being announced.
const CROWD: usize = FITTING + 50;

/// Sends so many bytes at once and then never another one.
struct SlowBody {
    announced: Option<u64>,
    sent: Option<Bytes>,
}

impl Body for SlowBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.sent.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map(SizeHint::with_exact).unwrap_or_default()
    }
}

fn app() -> Arc<TestApp> {
    let setup = Setup::default().limit("default", "10000/60s");
    Arc::new(setup.limit("ip", "10000/60s").start())
}

/// Begins to send a body of the largest size, `sent` bytes of it; gives the status it will get.
fn send_slowly(app: &Arc<TestApp>, peer: &str, sent: usize, is_announced: bool) -> JoinHandle<u16> {
    let body = SlowBody {
        announced: is_announced.then_some(LARGEST as u64),
        sent: Some(Bytes::from(vec![b' '; sent])),
    };
    let request = Request::post(CHAT).header("host", "a");
    begin(app, peer, request.body(body).unwrap())
}

/// Sends a request; gives the status it will get.
fn begin(app: &Arc<TestApp>, peer: &str, request: Request<SlowBody>) -> JoinHandle<u16> {
    let (app, peer) = (Arc::clone(app), peer.parse().unwrap());
    tokio::spawn(async move {
        let peer = app.service.peer(peer);
        let responding = app.service.respond(&peer, Instant::now(), request);
        responding.await.unwrap().status().as_u16()
    })
}

async fn all_have_begun() {
    for _ in 0..2 * CROWD {
        tokio::task::yield_now().await;
    }
}

fn echo(peer: &str) -> Call {
    Call::echo().from(peer)
}

async fn count(slow: Vec<JoinHandle<u16>>, status: u16) -> usize {
    let mut count = 0;
    for answer in slow {
        count += usize::from(answer.await.unwrap() == status);
    }
    count
}

#[tokio::test(start_paused = true)]
async fn one_network_with_slow_bodies_does_not_stop_others() {
    for is_announced in [true, false] {
        let app = app();
        let begun = Instant::now();
        let slow: Vec<_> = (0..CROWD)
            .map(|number| {
                // A home has a /56, and so 256 of these /64s.
                let peer = format!("2001:db8:0:{:x}::1", number % 256);
                send_slowly(&app, &peer, LARGEST - 1, is_announced)
            })
            .collect();
        all_have_begun().await;
        app.expect("200", echo("2001:db8:0:100::1")).await;
        let crowded = "2001:db8:0:ff::1";
        let late = send_slowly(&app, crowded, LARGEST - 1, is_announced);
        assert_eq!(late.await.unwrap(), 503);
        assert!(begun.elapsed() < Duration::from_secs(1), "nobody waited");
        assert_eq!(count(slow, 408).await, FITTING / 8, "{is_announced}");
        let late = send_slowly(&app, crowded, LARGEST - 1, is_announced);
        assert_eq!(late.await.unwrap(), 408, "there is room again");
        assert_eq!(app.service.held(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn heads_that_wait_for_a_body_take_room() {
    let app = app();
    let waiting = |peer: &str| {
        let body = SlowBody {
            announced: Some(100),
            sent: None,
        };
        let request = Request::post(ECHO)
            .header("host", "a")
            .header("cookie", "x".repeat(60 * 1024));
        begin(&app, peer, request.body(body).unwrap())
    };
    let crowd: Vec<_> = (0..CROWD).map(|_| waiting("192.0.2.7")).collect();
    all_have_begun().await;
    // An eighth of 96 MiB, and four KiB with each head.
    let share = 12 * 1024 / (60 + 4) - 1;
    assert!(app.service.held().0 <= 12 << 20);
    assert_eq!(waiting("192.0.2.7").await.unwrap(), 503);
    app.expect("200", echo("192.0.2.8")).await;
    assert_eq!(count(crowd, 408).await, share);
    assert_eq!(app.service.held(), (0, 0));
    app.expect("200", echo("192.0.2.7")).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_announced_and_does_not_come_takes_no_room() {
    let app = app();
    let begun = Instant::now();
    let mut slow: Vec<_> = (0..CROWD)
        .map(|number| {
            let peer = format!("198.51.{}.{}", number / 250, number % 250);
            send_slowly(&app, &peer, 1, true)
        })
        .collect();
    slow.extend((0..CROWD).map(|_| send_slowly(&app, "192.0.2.7", 1, true)));
    all_have_begun().await;
    for peer in ["192.0.2.7", "192.0.2.8"] {
        app.expect("200", echo(peer)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "nobody waited");
    assert_eq!(count(slow, 408).await, 2 * CROWD);
}

#[tokio::test(start_paused = true)]
async fn many_networks_fill_the_room_and_then_it_is_free_again() {
    let app = app();
    // Twelve networks have begun to send more than there is room for.
    let slow = (0..CROWD).map(|number| {
        let peer = format!("203.0.113.{}", number % 12);
        send_slowly(&app, &peer, LARGEST - 1, true)
    });
    let slow: Vec<_> = slow.collect();
    all_have_begun().await;
    // The last bytes of the room are too few for a body as large, and enough for a small one.
    let late = send_slowly(&app, "192.0.2.8", LARGEST - 1, true);
    assert_eq!(late.await.unwrap(), 503);
    app.expect("200", echo("192.0.2.8")).await;
    assert_eq!(count(slow, 408).await, FITTING);
    let late = send_slowly(&app, "192.0.2.8", LARGEST - 1, true);
    assert_eq!(late.await.unwrap(), 408);
}
