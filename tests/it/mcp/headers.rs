//! What a message and its headers say about it: revision, method, name, capabilities.

use super::{NEWEST, REVISION, REVISIONS, list, modern, plain};
use crate::prelude::*;

/// Members of `_meta`.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn an_unknown_revision_is_refused_with_those_that_are_spoken() {
    let app = TestApp::new();
    let check = async |call: Call, requested: &str| {
        let reply = app.expect_error("400 -32022", call).await;
        let data = reply.json()["error"]["data"].clone();
        assert_eq!(data["supported"], json!(REVISIONS));
        assert_eq!(data["requested"], requested);
    };
    for version in ["2024-11-05", "2025-03-26", "2027-01-01", "1", "2026-07-28x"] {
        // Named by the header alone, and by header and message.
        check(list().header(REVISION, version), version).await;
        let call =
            listing_with(&json!({ VERSION: version, CAPABILITIES: {} })).header(REVISION, version);
        check(call.header("mcp-method", "tools/list"), version).await;
    }
}

/// `tools/list` with this `_meta`, without headers.
fn listing_with(meta: &Value) -> Call {
    plain("tools/list", &json!({ "_meta": meta }))
}

#[tokio::test]
async fn headers_have_to_say_what_the_message_says() {
    let app = TestApp::new();
    let params = json!({ "name": "echo", "arguments": { "message": "m" } });
    let echo = || modern("tools/call", params.clone());
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
        (REVISION, Some(NEWEST), true),
        (REVISION, None, false),
        (REVISION, Some("2025-11-25"), false),
        (REVISION, Some("2099-01-01"), false),
    ] {
        let call = echo().without(name).headers(name, value.as_slice());
        if is_served {
            assert_eq!(app.given(call).await["echo"], "m");
        } else {
            app.expect_error("400 -32020", call).await;
        }
    }
    // A repeated header is refused: an intermediary may have read the other value.
    for (name, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        (REVISION, NEWEST),
    ] {
        let call = echo().header(name, value);
        app.expect_error("400 -32020", call).await;
    }
    let odd = echo().without("mcp-name").header("mcp-name", b"ech\xff");
    app.expect_error("400 -32020", odd).await;
}

#[tokio::test]
async fn a_message_of_the_newest_revision_says_what_its_client_can_do() {
    let app = TestApp::new();
    let of_newest = |call: Call| {
        let call = call.header(REVISION, NEWEST);
        call.header("mcp-method", "tools/list")
    };
    app.expect_error("400 -32602", of_newest(list())).await;
    for meta in [
        json!(null),
        json!({}),
        json!({ CAPABILITIES: {} }),
        json!({ VERSION: 20_260_728, CAPABILITIES: {} }),
        json!({ VERSION: NEWEST }),
        json!({ VERSION: NEWEST, CAPABILITIES: null }),
        json!({ VERSION: NEWEST, CAPABILITIES: [] }),
        json!({ VERSION: NEWEST, CAPABILITIES: true }),
    ] {
        let call = of_newest(listing_with(&meta));
        app.expect_error("400 -32602", call).await;
    }
    for meta in [json!([]), json!("meta"), json!(7)] {
        let call = of_newest(listing_with(&meta));
        app.expect_error("400 -32600", call).await;
    }
    // `clientInfo` is optional, and unknown members are ignored.
    let more = json!({
        VERSION: NEWEST,
        CAPABILITIES: { "sampling": {}, "x": [1] },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "com.example/x": true,
    });
    let result = app.result(of_newest(listing_with(&more))).await;
    assert_eq!(result["resultType"], "complete");
}
