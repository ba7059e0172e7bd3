//! A model that is slow and costs money.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::bodies::home;
use super::harness::{ATTACKER, PROXY, Pace, STRANGER, Trial, Verdict};
use super::upstream::{Script, Upstream};
use super::wire::{chat, forwarded_for};
use crate::Run;

async fn before(model: &Upstream, flags: &[&str]) -> Trial {
    let url = format!("--model-url={}", model.base_url());
    Trial::begin(&[&[&url, "--model=fake"], flags].concat()).await
}

/// Turns that the model works on, as long as it finishes none.
fn working(model: &Upstream) -> usize {
    model.arrivals.available_permits() - model.ended.available_permits()
}

/// A stranger's question is answered.
async fn ask(trial: &Trial) {
    let mut wire = trial.connect(STRANGER).await;
    let answer = wire.ask(chat("", "hello")).await.unwrap();
    assert_eq!(answer.status, 200, "the next visitor: {}", answer.body);
}

/// One address asks 64 times and waits, and asks again and hangs up as often as it can.
pub(super) async fn places(run: Run) -> Verdict {
    const SHARE: usize = 8;
    let model = Upstream::start([Script::silent()]).await;
    let trial = before(&model, &["--limit=assistant-ip=off", "--limit=default=off"]).await;
    let mut waiting = Vec::new();
    for _ in 0..64 {
        let mut wire = trial.connect(ATTACKER).await;
        wire.send(chat("", "hello")).await.unwrap();
        waiting.push(wire);
    }
    let mut pace = Pace::of(100);
    while pace.is_within(run.length()) {
        pace.step().await;
        let mut wire = trial.connect(ATTACKER).await;
        wire.send(chat("", "hello")).await.unwrap();
        let turns = working(&model);
        assert!(turns <= SHARE, "the model works on {turns} turns");
    }
    model.script([Script::saying("Yes.")]);
    ask(&trial).await;
    // The stranger's turn came, too, and its connection is kept. In a long run those that waited have ended
    // at the model's deadline.
    assert!((1..=SHARE + 1).contains(&working(&model)));
    drop(waiting);
    let freed = timeout(Duration::from_secs(5), async {
        while working(&model) > 1 {
            sleep(Duration::from_millis(10)).await;
        }
    });
    freed.await.expect("a turn ends with its client");
    trial.end().await
}

/// The /64s of one home ask for what everybody together may ask in a day.
pub(super) async fn bill(run: Run) -> Verdict {
    /// What `assistant-ip` grants.
    const MOST: usize = 200;
    let model = Upstream::start([Script::saying("Yes.")]).await;
    let trial = before(&model, &[]).await;
    let mut wire = trial.connect(PROXY).await;
    let mut pace = Pace::of(200);
    let mut answered = 0;
    for number in 0..run.of(800, 8000) {
        pace.step().await;
        let turn = chat(&forwarded_for(home(number)), "hello");
        let answer = wire.ask(turn).await.unwrap();
        match answer.status {
            200 => answered += 1,
            // A home is one client under every policy.
            429 if answer.body.contains("assistant-ip") => {}
            429 if answer.body.contains("\"default\"") => {}
            _ => panic!("{}", answer.body),
        }
    }
    assert_eq!(answered, MOST, "a home has what one client has");
    ask(&trial).await;
    drop(wire);
    trial.end().await
}
