//! Pages and metadata as page builders and agents read them.

use serde_json::json;

use crate::harness::{Call, TestApp};
use crate::rows::rows;

/// What is in a form with a trap hides it by itself: no style sheet may be there.
#[tokio::test]
async fn the_trap_of_every_form_is_hidden_by_its_own_attributes() {
    let app = TestApp::new();
    for path in ["/", "/newsletter", "/newsletter?lang=de", "/embed"] {
        let call = Call::get(path).header("accept", "text/html");
        let page = app.expect("200", call).await;
        // The code to copy is escaped.
        let text = page.text().replace("&lt;", "<").replace("&gt;", ">");
        for (at, _) in text.match_indices("name=\"website\"") {
            let before = &text[..at];
            let wrapper = before.rfind("<p").map(|start| &before[start..]).unwrap();
            assert!(wrapper.starts_with("<p hidden"), "{path}: {wrapper}");
        }
    }
    let script = app.expect("200", Call::get("/embed.js")).await;
    assert!(!script.text().contains("unseen"));
    assert!(!script.text().contains("location.origin"));
}

/// Header and requested revision, and the one that is agreed.
const HANDSHAKES: &str = "
- | 2025-11-25 | 2025-11-25
2025-03-26 | 2025-03-26 | 2025-11-25
2025-03-26 | 2025-06-18 | 2025-06-18
2025-06-18 | 2025-11-25 | 2025-11-25
2027-01-01 | 2027-01-01 | 2025-11-25
2024-11-05 | 2024-11-05 | 2025-11-25
nonsense | 2025-06-18 | 2025-06-18
";

#[tokio::test]
async fn a_handshake_is_negotiated_by_its_body_whatever_its_header_says() {
    let app = TestApp::new();
    let named = |call: Call, version: &str| match version {
        "-" => call,
        version => call.header("mcp-protocol-version", version),
    };
    for [header, requested, agreed] in rows(HANDSHAKES) {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": requested,
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            },
        });
        let call = named(Call::post("/mcp", message.to_string()), header);
        let reply = app.expect("200", call).await;
        let answered = &reply.json()["result"]["protocolVersion"];
        assert_eq!(answered, agreed, "{header}");
        // From then on the header counts.
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let list = || Call::post("/mcp", list.to_string());
        app.expect("200", named(list(), agreed)).await;
        let is_served = ["-", "2025-06-18", "2025-11-25"].contains(&header);
        let status = if is_served { "200" } else { "400" };
        app.expect(status, named(list(), header)).await;
    }
}

/// The MCP SDKs cannot read the metadata without one.
#[tokio::test]
async fn the_authorization_endpoint_that_the_metadata_name_grants_nothing() {
    let app = TestApp::new();
    let metadata = Call::get("/.well-known/oauth-authorization-server");
    let metadata = app.send(metadata).await.json();
    assert_eq!(metadata["response_types_supported"], json!(["none"]));
    let grants = json!(["client_credentials"]);
    assert_eq!(metadata["grant_types_supported"], grants);
    let endpoint = metadata["authorization_endpoint"].as_str().unwrap();
    let path = endpoint.strip_prefix(app.base_url).unwrap();
    for query in [
        "",
        "?response_type=code&client_id=a&redirect_uri=https://a.example/",
        "?response_type=none",
    ] {
        let call = Call::get(&format!("{path}{query}"));
        let reply = app.expect("400", call).await;
        assert_eq!(reply.json()["error"], "unsupported_response_type");
        assert_eq!(reply.header("location"), None);
    }
}
