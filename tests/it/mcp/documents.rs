//! The documents describe the MCP server as it describes itself.

use super::{initialize, listed, modern};
use crate::prelude::*;

async fn document(app: &TestApp, path: &str) -> Value {
    app.send(Call::get(path)).await.json()
}

/// That the manifest is the card with the tools, and where the server is, `discovery::catalogs` says.
#[tokio::test]
async fn card_and_manifest_are_those_of_the_running_server() {
    let app = TestApp::new();
    let handshake = app.result(initialize("2025-11-25")).await;
    let discovered = app.result(modern("server/discover", json!({}))).await;
    let card = document(&app, "/.well-known/mcp/server-card.json").await;
    let manifest = document(&app, "/.well-known/mcp.json").await;
    assert_eq!(manifest["tools"], json!(listed(&app).await));
    let info = &handshake["serverInfo"];
    for member in ["name", "title", "version", "websiteUrl"] {
        assert_eq!(card[member], info[member], "{member}");
    }
    let meta = &discovered["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"], *info);
    for member in ["capabilities", "protocolVersion"] {
        assert_eq!(card[member], handshake[member], "{member}");
    }
    let remote = &card["remotes"][0];
    assert_eq!(remote["type"], "streamable-http");
    let versions = &remote["supportedProtocolVersions"];
    assert_eq!(*versions, discovered["supportedVersions"]);
}

#[tokio::test]
async fn who_reads_finds_the_server_and_its_tools() {
    let app = TestApp::new();
    for path in ["/llms.txt", "/auth.md", "/developers.md", "/docs.md"] {
        let reply = app.send(Call::get(path)).await;
        let is_named = reply.text().contains("http://landing.example/mcp");
        assert!(is_named, "{path}");
    }
    let guide = app.send(Call::get("/docs.md")).await;
    for tool in listed(&app).await {
        let name = tool["name"].as_str().unwrap();
        assert!(guide.text().contains(&format!("`{name}`")), "{name}");
    }
}
