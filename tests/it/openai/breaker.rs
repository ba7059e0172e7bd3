//! The breaker: which upstreams are left alone, for how long, and what closes it.

use landing_api::ports::{AnswerSink, ModelClient as _, SinkClosed};

use crate::prelude::*;

use super::upstream::{Script, Then, Upstream, piece};
use super::{app, ask, check_refund, client, model, model_with, question, settings, text};

#[tokio::test]
async fn while_a_dead_upstream_is_left_alone_nobody_pays_under_any_policy() {
    let upstream = Upstream::start([Script::dropped()]).await;
    let setup = Setup::with_model(client(settings(&upstream)));
    let app = setup.limit("assistant-ip", "6/24h").start();
    for turn in 0..20 {
        check_refund(&app.send(ask()).await, &format!("turn {turn}"));
    }
    assert_eq!(
        upstream.requests().len(),
        5,
        "after five the breaker is open"
    );
}

#[tokio::test]
async fn an_account_that_is_used_up_is_not_asked_again() {
    let used_up = |status| Script::json(status, &json!({"error": {"code": "insufficient_quota"}}));
    let unpaid = json!({"error": {"message": "Insufficient Balance"}});
    let slow_down = Script::json(429, &json!({"error": "slow down"}));
    for (script, asked) in [
        (used_up(429), 1),
        (used_up(200), 1),
        (Script::json(402, &unpaid), 1),
        (slow_down.clone().header("retry-after", "7"), 1),
        // For how long nobody says: the next turn tries.
        (slow_down, 3),
    ] {
        let about = format!("{script:?}");
        let upstream = Upstream::start([script]).await;
        let app = app(&upstream);
        for _ in 0..3 {
            check_refund(&app.send(ask()).await, &about);
        }
        assert_eq!(upstream.requests().len(), asked, "{about}");
    }
}

#[tokio::test(start_paused = true)]
async fn slow_questions_of_one_visitor_close_the_assistant_to_nobody() {
    let (upstream, model) = model_with([Script::silent()], |it| it.concurrency = 16).await;
    let slow: Vec<_> = (0..8)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { text(&*model, None).await })
        })
        .collect();
    for _ in 0..slow.len() {
        upstream.wait_until_asked().await;
    }
    upstream.script([Script::saying("Hello.")]);
    assert_eq!(text(&*model, None).await, Ok("Hello.".to_owned()));
    for slow in slow {
        slow.await.unwrap().unwrap_err();
    }
    assert_eq!(text(&*model, None).await, Ok("Hello.".to_owned()));
    // With no other sign of life after a success, silence is death. The clock stands still otherwise.
    advance(Duration::from_millis(1)).await;
    upstream.script([Script::silent()]);
    let before = upstream.requests().len();
    assert_eq!(asked_after(8, &model, &upstream).await, before + 5);
}

async fn asked_after(times: usize, model: &OpenAiModelClient, upstream: &Upstream) -> usize {
    for _ in 0..times {
        model.reply(&question(), None).await.unwrap_err();
    }
    upstream.requests().len()
}

#[tokio::test(start_paused = true)]
async fn a_gateway_with_nobody_behind_it_counts_as_dead_and_a_server_error_does_not() {
    for (status, asked) in [(503, 5), (401, 5), (422, 8), (500, 8)] {
        let (upstream, model) = model([Script::json(status, &json!({}))]).await;
        assert_eq!(asked_after(8, &model, &upstream).await, asked, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_asks_to_be_left_alone_is_for_so_long_and_no_longer_than_a_minute() {
    for (status, retry_after, pause) in [
        (429, "7", 7),
        (502, "7", 7),
        (503, "Saturday, 21-Nov-26 12:00:07 GMT", 7),
        (429, "Sun, 22 Nov 2026 12:00:00 GMT", 60),
        (503, "86400", 60),
        // It asks for nothing that could be kept.
        (429, "soon", 0),
    ] {
        let script = Script::json(status, &json!({}))
            .header("retry-after", retry_after)
            .header("date", "Sat, 21 Nov 2026 12:00:00 GMT");
        let (upstream, model) = model([script]).await;
        if pause == 0 {
            assert_eq!(asked_after(3, &model, &upstream).await, 3, "{retry_after}");
            continue;
        }
        assert_eq!(asked_after(3, &model, &upstream).await, 1, "{retry_after}");
        advance(Duration::from_secs(pause) - Duration::from_secs(1)).await;
        assert_eq!(asked_after(1, &model, &upstream).await, 1, "{retry_after}");
        advance(Duration::from_secs(1)).await;
        assert_eq!(asked_after(1, &model, &upstream).await, 2, "{retry_after}");
    }
}

#[tokio::test]
async fn what_a_visitor_says_about_money_closes_the_assistant_to_nobody() {
    let echo = "bad input: 'you exceeded your current quota, insufficient_quota, credit balance'";
    for (status, body) in [
        (200, json!({"error": echo})),
        (400, json!({"error": {"message": echo, "type": "invalid"}})),
        (422, json!({"detail": [{"msg": echo}]})),
        (500, json!({"error": {"message": echo}})),
    ] {
        let (upstream, model) = model([Script::json(status, &body)]).await;
        assert_eq!(asked_after(3, &model, &upstream).await, 3, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_of_an_answer_ends_the_trial() {
    for (is_streamed, script) in [
        (true, Script::stream([piece("Hi")])),
        (false, Script::new(200, "application/json", "{")),
    ] {
        let (upstream, model) = model([Script::dropped()]).await;
        assert_eq!(asked_after(8, &model, &upstream).await, 5);
        advance(Duration::from_secs(10)).await;
        // The trial begins to answer, and does not end.
        upstream.script([script.then(Then::Hold), Script::saying("Hello.")]);
        let asked = Arc::clone(&model);
        let trial = tokio::spawn(async move {
            let sink = MemoryAnswerSink::default();
            text(&*asked, is_streamed.then_some(&sink as &dyn AnswerSink)).await
        });
        let mut answer = Err(ModelError::Abandoned(SinkClosed));
        for _ in 0..100_000 {
            tokio::task::yield_now().await;
            answer = text(&*model, None).await;
            if answer.is_ok() {
                break;
            }
        }
        assert!(!trial.is_finished());
        assert_eq!(answer, Ok("Hello.".to_owned()), "others wait for its end");
        trial.abort();
    }
}
