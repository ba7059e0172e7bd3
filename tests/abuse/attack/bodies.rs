//! Bodies that come slowly or not at all, from the 256 /64s of a home.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::harness::{PROXY, Pace, Trial, Verdict};
use super::wire::{Answer, Wire, chat, forwarded_for, post};
use crate::Run;

/// The attacker's /64 number `number` of one /56.
pub(super) fn home(number: usize) -> Ipv6Addr {
    let number = u16::try_from(number % 256).unwrap();
    Ipv6Addr::new(0x2001, 0xdb8, 0xa77a, number, 0, 0, 0, 1)
}

/// Has `count` connections of a home send `request` again and again, each until it is refused, while a
/// visitor is answered.
async fn hold(trial: &Trial, count: usize, length: Duration, request: impl Fn(usize) -> Vec<u8>) {
    /// Between two requests of a connection, so that what is sent is bounded.
    const PAUSE: Duration = Duration::from_secs(3);
    let over = Arc::new(AtomicUsize::new(0));
    let mut holders = JoinSet::new();
    let mut pace = Pace::of(200);
    for number in 0..count {
        pace.step().await;
        let (request, address, over) = (request(number), trial.address, Arc::clone(&over));
        holders.spawn(async move {
            loop {
                let mut wire = Wire::connect(PROXY, address).await.unwrap();
                // The refusal may come first.
                let _ = wire.send(&request).await;
                if let Ok(Answer { status: 503, .. }) = wire.answer().await {
                    over.fetch_add(1, Ordering::Relaxed);
                }
                sleep(PAUSE).await;
            }
        });
    }
    visit(trial).await;
    sleep(length).await;
    holders.shutdown().await;
    let over = over.load(Ordering::Relaxed);
    assert!(over > 0, "a home holds no more than its share");
}

/// A visitor whose body is of the larger ones.
async fn visit(trial: &Trial) {
    let turn = r#"{"role":"user","content":"TEXT"}"#.replace("TEXT", &" hello".repeat(300));
    let body = format!("{{\"messages\":[{}]}}", vec![turn; 5].join(","));
    let request = post("/api/v1/assistant/chat", &forwarded_for("192.0.2.1"), &body);
    let answer = trial.connect(PROXY).await.ask(request).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "a visitor's chat: {}", answer.body);
}

/// 64 MiB of bodies from eight /64s, each of which lacks a byte.
pub(super) async fn slow(run: Run) -> Verdict {
    const KIB: usize = 1024;
    let trial = Trial::begin(run, &[]).await;
    let request = |number| {
        let forwarded = forwarded_for(home(number % 8));
        // As large as a body may be; the last of each /64 makes eight MiB full.
        let length = if number < 8 * 25 {
            320 * KIB
        } else {
            192 * KIB
        };
        let mut request = post("/api/v1/assistant/chat", &forwarded, &"x".repeat(length));
        request.pop();
        request.into_bytes()
    };
    hold(&trial, 8 * 26, run.length(), request).await;
    trial.end().await
}

/// Whole heads of 15 KiB, 17 MB of them, whose bodies do not come.
pub(super) async fn waiting_heads(run: Run) -> Verdict {
    // By default, the limit of all requests refuses before the room is full.
    let trial = Trial::begin(run, &["--limit", "default=1800/60s"]).await;
    let request = |number| {
        let padding = "x".repeat(15 * 1024);
        let headers = format!("{}X-Padding: {padding}\r\n", forwarded_for(home(number)));
        let mut request = chat(&headers, "hello").into_bytes();
        request.truncate(request.len() - 10);
        request
    };
    hold(&trial, 1100, run.length(), request).await;
    trial.end().await
}
