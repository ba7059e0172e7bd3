//! Bodies that come slowly or not at all, from the 256 /64s of a home.

use std::net::Ipv6Addr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::harness::{PROXY, Trial, Verdict};
use super::wire::{Wire, chat, forwarded_for, post};
use crate::Run;

/// The attacker's /64 number `number` of one /56.
pub(crate) fn home(number: usize) -> Ipv6Addr {
    let number = u16::try_from(number % 256).unwrap();
    Ipv6Addr::new(0x2001, 0xdb8, 0xa77a, number, 0, 0, 0, 1)
}

/// Has `count` connections of a home send `request` again and again until the time is over, each waiting
/// for its refusal. Returns how often the service was out of room for them.
async fn hold(
    trial: &Trial,
    count: usize,
    length: Duration,
    request: impl Fn(usize) -> Vec<u8>,
) -> JoinSet<usize> {
    /// Between two requests of a connection, so that what is sent is bounded.
    const PAUSE: Duration = Duration::from_secs(2);
    let until = Instant::now() + length;
    let address = trial.address;
    let mut holders = JoinSet::new();
    for number in 0..count {
        let request = request(number);
        // Not all at once.
        sleep(Duration::from_millis(5)).await;
        holders.spawn(async move {
            let mut refusals = 0;
            while Instant::now() < until {
                let mut wire = Wire::connect(PROXY, address).await.unwrap();
                // The refusal may come first.
                let _ = wire.send(&request).await;
                if let Ok(answer) = wire.answer().await {
                    refusals += usize::from(answer.status == 503);
                }
                sleep(PAUSE).await;
            }
            refusals
        });
    }
    holders
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

/// 77 MB of bodies from eight /64s, none of which is ever whole.
pub(crate) async fn slow(run: Run) -> Verdict {
    const SENT: usize = 300 * 1024;
    let trial = Trial::begin(&[]).await;
    let request = |number| {
        let forwarded = forwarded_for(home(number % 8));
        let mut request = chat(&forwarded, &"x".repeat(SENT)).into_bytes();
        request.truncate(SENT);
        request
    };
    let holders = hold(&trial, 256, run.length(), request).await;
    visit(&trial).await;
    let refusals: usize = holders.join_all().await.into_iter().sum();
    assert!(refusals > 0, "a home holds no more than its share");
    trial.end().await
}

/// Whole heads of 15 KiB, 11 MB of them, whose bodies do not come.
pub(crate) async fn waiting_heads(run: Run) -> Verdict {
    let trial = Trial::begin(&[]).await;
    let request = |number| {
        let padding = "x".repeat(15 * 1024);
        let headers = format!("{}X-Padding: {padding}\r\n", forwarded_for(home(number)));
        let mut request = chat(&headers, "hello").into_bytes();
        request.truncate(request.len() - 10);
        request
    };
    let holders = hold(&trial, 700, run.length(), request).await;
    visit(&trial).await;
    let refusals: usize = holders.join_all().await.into_iter().sum();
    assert!(refusals > 0, "a home holds no more than its share");
    trial.end().await
}
