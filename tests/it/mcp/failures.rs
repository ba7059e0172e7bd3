//! How tools fail: bad arguments, failing dependencies. What becomes of their turns when clients hang up or deadlines
//! pass, `transport` says.

use crate::bad_bodies::bad_members;
use crate::prelude::*;

use super::tools::validator;
use super::{ask, call, call_raw, failure, listed, mint, ping, subscribe};

/// The tool of an operation that takes JSON over HTTP.
fn tool(path: &str) -> Option<&'static str> {
    match path {
        "/api/v1/sandbox/echo" => Some("echo"),
        "/api/v1/newsletter" => Some("subscribe_newsletter"),
        "/api/v1/assistant/chat" => Some("ask_assistant"),
        "/api/v1/keys" => Some("create_api_key"),
        _ => None,
    }
}

/// The problem of a tool that was called with bad arguments, without its instance.
async fn complaint(app: &TestApp, tool: &str, arguments: &str) -> Value {
    let reply = app.send(call_raw(tool, arguments)).await;
    let mut problem: Value = serde_json::from_str(&failure(&reply)).unwrap();
    assert_eq!(problem["code"], "validation_failed");
    let id = reply.header("x-request-id").unwrap();
    assert_eq!(problem["instance"].take(), format!("urn:uuid:{id}"));
    problem
}

#[tokio::test]
async fn bad_arguments_are_told_in_the_words_of_the_problem_over_http() {
    let app = TestApp::new();
    let cards = listed(&app).await;
    for [path, body, errors] in bad_members() {
        // No tool takes `clientUsed`, good or bad.
        let Some(tool) = tool(&path).filter(|_| !body.contains("clientUsed")) else {
            continue;
        };
        if !body.starts_with('{') {
            continue;
        }
        let mut over_http = app.send(Call::post(&path, body.clone())).await.json();
        over_http["instance"].take();
        assert_eq!(complaint(&app, tool, &body).await, over_http);
        // A schema knows neither repeated members nor everything of a format.
        if !errors.contains("duplicate_member") && !errors.contains("format") {
            check_described(&cards, tool, &body);
        }
    }
    assert!(app.contacts.is_empty());
}

/// The schema of the tool says, too, that it does not take these arguments.
fn check_described(cards: &[Value], tool: &str, arguments: &str) {
    // A number that is out of range is none to a validator.
    let Ok(arguments) = serde_json::from_str(arguments) else {
        return;
    };
    let card = cards.iter().find(|card| card["name"] == tool).unwrap();
    let is_valid = validator(&card["inputSchema"]).is_valid(&arguments);
    assert!(!is_valid, "{tool} {arguments}");
}

#[tokio::test]
async fn arguments_that_only_tools_refuse_are_told_in_the_same_words() {
    let app = TestApp::new();
    let cards = listed(&app).await;
    for [tool, arguments, pointer] in rows(
        r##"
check_health | {"x":1} | #/x
get_assistant_quota | {"x":null} | #/x
ask_assistant | {"messages":[{"role":"user","content":"m"}],"clientUsed":1} | #/clientUsed
ask_assistant | {"messages":[{"role":"user","content":"m","name":"n"}]} | #/messages/0/name
"##,
    ) {
        let problem = complaint(&app, tool, arguments).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        assert_eq!(problem["errors"][0]["code"], "unknown_member");
        check_described(&cards, tool, arguments);
    }
    for email in [r#"{"email":""}"#, r#"{"email":"ada"}"#] {
        check_described(&cards, "subscribe_newsletter", email);
    }
}

#[tokio::test]
async fn what_fails_behind_a_tool_is_told_without_its_cause() {
    let cause = || "the secret cause".to_owned();
    let provider = ScriptedWebhookSender::default();
    provider.fail_with([failed(&cause())]);
    let passing_on = Setup::with_provider(Arc::new(provider)).start();
    let failing_model = ScriptedModelClient::new([Err(ModelError::NotStarted(cause()))]);
    let failing_model = Setup::with_model(Arc::new(failing_model)).start();
    let panicking = Setup::with_model(Arc::new(PanickingModelClient)).start();
    let failing_store = TestApp::new();
    let failure = StoreError::Unavailable(cause());
    failing_store.contacts.fail_with(Some(failure.clone()));
    failing_store.keys.fail_with(Some(failure));
    let health = || call("check_health", &json!({}));
    for (app, call, code) in [
        (&passing_on, subscribe(), "newsletter_unavailable"),
        (&failing_model, ask(), "model_unavailable"),
        (&panicking, ask(), "internal_error"),
        (&failing_store, subscribe(), "newsletter_unavailable"),
        (&failing_store, mint(), "store_unavailable"),
        (&failing_store, health(), "store_unavailable"),
    ] {
        let words = app.failure(call).await;
        assert!(words.contains(&format!("\"code\":\"{code}\"")), "{words}");
        assert!(!words.contains("secret"), "{words}");
        // The service goes on.
        assert_eq!(app.result(ping()).await, json!({}));
    }
}
