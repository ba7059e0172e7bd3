//! What a message and its headers say about it: revision, method, name, capabilities.

use serde_json::json;

use crate::harness::{Call, TestApp};

use super::{NEWEST, REVISIONS, error, given, initialize, modern, plain, result};

#[tokio::test]
async fn an_unknown_revision_is_refused_with_those_that_are_spoken() {
    let app = TestApp::new();
    let check = async |call: Call, requested: &str| {
        let reply = app.send(call).await;
        assert_eq!(error(&reply), (400, -32022), "{requested}");
        let data = reply.json()["error"]["data"].clone();
        assert_eq!(data["supported"], json!(REVISIONS));
        assert_eq!(data["requested"], requested);
    };
    for version in ["2024-11-05", "2025-03-26", "2027-01-01", "1", "2026-07-28x"] {
        // Named by the header alone, and by header and message.
        let list = plain("tools/list", &json!({}));
        check(list.header("mcp-protocol-version", version), version).await;
        let list = naming(version).header("mcp-protocol-version", version);
        check(list.header("mcp-method", "tools/list"), version).await;
    }
    let handshake = initialize("2025-03-26").header("mcp-protocol-version", "2025-03-26");
    check(handshake, "2025-03-26").await;
}

/// `tools/list` that names `version` itself, without headers.
fn naming(version: &str) -> Call {
    plain(
        "tools/list",
        &json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }}),
    )
}

#[tokio::test]
async fn headers_have_to_say_what_the_message_says() {
    let app = TestApp::new();
    let echo = || {
        modern(
            "tools/call",
            json!({ "name": "echo", "arguments": { "message": "m" } }),
        )
    };
    for (name, value, is_served) in [
        ("mcp-method", Some("tools/call"), true),
        ("mcp-method", None, false),
        ("mcp-method", Some("tools/list"), false),
        ("mcp-method", Some("TOOLS/CALL"), false),
        ("mcp-method", Some(""), false),
        ("mcp-name", Some("echo"), true),
        ("mcp-name", Some("=?base64?ZWNobw==?="), true),
        ("mcp-name", None, false),
        ("mcp-name", Some("check_health"), false),
        ("mcp-name", Some("Echo"), false),
        ("mcp-name", Some("=?base64?ZWNob?="), false),
        ("mcp-name", Some("=?base64?****?="), false),
        ("mcp-protocol-version", Some(NEWEST), true),
        ("mcp-protocol-version", None, false),
        ("mcp-protocol-version", Some("2025-11-25"), false),
        ("mcp-protocol-version", Some("2099-01-01"), false),
    ] {
        let mut call = echo().without(name);
        if let Some(value) = value {
            call = call.header(name, value);
        }
        let reply = app.send(call).await;
        if is_served {
            assert_eq!(given(&reply)["echo"], "m");
        } else {
            assert_eq!(error(&reply), (400, -32020), "{name}: {value:?}");
        }
    }
    // A repeated header is refused: an intermediary may have read the other value.
    for (name, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        ("mcp-protocol-version", NEWEST),
    ] {
        let reply = app.send(echo().header(name, value)).await;
        assert_eq!(error(&reply), (400, -32020), "{name}");
    }
    let odd = echo().without("mcp-name").header("mcp-name", b"ech\xff");
    assert_eq!(error(&app.send(odd).await), (400, -32020));
}

#[tokio::test]
async fn a_message_of_the_newest_revision_says_what_its_client_can_do() {
    let app = TestApp::new();
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for meta in [
        json!(null),
        json!({}),
        json!({ capabilities: {} }),
        json!({ version: 20_260_728, capabilities: {} }),
        json!({ version: NEWEST }),
        json!({ version: NEWEST, capabilities: null }),
        json!({ version: NEWEST, capabilities: [] }),
        json!({ version: NEWEST, capabilities: true }),
    ] {
        let list = plain("tools/list", &json!({ "_meta": meta }))
            .header("mcp-protocol-version", NEWEST)
            .header("mcp-method", "tools/list");
        assert_eq!(error(&app.send(list).await), (400, -32602), "{meta}");
    }
    let without = plain("tools/list", &json!({}))
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", "tools/list");
    assert_eq!(error(&app.send(without).await), (400, -32602));
    for meta in [json!([]), json!("meta"), json!(7)] {
        let list = plain("tools/list", &json!({ "_meta": meta }))
            .header("mcp-protocol-version", NEWEST)
            .header("mcp-method", "tools/list");
        assert_eq!(error(&app.send(list).await), (400, -32600), "{meta}");
    }
    // `clientInfo` is optional, and unknown members are ignored.
    let more = json!({ "_meta": {
        version: NEWEST,
        capabilities: { "sampling": {}, "x": [1] },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "com.example/x": true,
    }});
    let list = plain("tools/list", &more)
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", "tools/list");
    assert_eq!(result(&app.send(list).await)["resultType"], "complete");
}
