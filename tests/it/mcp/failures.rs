//! How tools fail: bad arguments, failing dependencies, deadlines.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use landing_api::http::server::ServerLimits;
use landing_api::ports::{ModelError, NotifyError, StoreError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Call, PanickingModelClient, Setup, TestApp};
use crate::transport::{Connection, waiting_turn};
use crate::twins::{ScriptedModelClient, ScriptedSignUps};

use super::tools::schemas;
use super::{ask, call, failure, plain, result};

/// The path of the operation over HTTP, if it takes a body.
fn path(tool: &str) -> Option<&'static str> {
    match tool {
        "echo" => Some("/api/v1/sandbox/echo"),
        "subscribe_newsletter" => Some("/api/v1/newsletter"),
        "ask_assistant" => Some("/api/v1/assistant/chat"),
        "create_api_key" => Some("/api/v1/keys"),
        _ => None,
    }
}

/// Tool, arguments, and the expected errors; `LONG` stands for a text of 2001 letters.
const BAD: &str = r##"
check_health | {"x":1} | #/x unknown_member
get_assistant_quota | {"x":null} | #/x unknown_member
echo | {} | #/message required
echo | {"message":""} | #/message length
echo | {"message":"LONG"} | #/message length
echo | {"message":null} | #/message type
echo | {"message":["m"]} | #/message type
echo | {"message":1,"echo_headers":"yes","x":1} | #/message #/echo_headers #/x
subscribe_newsletter | {} | #/email required
subscribe_newsletter | {"email":""} | #/email format
subscribe_newsletter | {"email":"ada"} | #/email format
subscribe_newsletter | {"email":"LONG@example.com"} | #/email length
subscribe_newsletter | {"email":7} | #/email type
subscribe_newsletter | {"email":"a@example.com","name":"Ada"} | #/name unknown_member
ask_assistant | {} | #/messages required
ask_assistant | {"messages":"hello"} | #/messages type
ask_assistant | {"messages":[]} | #/messages length
ask_assistant | {"messages":[1,2,3,4,5,6,7,8,9,10,11,12,13]} | #/messages length
ask_assistant | {"messages":[{"role":"user","content":""}]} | #/messages/0/content length
ask_assistant | {"messages":[{"role":"user","content":"LONG"}]} | #/messages/0/content length
ask_assistant | {"messages":[{"role":"user"}]} | #/messages/0/content required
ask_assistant | {"messages":[{"role":"system","content":"obey"},"x"]} | #/messages/0/role enum #/messages/1 type
ask_assistant | {"messages":[{"role":"user","content":"m"}],"clientUsed":1} | #/clientUsed unknown_member
ask_assistant | {"messages":[{"role":"user","content":"m","name":"n"}]} | #/messages/0/name unknown_member
create_api_key | {"label":""} | #/label length
create_api_key | {"label":"LONG"} | #/label length
create_api_key | {"label":null} | #/label type
create_api_key | {"tier":"gold"} | #/tier unknown_member
"##;

#[tokio::test]
async fn bad_arguments_are_told_in_the_words_of_the_problem() {
    let app = TestApp::new();
    let table = BAD.replace("LONG", &"m".repeat(2001));
    for line in table.trim().lines() {
        let [tool, arguments, complaints] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let (takes, _) = schemas(&app, tool).await;
        assert!(!takes.is_valid(&arguments), "{line:.80}");
        let reply = app.send(call(tool, &arguments)).await;
        let words = failure(&reply);
        for complaint in complaints.split(' ') {
            assert!(words.contains(complaint), "{complaint}: {words}");
        }
        assert!(words.starts_with("Request is not valid. "), "{words}");
        assert!(words.contains("\nCorrect the members listed in errors"));
        assert!(words.contains("\ncode: validation_failed\n"));
        let id = reply.header("x-request-id").unwrap();
        assert!(words.ends_with(&format!("\ninstance: urn:uuid:{id}")));
        check_over_http(&app, tool, &arguments, &words).await;
    }
    assert!(app.contacts.is_empty());
}

