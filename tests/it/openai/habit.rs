//! What one answer says of those that come: whether the model begins with a thought.

use landing_api::ports::{ModelClient, ModelError, NullSink};
use serde_json::{Value, json};

use super::upstream::{Script, Upstream};
use super::whole::check_cause;
use super::{client, question, settings, warm};

#[tokio::test]
async fn an_answer_that_is_cut_short_counts_once_the_model_is_known_not_to_think_first() {
    for finish in ["length", "content_filter"] {
        let script = Script::message(&json!({"content": "Cut"}), finish);
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(settings(&upstream));
        let unknown = model.reply(&question(), &NullSink).await;
        let Err(ModelError::Unusable(cause)) = unknown else {
            panic!("{unknown:?}");
        };
        check_cause(
            &cause,
            &format!("cut short, and may be nothing but thinking; finish reason: {finish}"),
        );
        warm(&*model, &upstream).await;
        upstream.script([script.clone()]);
        let known = model.reply(&question(), &NullSink).await;
        assert_eq!(known, Ok("Cut".to_owned()));
        // And never of one that does.
        let thinks = Script::message(&json!({"content": "secret</think>Said"}), "stop");
        upstream.script([thinks, script]);
        let thought = model.reply(&question(), &NullSink).await;
        assert_eq!(thought, Ok("Said".to_owned()));
        let cut = model.reply(&question(), &NullSink).await;
        assert!(matches!(cut, Err(ModelError::Unusable(_))), "{cut:?}");
    }
}

/// Asks until there is an answer, and gives how many turns failed before.
async fn failures_before_an_answer(model: &dyn ModelClient) -> usize {
    for failures in 0..100 {
        if model.reply(&question(), &NullSink).await.is_ok() {
            return failures;
        }
    }
    panic!("it never answers");
}

#[tokio::test]
async fn no_visitor_can_switch_the_assistant_off_with_a_mark() {
    let said = json!({"choices": [{"message": {"content": "Said"}}]});
    let with_finish = |finish: Value| {
        let mut said = said.clone();
        said["choices"][0]["finish_reason"] = finish;
        Script::json(200, &said)
    };
    for (script, at_most) in [
        (with_finish(Value::Null), 0),
        (with_finish(json!("eos_token")), 0),
        (with_finish(json!("stop_sequence")), 0),
        (Script::json(200, &said), 0),
        // It may be cut within a thought, and is refused until that is unlikely.
        (with_finish(json!("length")), 6),
        (with_finish(json!("MAX_TOKENS")), 6),
    ] {
        let upstream = Upstream::start([Script::saying("a</think>b")]).await;
        let model = client(settings(&upstream));
        for _ in 0..20 {
            model.reply(&question(), &NullSink).await.unwrap();
        }
        upstream.script([script.clone()]);
        let failures = failures_before_an_answer(&*model).await;
        assert!(failures <= at_most, "{script:?}: {failures}");
        assert_eq!(failures == 0, at_most == 0, "{script:?}");
        for _ in 0..3 {
            assert_eq!(failures_before_an_answer(&*model).await, 0, "{script:?}");
        }
    }
}
