//! `/api/v1/sandbox/echo`.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Call, TestApp};

const PATH: &str = "/api/v1/sandbox/echo";

async fn echo(body: &Value) -> Value {
    let call = Call::post(PATH, body.to_string())
        .header("accept", "application/json")
        .header("accept", "text/plain;q=0.5")
        .header("user-agent", "tester/1.0");
    let reply = TestApp::new().send(call).await;
    assert_eq!(reply.status, StatusCode::OK);
    reply.json()
}

#[tokio::test]
async fn a_message_comes_back_as_it_is() {
    for message in [
        "hello",
        "\0",
        " ",
        "\u{1F600}",
        "line\nline",
        &"x".repeat(2000),
        &"\u{10FFFF}".repeat(2000),
    ] {
        let reply = echo(&json!({"message": message})).await;
        assert_eq!(
            reply,
            json!({
                "ok": true,
                "sandbox": true,
                "version": "v1",
                "echo": message,
                "received_at": "2026-11-21T12:00:00.000Z",
            })
        );
    }
}

#[tokio::test]
async fn headers_are_told_when_asked_for_and_sent() {
    let reply = echo(&json!({"message": "m", "echo_headers": true})).await;
    assert_eq!(
        reply["request_accept"],
        "application/json, text/plain;q=0.5"
    );
    assert_eq!(reply["request_user_agent"], "tester/1.0");

    let reply = echo(&json!({"message": "m", "echo_headers": false})).await;
    assert_eq!(reply.get("request_accept"), None);

    let bare = Call::post(PATH, r#"{"message":"m","echo_headers":true}"#);
    let reply = TestApp::new().send(bare).await.json();
    assert_eq!(reply.get("request_accept"), None);
    assert_eq!(reply.get("request_user_agent"), None);
}

#[tokio::test]
async fn get_tells_how() {
    let reply = TestApp::new().send(Call::get(PATH)).await;
    assert_eq!(reply.status, StatusCode::OK);
    let reply = reply.json();
    let members: Vec<_> = reply.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["ok", "sandbox", "version", "usage"]);
    assert_eq!(reply["version"], "v1");
}

#[tokio::test]
async fn bad_requests_are_named() {
    let app = TestApp::new();
    let long = json!({"message": "x".repeat(2001)}).to_string();
    for (body, errors) in [
        ("{}", vec![("#/message", "required")]),
        (r#"{"message":""}"#, vec![("#/message", "length")]),
        (&long, vec![("#/message", "length")]),
        (r#"{"message":null}"#, vec![("#/message", "type")]),
        (r#"{"message":["a"]}"#, vec![("#/message", "type")]),
        (r#"{"message":"\ud800"}"#, vec![("#/message", "format")]),
        (
            r#"{"message":7,"echo_headers":"yes","extra":1}"#,
            vec![
                ("#/message", "type"),
                ("#/echo_headers", "type"),
                ("#/extra", "unknown_member"),
            ],
        ),
        (
            r#"{"message":"m","echo_headers":null}"#,
            vec![("#/echo_headers", "type")],
        ),
        (
            r#"{"message":"m","message":"n"}"#,
            vec![("#/message", "duplicate_member")],
        ),
        (r#""text""#, vec![("#", "type")]),
    ] {
        let reply = app.send(Call::post(PATH, body.to_owned())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:.60}");
        assert_eq!(reply.code(), "validation_failed");
        let found = reply.errors();
        let found: Vec<_> = found.iter().map(|(p, c)| (&**p, &**c)).collect();
        assert_eq!(found, errors, "{body:.60}");
    }
}
