//! The rules of the protocol, with a handshake and stateless.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Call, TestApp};

use super::{
    MCP, NEWEST, REVISIONS, call, error, failure, given, initialize, modern, plain, raw, result,
};

#[tokio::test]
async fn a_handshake_agrees_on_a_revision_that_has_one() {
    let app = TestApp::new();
    for (requested, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2025-03-26", "2025-11-25"),
        // The stateless revision has no handshake.
        (NEWEST, "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let reply = app.send(initialize(requested)).await;
        let result = result(&reply);
        assert_eq!(result["protocolVersion"], agreed, "{requested}");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "example.landing/public-api");
        assert_eq!(result["serverInfo"]["title"], "Landing API");
        assert_eq!(reply.header("mcp-session-id"), None);
    }
    let initialized = raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let reply = app
        .send(initialized.header("mcp-protocol-version", "2025-11-25"))
        .await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    let pong = app.send(plain("ping", &json!({}))).await;
    assert_eq!(result(&pong), json!({}));
}

#[tokio::test]
async fn the_older_revisions_are_served_with_and_without_their_header() {
    let app = TestApp::new();
    for version in [None, Some("2025-06-18"), Some("2025-11-25")] {
        let mut list = plain("tools/list", &json!({}));
        let mut echo = call("echo", &json!({ "message": "hello" }));
        if let Some(version) = version {
            list = list.header("mcp-protocol-version", version);
            echo = echo.header("mcp-protocol-version", version);
        }
        let list = result(&app.send(list).await);
        let members: Vec<_> = list.as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "what is newer is not told");
        let echo = app.send(echo).await;
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
    let discovered = result(&app.send(modern("server/discover", json!({}))).await);
    assert_eq!(discovered["supportedVersions"], json!(REVISIONS));
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    let info = server_info(&discovered);
    let listed = result(&app.send(modern("tools/list", json!({}))).await);
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
    let plain = result(&app.send(plain("tools/list", &json!({}))).await);
    assert_eq!(listed["tools"], plain["tools"]);
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let app = TestApp::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (body, code) in [
        ("", -32700),
        (" ", -32700),
        ("{", -32700),
        ("{\"jsonrpc\":\"2.0\"", -32700),
        ("{}{}", -32700),
        ("nonsense", -32700),
        ("{}", -32600),
        ("null", -32600),
        ("1", -32600),
        ("\"ping\"", -32600),
        (r#"{"a":1}"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1e30,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":-9223372036854775809,"method":"ping"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"all"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#,
            -32600,
        ),
        // Batches, which no served revision has.
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#" [1, {"arguments":{}}]"#, -32600),
        // A response, though no request was sent.
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
            -32600,
        ),
        (&deep, -32600),
    ] {
        let reply = app.send(raw(body)).await;
        assert_eq!(error(&reply), (400, code), "{body:.80}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.len() < 120, "what was sent is not repeated");
    }
    let not_utf8 = Call::post(MCP, &b"{\"jsonrpc\":\"\xff\"}"[..]);
    assert_eq!(error(&app.send(not_utf8).await), (400, -32700));
}

