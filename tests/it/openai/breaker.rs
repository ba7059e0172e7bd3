//! The breaker: which upstreams are left alone, for how long, and what closes it.

use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::OpenAiSettings;
use landing_api::ports::{ModelClient, NullSink};
use serde_json::json;

use crate::harness::Setup;
use crate::twins::MemoryAnswerSink;

use super::upstream::{Script, Step, Upstream, chunk};
use super::{app, ask, client, question, settings};

#[tokio::test]
async fn a_dead_upstream_is_left_alone() {
    let upstream = Upstream::start([Script::dropped()]).await;
    let app = app(&upstream);
    for _ in 0..8 {
        let reply = app.send(ask()).await;
        assert_eq!(
            (reply.code(), reply.remaining()),
            ("model_unavailable".to_owned(), 10)
        );
    }
    assert_eq!(upstream.asked().len(), 5, "after five the breaker is open");
}

#[tokio::test]
async fn while_an_upstream_is_left_alone_nobody_pays_under_any_policy() {
    let upstream = Upstream::start([Script::dropped()]).await;
    let app = Setup {
        model: client(settings(&upstream)),
        ..Setup::default()
    }
    .limit("assistant-ip", "6/24h")
    .start();
    for turn in 0..20 {
        let reply = app.send(ask()).await;
        assert_eq!(reply.code(), "model_unavailable", "turn {turn}");
    }
    assert_eq!(upstream.asked().len(), 5);
}

