//! The rules of the protocol, with a handshake and stateless.

use super::{
    MCP, NEWEST, REVISION, REVISIONS, call, call_raw, client_at, failure, given, initialize, list,
    modern, ping, plain, raw, result,
};
use crate::prelude::*;

/// Header and requested revision, and the one that is agreed. The newest has no handshake.
const HANDSHAKES: &str = "
- | 2025-06-18 | 2025-06-18
- | 2025-11-25 | 2025-11-25
- | 2024-11-05 | 2025-11-25
- | 2026-07-28 | 2025-11-25
- | 2099-01-01 | 2025-11-25
- | nonsense | 2025-11-25
2025-03-26 | 2025-03-26 | 2025-11-25
2025-03-26 | 2025-06-18 | 2025-06-18
2025-06-18 | 2025-11-25 | 2025-11-25
2027-01-01 | 2027-01-01 | 2025-11-25
2024-11-05 | 2024-11-05 | 2025-11-25
nonsense | 2025-06-18 | 2025-06-18
";

#[tokio::test]
async fn a_handshake_agrees_on_a_revision_that_has_one_whatever_its_header_says() {
    let app = TestApp::new();
    let named = |call: Call, version: &str| match version {
        "-" => call,
        version => call.header(REVISION, version),
    };
    for [header, requested, agreed] in rows(HANDSHAKES) {
        let reply = app.send(named(initialize(requested), header)).await;
        let result = result(&reply);
        assert_eq!(result["protocolVersion"], agreed, "{requested}");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "example.landing/public-api");
        assert_eq!(result["serverInfo"]["title"], "Landing API");
        assert_eq!(reply.header("mcp-session-id"), None);
        // From then on the header counts.
        app.expect("200", named(list(), agreed)).await;
        let is_served = ["-", "2025-06-18", "2025-11-25"].contains(&header);
        let status = if is_served { "200" } else { "400" };
        app.expect(status, named(list(), header)).await;
    }
    let initialized = raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = initialized.header(REVISION, "2025-11-25");
    app.expect("202", call).await;
    assert_eq!(app.result(ping()).await, json!({}));
}

#[tokio::test]
async fn the_older_revisions_are_served_with_and_without_their_header() {
    let app = TestApp::new();
    for version in [None, Some("2025-06-18"), Some("2025-11-25")] {
        let named = |call: Call| call.headers(REVISION, version.as_slice());
        let list = app.result(named(list())).await;
        let members: Vec<_> = list.as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "what is newer is not told");
        let echo = call("echo", &json!({ "message": "hello" }));
        let echo = app.send(named(echo)).await;
        assert_eq!(given(&echo)["echo"], "hello");
        let members = result(&echo);
        assert_eq!(members.get("resultType"), None);
        assert_eq!(members.get("_meta"), None);
    }
}

#[tokio::test]
async fn the_newest_revision_needs_no_handshake() {
    let app = TestApp::new();
    let server_info = |result: &Value| {
        assert_eq!(result["resultType"], "complete");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "example.landing/public-api");
        info.clone()
    };
    let discovered = app.result(modern("server/discover", json!({}))).await;
    assert_eq!(discovered["supportedVersions"], json!(REVISIONS));
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    let info = server_info(&discovered);
    let listed = app.result(modern("tools/list", json!({}))).await;
    assert_eq!(server_info(&listed), info);
    for cached in [&discovered, &listed] {
        assert_eq!(cached["ttlMs"], 3_600_000);
        assert_eq!(cached["cacheScope"], "public");
    }
    let echo = json!({ "name": "echo", "arguments": { "message": "hello" } });
    let reply = app.send(modern("tools/call", echo)).await;
    assert_eq!(given(&reply)["echo"], "hello");
    assert_eq!(server_info(&result(&reply)), info);
    let failing = json!({ "name": "echo", "arguments": {} });
    let reply = app.send(modern("tools/call", failing)).await;
    assert!(failure(&reply).contains("#/message"));
    assert_eq!(server_info(&result(&reply)), info);
    // The same tools as with a handshake.
    let plain = app.result(list()).await;
    assert_eq!(listed["tools"], plain["tools"]);
}

/// JSON that is no request and no notification.
const NO_MESSAGES: &str = r#"
{}
null
1
"ping"
{"a":1}
{"id":1,"method":"ping"}
{"jsonrpc":"1.0","id":1,"method":"ping"}
{"jsonrpc":2.0,"id":1,"method":"ping"}
{"jsonrpc":"2.0","id":1}
{"jsonrpc":"2.0","id":1,"method":7}
{"jsonrpc":"2.0","id":null,"method":"ping"}
{"jsonrpc":"2.0","id":1.5,"method":"ping"}
{"jsonrpc":"2.0","id":1.0,"method":"ping"}
{"jsonrpc":"2.0","id":1e30,"method":"ping"}
{"jsonrpc":"2.0","id":-9223372036854775809,"method":"ping"}
{"jsonrpc":"2.0","id":{},"method":"ping"}
{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}
{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}
{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"all"}
{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_health","name":"echo"}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"arguments":{}}}
{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}}}
{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}
"#;

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let app = TestApp::new();
    let check = async |error: &str, body: &str| {
        let reply = app.expect_error(error, raw(body)).await;
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.len() < 120, "what was sent is not repeated");
    };
    for body in ["", " ", "{", "{\"jsonrpc\":\"2.0\"", "{}{}", "nonsense"] {
        check("400 -32700", body).await;
    }
    for body in NO_MESSAGES.trim().lines() {
        check("400 -32600", body).await;
    }
    // Batches, which no served revision has.
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for body in ["[]", batch, r#" [1, {"arguments":{}}]"#, &deep()] {
        check("400 -32600", body).await;
    }
    let not_utf8 = Call::post(MCP, &b"{\"jsonrpc\":\"\xff\"}"[..]);
    app.expect_error("400 -32700", not_utf8).await;
}