#[tokio::test]
async fn what_nobody_asks_for_may_be_nested_as_deep_as_it_likes() {
    let app = TestApp::new();
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let message = |arguments: &str| {
        raw(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        ))
    };
    // Inside the arguments the parser of the operation decides, as over HTTP.
    for (arguments, complaint) in [
        (
            format!(r#"{{"message":{deep}}}"#),
            "#/message: must be a string",
        ),
        (
            format!(r#"{{"message":"m","x":{deep}}}"#),
            "#/x: is not a member",
        ),
        (
            r#"{"message":"\ud800"}"#.to_owned(),
            "#/message: must be Unicode text",
        ),
        (
            r#"{"message":1e999}"#.to_owned(),
            "#/message: must be a string",
        ),
        (
            r#"{"message":"m","message":"m"}"#.to_owned(),
            "#/message: occurs more than once",
        ),
    ] {
        let words = failure(&app.send(message(&arguments)).await);
        assert!(words.contains(complaint), "{words}");
    }
    // Outside the arguments deep nesting and oversize are refused.
    let much = json!({ "x": "m".repeat(64 * 1024) });
    let reply = app.send(plain("ping", &much)).await;
    assert_eq!(error(&reply), (400, -32600));
    assert_eq!(reply.json()["id"], 1);
    let less = json!({ "x": "m".repeat(63 * 1024) });
    assert_eq!(result(&app.send(plain("ping", &less)).await), json!({}));
    let beside = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#);
    assert_eq!(error(&app.send(raw(&beside)).await), (400, -32600));
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
tools/list | {"cursor":"2"} | 200 -32602 | 200 -32602
"#;

#[tokio::test]
async fn requests_that_cannot_be_answered_get_the_error_of_their_way() {
    let app = TestApp::new();
    for line in UNANSWERABLE.trim().lines() {
        let [method, params, in_plain, in_modern] = line.split(" | ").collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let params: Value = serde_json::from_str(params).unwrap();
        let told = |(status, code): (u16, i64)| format!("{status} {code}");
        let reply = app.send(plain(method, &params)).await;
        assert_eq!(told(error(&reply)), in_plain, "{line}");
        let reply = app.send(modern(method, params)).await;
        assert_eq!(told(error(&reply)), in_modern, "{line}");
    }
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
    ] {
        assert_eq!(error(&app.send(raw(body)).await), (200, -32602), "{body}");
    }
}

#[tokio::test]
async fn the_newest_revision_has_no_handshake_and_no_ping() {
    let app = TestApp::new();
    let whole = json!({
        "protocolVersion": NEWEST,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    for (method, params) in [
        ("initialize", whole),
        ("initialize", json!({})),
        ("ping", json!({})),
    ] {
        let reply = app.send(modern(method, params)).await;
        assert_eq!(error(&reply), (404, -32601), "{method}");
    }
    // The older revisions have no discovery.
    let reply = app.send(plain("server/discover", &json!({}))).await;
    assert_eq!(
        error(&reply),
        (400, -32602),
        "who discovers says a revision"
    );
}

#[tokio::test]
async fn answers_bear_the_id_of_their_request() {
    let app = TestApp::new();
    for id in [
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_993_i64),
        json!(-18_083_391.0),
        json!(""),
        json!("a\u{e9}\"\n"),
        json!("x".repeat(5000)),
    ] {
        for (method, status) in [("ping", 200), ("nonsense", 200)] {
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string();
            let reply = app.send(raw(&body)).await;
            assert_eq!(reply.status.as_u16(), status);
            assert_eq!(reply.json()["id"], id);
        }
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
        let refused = raw(&body).header("mcp-protocol-version", "2025-03-26");
        assert_eq!(app.send(refused).await.json()["id"], id);
        let refused = raw(&body)
            .header("mcp-method", "ping")
            .header("mcp-method", "ping");
        assert_eq!(app.send(refused).await.json()["id"], id);
    }
    // An id may be reused.
    for _ in 0..2 {
        assert_eq!(
            result(&app.send(plain("ping", &json!({}))).await),
            json!({})
        );
    }
}

#[tokio::test]
async fn notifications_are_taken_without_a_word() {
    let app = TestApp::new();
    for (method, params) in [
        ("notifications/initialized", json!({})),
        ("notifications/cancelled", json!({ "requestId": 1 })),
        ("notifications/nonsense", json!({ "x": [1] })),
        // A notification calls no tool.
        (
            "tools/call",
            json!({ "name": "subscribe_newsletter", "arguments": { "email": "a@example.com" } }),
        ),
    ] {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        let reply = app.send(raw(&body)).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{method}");
        assert_eq!(reply.body, "");
        assert_eq!(reply.header("content-type"), None);
    }
    assert!(app.contacts.is_empty());
    let unknown = raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .header("mcp-protocol-version", "2025-03-26");
    assert_eq!(error(&app.send(unknown).await), (400, -32022));
}
