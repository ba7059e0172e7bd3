//! `/api/v1/sandbox/echo`.

use crate::prelude::*;

async fn echo(body: &Value) -> Value {
    let call = Call::echo()
        .body(body.to_string())
        .headers("accept", &["application/json", "text/plain;q=0.5"])
        .header("user-agent", "tester/1.0");
    TestApp::new().expect("200", call).await.json()
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
        let expected = json!({
            "ok": true,
            "sandbox": true,
            "version": "v1",
            "echo": message,
            "received_at": "2026-11-21T12:00:00.000Z",
        });
        assert_eq!(echo(&json!({"message": message})).await, expected);
    }
}

#[tokio::test]
async fn headers_are_told_when_asked_for_and_sent() {
    let asked = json!({"message": "m", "echo_headers": true});
    let reply = echo(&asked).await;
    let accept = "application/json, text/plain;q=0.5";
    assert_eq!(reply["request_accept"], accept);
    assert_eq!(reply["request_user_agent"], "tester/1.0");
    let not_asked = echo(&json!({"message": "m", "echo_headers": false})).await;
    let bare = Call::echo().body(asked.to_string());
    let not_sent = TestApp::new().send(bare).await.json();
    for reply in [not_asked, not_sent] {
        assert_eq!(reply.get("request_accept"), None);
        assert_eq!(reply.get("request_user_agent"), None);
    }
}

#[tokio::test]
async fn get_tells_how() {
    let call = Call::get("/api/v1/sandbox/echo");
    let reply = TestApp::new().expect("200", call).await.json();
    let members: Vec<_> = reply.as_object().unwrap().keys().collect();
    assert_eq!(members, ["ok", "sandbox", "version", "usage"]);
    assert_eq!(reply["version"], "v1");
}