fn deep() -> String {
    format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))
}

#[tokio::test]
async fn what_nobody_asks_for_may_be_nested_as_deep_as_it_likes() {
    let app = TestApp::new();
    let deep = deep();
    // Inside the arguments the parser of the operation decides, as over HTTP.
    for (arguments, complaint) in [
        (format!(r#"{{"message":{deep}}}"#), "must be a string"),
        (format!(r#"{{"message":"m","x":{deep}}}"#), "is not a field"),
    ] {
        let words = app.failure(call_raw("echo", &arguments)).await;
        assert!(words.contains(complaint), "{words}");
    }
    // Nobody reads what is outside of them.
    let beside = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#);
    assert_eq!(app.result(raw(&beside)).await, json!({}));
}

/// Method, parameters, then status and code: with a handshake, and stateless.
const UNANSWERABLE: &str = r#"
nonsense | {} | 200 -32601 | 404 -32601
Tools/List | {} | 200 -32601 | 404 -32601
prompts/list | {} | 200 -32601 | 404 -32601
resources/list | {} | 200 -32601 | 404 -32601
resources/templates/list | {} | 200 -32601 | 404 -32601
completion/complete | {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}} | 200 -32601 | 404 -32601
logging/setLevel | {"level":"info"} | 200 -32601 | 404 -32601
subscriptions/listen | {"notifications":{}} | 200 -32601 | 404 -32601
tools/call | {"name":"drop_tables","arguments":{}} | 200 -32602 | 200 -32602
tools/call | {"name":"ECHO"} | 200 -32602 | 200 -32602
tools/call | {"name":""} | 200 -32602 | 200 -32602
tools/call | {"name":"echo","arguments":[]} | 200 -32602 | 200 -32602
tools/call | {"name":"echo","arguments":"hello"} | 200 -32602 | 200 -32602
"#;

#[tokio::test]
async fn requests_that_cannot_be_answered_get_the_error_of_their_way() {
    let app = TestApp::new();
    for [method, params, in_plain, in_modern] in rows(UNANSWERABLE) {
        let params: Value = serde_json::from_str(params).unwrap();
        app.expect_error(in_plain, plain(method, &params)).await;
        app.expect_error(in_modern, modern(method, params)).await;
    }
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}"#,
    ] {
        app.expect_error("200 -32602", raw(body)).await;
    }
}

#[tokio::test]
async fn the_newest_revision_has_no_handshake_and_no_ping() {
    let app = TestApp::new();
    for call in [
        modern("initialize", client_at(NEWEST)),
        modern("initialize", json!({})),
        modern("ping", json!({})),
    ] {
        app.expect_error("404 -32601", call).await;
    }
    // The older revisions have no discovery: who discovers says a revision.
    let discover = plain("server/discover", &json!({}));
    app.expect_error("400 -32602", discover).await;
}

#[tokio::test]
async fn answers_bear_the_id_of_their_request() {
    let app = TestApp::new();
    for id in [
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_993_i64),
        json!(-18_083_391),
        json!(""),
        json!("a\u{e9}\"\n"),
        json!("x".repeat(5000)),
    ] {
        let message = |method: &str| {
            raw(&json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string())
        };
        for (status, call) in [
            ("200", message("ping")),
            ("200", message("nonsense")),
            ("400", message("ping").header(REVISION, "2025-03-26")),
            ("400", message("ping").headers("mcp-method", &["ping"; 2])),
        ] {
            assert_eq!(app.expect(status, call).await.json()["id"], id);
        }
    }
    // An id may be reused.
    for _ in 0..2 {
        assert_eq!(app.result(ping()).await, json!({}));
    }
}

#[tokio::test]
async fn notifications_are_taken_without_a_word() {
    let app = TestApp::new();
    let ada = json!({ "email": "ada@example.com" });
    let sign_up = json!({ "name": "subscribe_newsletter", "arguments": ada });
    for (method, params) in [
        ("notifications/initialized", json!({})),
        ("notifications/cancelled", json!({ "requestId": 1 })),
        ("notifications/nonsense", json!({ "x": [1] })),
        // A notification calls no tool.
        ("tools/call", sign_up),
    ] {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        let reply = app.expect("202", raw(&body)).await;
        assert_eq!(reply.body, "");
        assert_eq!(reply.header("content-type"), None);
    }
    assert!(app.contacts.is_empty());
    let unknown = raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let unknown = unknown.header(REVISION, "2025-03-26");
    app.expect_error("400 -32022", unknown).await;
}