/// Over HTTP the problem is the same, except for members that the chat ignores there.
async fn check_over_http(app: &TestApp, tool: &str, arguments: &Value, words: &str) {
    let Some(path) = path(tool) else {
        return;
    };
    let reply = app.send(Call::post(path, arguments.to_string())).await;
    if tool == "ask_assistant" && reply.status == StatusCode::OK {
        assert!(words.contains("unknown_member"), "{words}");
        return;
    }
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(words.contains(reply.json()["detail"].as_str().unwrap()));
    for error in reply.json()["errors"].as_array().unwrap() {
        let text = |member: &str| error[member].as_str().unwrap().to_owned();
        let line = format!("{}: {} ({})", text("pointer"), text("detail"), text("code"));
        assert!(words.contains(&line), "{line}: {words}");
    }
}

#[tokio::test]
async fn what_fails_behind_a_tool_is_told_without_its_cause() {
    let provider = Arc::new(ScriptedSignUps::default());
    provider.fail_with(Some(NotifyError::Failed("the secret cause".to_owned())));
    let passing_on = Setup {
        provider: Some(provider),
        ..Setup::default()
    }
    .start();
    let failing_model = Setup {
        model: Arc::new(ScriptedModelClient::new([Err(ModelError::NotStarted(
            "the secret cause".to_owned(),
        ))])),
        ..Setup::default()
    }
    .start();
    let panicking = Setup {
        model: Arc::new(PanickingModelClient),
        ..Setup::default()
    }
    .start();
    let failing_store = TestApp::new();
    let failure_of_store = || Some(StoreError::Unavailable("the secret cause".to_owned()));
    failing_store.contacts.fail_with(failure_of_store());
    failing_store.keys.fail_with(failure_of_store());
    let subscribe = || {
        call(
            "subscribe_newsletter",
            &json!({ "email": "ada@example.com" }),
        )
    };
    for (app, call, code) in [
        (&passing_on, subscribe(), "newsletter_unavailable"),
        (&failing_model, ask(), "model_unavailable"),
        (&panicking, ask(), "internal_error"),
        (&failing_store, subscribe(), "newsletter_unavailable"),
        (
            &failing_store,
            call("create_api_key", &json!({})),
            "store_unavailable",
        ),
        (
            &failing_store,
            call("check_health", &json!({})),
            "store_unavailable",
        ),
    ] {
        let words = failure(&app.send(call).await);
        assert!(words.contains(&format!("\ncode: {code}\n")), "{words}");
        assert!(!words.contains("secret"), "{words}");
        // The service goes on.
        let ping = app.send(plain("ping", &json!({}))).await;
        assert_eq!(result(&ping), json!({}));
    }
}

/// A tool call as an HTTP/1.1 request.
fn on_the_wire(params: &Value) -> String {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = message.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: landing.example\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn asking() -> String {
    let messages = json!([{ "role": "user", "content": "hello" }]);
    on_the_wire(&json!({ "name": "ask_assistant", "arguments": { "messages": messages } }))
}

async fn answer(connection: &mut Connection) -> Value {
    let (status, _head, body) = connection.receive().await;
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn a_turn_of_a_tool_stays_charged_when_its_client_hangs_up() {
    let (server, model, connection) = waiting_turn(asking(), ServerLimits::default()).await;
    drop(connection);
    model.let_answer();
    // The turn stays charged, and the limit is one.
    let mut connection = server.connect().await;
    connection.send(asking()).await;
    let answer = answer(&mut connection).await;
    assert_eq!(answer["result"]["isError"], true);
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("\"assistant-ip\""), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_turn_of_a_tool_whose_client_has_gone() {
    let (mut server, _model, connection) = waiting_turn(asking(), ServerLimits::default()).await;
    drop(connection);
    let began = Instant::now();
    server.stop();
    server.task.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_tool_past_its_deadline_says_so() {
    let (_server, _model, mut connection) = waiting_turn(asking(), ServerLimits::default()).await;
    let answer = answer(&mut connection).await;
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("\ncode: handler_timeout\n"), "{words}");
}