#[tokio::test]
async fn an_account_that_is_used_up_is_not_asked_again() {
    let broke = json!({"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}});
    for script in [
        Script::json(429, &broke),
        Script::json(200, &broke),
        Script::json(402, &json!({"error": {"message": "Insufficient Balance"}})),
        Script::json(429, &json!({"error": {"message": "slow down"}})).header("retry-after", "7"),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let app = app(&upstream);
        for _ in 0..3 {
            let reply = app.send(ask()).await;
            assert_eq!(
                (reply.code(), reply.remaining()),
                ("model_unavailable".to_owned(), 10)
            );
            assert_eq!(reply.header("retry-after"), None, "theirs is not ours");
        }
        assert_eq!(upstream.asked().len(), 1, "{script:?}");
    }
    // Slow down, but for how long nobody says: the next turn tries.
    let upstream = Upstream::start([Script::json(429, &json!({"error": "slow down"}))]).await;
    let app = app(&upstream);
    for _ in 0..3 {
        app.send(ask()).await;
    }
    assert_eq!(upstream.asked().len(), 3);
}

#[tokio::test]
async fn turns_that_no_model_worked_on_do_not_use_up_the_operators_bill() {
    let turns = 4;
    for (status, is_billed) in [
        (400, false),
        (401, false),
        (403, false),
        (404, false),
        (405, false),
        (413, false),
        (422, false),
        (502, false),
        (503, false),
        (200, true),
        (500, true),
        (504, true),
    ] {
        let upstream = Upstream::start([Script::new(status, "text/html", "<h1>junk</h1>")]).await;
        let app = Setup {
            model: client(settings(&upstream)),
            ..Setup::default()
        }
        .limit("assistant-all", &format!("{turns}/24h"))
        .start();
        for turn in 0..turns {
            let reply = app.send(ask()).await;
            assert_eq!(reply.code(), "model_unavailable", "{status}, turn {turn}");
        }
        // The operator has mended it.
        upstream.script([Script::saying("Hello.")]);
        let reply = app.send(ask()).await;
        let expected = if is_billed { 429 } else { 200 };
        assert_eq!(reply.status, expected, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn slow_questions_of_one_visitor_close_the_assistant_to_nobody() {
    let upstream = Upstream::start([Script::silent()]).await;
    let model = client(OpenAiSettings {
        concurrency: 16,
        ..settings(&upstream)
    });
    let slow: Vec<_> = (0..8)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { model.reply(&question(), &NullSink).await })
        })
        .collect();
    for _ in 0..slow.len() {
        upstream.wait_until_asked().await;
    }
    upstream.script([Script::saying("Hello.")]);
    let answer = model.reply(&question(), &NullSink).await;
    assert_eq!(answer, Ok("Hello.".to_owned()));
    for slow in slow {
        slow.await.unwrap().unwrap_err();
    }
    let answer = model.reply(&question(), &NullSink).await;
    assert_eq!(
        answer,
        Ok("Hello.".to_owned()),
        "the others are let through"
    );
    // With no other sign of life silence is death.
    upstream.script([Script::silent()]);
    let before = upstream.asked().len();
    assert_eq!(asked_after(8, &model, &upstream).await, before + 5);
}

/// Asks `times` times; returns how often the upstream was asked in all.
async fn asked_after(times: usize, model: &OpenAiModelClient, upstream: &Upstream) -> usize {
    for _ in 0..times {
        model.reply(&question(), &NullSink).await.unwrap_err();
    }
    upstream.asked().len()
}

#[tokio::test(start_paused = true)]
async fn a_gateway_with_nobody_behind_it_counts_as_dead_and_a_server_error_does_not() {
    for (status, asked) in [
        (502, 5),
        (503, 5),
        (504, 5),
        // A wrong key, model or address.
        (401, 5),
        (403, 5),
        (404, 5),
        (400, 8),
        (422, 8),
        (500, 8),
        (501, 8),
        (408, 8),
    ] {
        let upstream = Upstream::start([Script::json(status, &json!({}))]).await;
        let model = client(settings(&upstream));
        assert_eq!(asked_after(8, &model, &upstream).await, asked, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_asks_to_be_left_alone_is_for_so_long_and_no_longer_than_a_minute() {
    let date = "Sat, 21 Nov 2026 12:00:00 GMT";
    for (status, retry_after, pause) in [
        (429, "7", 7),
        (503, "7", 7),
        (502, "7", 7),
        (429, "Sat, 21 Nov 2026 12:00:07 GMT", 7),
        (503, "Saturday, 21-Nov-26 12:00:07 GMT", 7),
        (429, "Sun, 22 Nov 2026 12:00:00 GMT", 60),
        (503, "86400", 60),
        (429, "99999999999999999999", 60),
    ] {
        let script = Script::json(status, &json!({}));
        let script = script
            .header("retry-after", retry_after)
            .header("date", date);
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        assert_eq!(asked_after(3, &model, &upstream).await, 1, "{retry_after}");
        let pause = Duration::from_secs(pause);
        tokio::time::advance(pause - Duration::from_secs(1)).await;
        assert_eq!(asked_after(1, &model, &upstream).await, 1, "{retry_after}");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(asked_after(1, &model, &upstream).await, 2, "{retry_after}");
    }
    // It asks for nothing that could be kept.
    for retry_after in ["0", "-7", "soon", "Sat, 21 Nov 2026 11:00:00 GMT"] {
        let script = Script::json(429, &json!({}));
        let script = script
            .header("retry-after", retry_after)
            .header("date", date);
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        assert_eq!(asked_after(3, &model, &upstream).await, 3, "{retry_after}");
    }
}

#[tokio::test]
async fn what_a_visitor_says_about_money_closes_the_assistant_to_nobody() {
    let echo = "bad input: 'you exceeded your current quota, insufficient_quota, credit balance'";
    for script in [
        Script::json(200, &json!({"error": echo})),
        Script::json(
            400,
            &json!({"error": {"message": echo, "type": "invalid_request_error"}}),
        ),
        Script::json(422, &json!({"detail": [{"msg": echo}]})),
        Script::json(500, &json!({"error": {"message": echo}})),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(settings(&upstream));
        assert_eq!(asked_after(3, &model, &upstream).await, 3, "{script:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_of_an_answer_ends_the_trial() {
    let text = chunk(&json!({"content": "Hi"}), None);
    for (is_streamed, script) in [
        (true, Script::stream([text])),
        (false, Script::new(200, "application/json", "{")),
    ] {
        let upstream = Upstream::start([Script::dropped()]).await;
        let model = client(settings(&upstream));
        assert_eq!(asked_after(8, &model, &upstream).await, 5);
        tokio::time::advance(Duration::from_secs(10)).await;
        // The trial begins to answer, and does not end.
        upstream.script([script.then(Step::Hang), Script::saying("Hello.")]);
        let asked = Arc::clone(&model);
        let trial = tokio::spawn(async move {
            let sink = MemoryAnswerSink::default();
            if is_streamed {
                asked.reply(&question(), &sink).await
            } else {
                asked.reply(&question(), &NullSink).await
            }
        });
        let mut answer = None;
        for _ in 0..100_000 {
            tokio::task::yield_now().await;
            answer = model.reply(&question(), &NullSink).await.ok();
            if answer.is_some() {
                break;
            }
        }
        assert!(!trial.is_finished());
        assert_eq!(
            answer.as_deref(),
            Some("Hello."),
            "the others wait for its end"
        );
        trial.abort();
    }
}
