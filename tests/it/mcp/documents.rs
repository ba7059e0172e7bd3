//! The documents describe the MCP server as it describes itself.

use serde_json::{Value, json};

use crate::harness::{Call, Setup, TestApp};

use super::{initialize, listed, modern, ping};

async fn document(app: &TestApp, path: &str) -> Value {
    app.send(Call::get(path)).await.json()
}

#[tokio::test]
async fn card_and_manifest_are_those_of_the_running_server() {
    let app = TestApp::new();
    let handshake = app.result(initialize("2025-11-25")).await;
    let discovered = app.result(modern("server/discover", json!({}))).await;
    let card = document(&app, "/.well-known/mcp/server-card.json").await;
    assert_eq!(document(&app, "/mcp/server-card").await, card);
    let mut manifest = document(&app, "/.well-known/mcp.json").await;
    assert_eq!(manifest["tools"], json!(listed(&app).await));
    manifest.as_object_mut().unwrap().remove("tools");
    assert_eq!(manifest, card);

    let info = &handshake["serverInfo"];
    for member in ["name", "title", "version", "websiteUrl"] {
        assert_eq!(card[member], info[member], "{member}");
    }
    for member in ["name", "title", "version"] {
        assert_eq!(card["serverInfo"][member], info[member], "{member}");
    }
    assert_eq!(
        &discovered["_meta"]["io.modelcontextprotocol/serverInfo"],
        info
    );
    assert_eq!(card["capabilities"], handshake["capabilities"]);
    assert_eq!(card["protocolVersion"], handshake["protocolVersion"]);
    let remote = &card["remotes"][0];
    assert_eq!(remote["type"], "streamable-http");
    assert_eq!(
        remote["supportedProtocolVersions"],
        discovered["supportedVersions"]
    );
    for url in [
        &remote["url"],
        &card["endpoint"],
        &card["transport"]["endpoint"],
    ] {
        assert_eq!(url, "http://landing.example/mcp");
    }
}

#[tokio::test]
async fn the_card_leads_from_the_catalog_to_a_server_that_answers() {
    let app = Setup {
        base_url: "https://api.example.com",
        ..Setup::default()
    }
    .start();
    let local = |url: &Value| {
        let url = url.as_str().unwrap();
        url.strip_prefix("https://api.example.com")
            .unwrap()
            .to_owned()
    };
    let catalog = document(&app, "/.well-known/ai-catalog.json").await;
    let entries = catalog["entries"].as_array().unwrap();
    let is_card = |entry: &&Value| entry["type"] == "application/mcp-server-card+json";
    let entry = entries.iter().find(is_card).unwrap();
    let reply = app.send(Call::get(&local(&entry["url"]))).await;
    assert_eq!(
        reply.header("content-type"),
        Some("application/mcp-server-card+json")
    );
    let card = reply.json();
    assert_eq!(card["name"], "com.example.api/public-api");
    let endpoint = local(&card["remotes"][0]["url"]);
    assert_eq!(app.result(ping().to(&endpoint)).await, json!({}));
}

#[tokio::test]
async fn who_reads_finds_the_server_and_its_tools() {
    let app = TestApp::new();
    for path in ["/llms.txt", "/auth.md", "/developers.md", "/docs.md"] {
        let reply = app.send(Call::get(path)).await;
        assert!(
            reply.text().contains("http://landing.example/mcp"),
            "{path}"
        );
    }
    let guide = app.send(Call::get("/docs.md")).await;
    for tool in listed(&app).await {
        let name = tool["name"].as_str().unwrap();
        assert!(guide.text().contains(&format!("`{name}`")), "{name}");
    }
}
