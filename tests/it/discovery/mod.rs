//! The documents by which agents and crawlers find their way in: how they are served, what they
//! say, and that nothing they name leads nowhere.

mod catalogs;
mod follow;
mod negotiation;
mod oauth;
mod serving;

use crate::harness::{Call, Reply, Setup, TestApp};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Every document, and the type that who asks for none gets.
const DOCUMENTS: &[(&str, &str)] = &[
    ("/", HTML),
    ("/index.md", MARKDOWN),
    ("/help", HTML),
    ("/help.md", MARKDOWN),
    ("/developers", HTML),
    ("/developers.md", MARKDOWN),
    ("/docs", HTML),
    ("/docs.md", MARKDOWN),
    ("/docs/reference", HTML),
    ("/docs/reference.md", MARKDOWN),
    ("/embed", HTML),
    ("/embed.md", MARKDOWN),
    ("/auth", HTML),
    ("/auth.md", MARKDOWN),
    ("/problems/not_found", HTML),
    ("/problems/not_found.md", MARKDOWN),
    ("/docs/search.json", JSON),
    ("/style.css", "text/css; charset=utf-8"),
    ("/site.js", "text/javascript; charset=utf-8"),
    ("/script/forms.js", "text/javascript; charset=utf-8"),
    ("/embed.js", "text/javascript; charset=utf-8"),
    ("/icon.svg", "image/svg+xml"),
    ("/icon.png", "image/png"),
    ("/llms.txt", PLAIN),
    ("/robots.txt", PLAIN),
    ("/sitemap.xml", "application/xml"),
    ("/openapi.json", JSON),
    ("/api/openapi.yaml", "application/yaml"),
    ("/mcp/server-card", "application/mcp-server-card+json"),
    ("/.well-known/mcp/server-card.json", JSON),
    ("/.well-known/mcp.json", JSON),
    ("/.well-known/oauth-protected-resource", JSON),
    ("/.well-known/oauth-authorization-server", JSON),
    ("/.well-known/openid-configuration", JSON),
    ("/.well-known/jwks.json", JSON),
    (
        "/.well-known/api-catalog",
        "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"",
    ),
    ("/.well-known/ai-catalog.json", JSON),
    ("/.well-known/ard.json", JSON),
    ("/.well-known/agent-skills/index.json", JSON),
];

const SKILL: &str = "/.well-known/agent-skills/public-landing-api/SKILL.md";

/// The service, for a test that asks more often than a client may.
fn app() -> TestApp {
    app_at(Setup::default().base_url)
}

fn app_at(base_url: &'static str) -> TestApp {
    let setup = Setup {
        base_url,
        ..Setup::default()
    };
    setup
        .limit("default", "1000000/60s")
        .limit("ip", "1000000/60s")
        .start()
}

async fn get(app: &TestApp, path: &str) -> Reply {
    let reply = app.send(Call::get(path)).await;
    assert_eq!(reply.status, 200, "{path}");
    reply
}

async fn text(app: &TestApp, path: &str) -> String {
    String::from_utf8(get(app, path).await.body.to_vec()).unwrap()
}
