//! The documents by which agents and crawlers find their way in: how they are served, what they
//! say, and that nothing they name leads nowhere.

mod catalogs;
mod follow;
mod negotiation;
mod oauth;
mod serving;

use crate::prelude::*;

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Every document, the type that who asks for none gets, and what its form depends on. Whether it is long
/// enough to be compressed tells its own test.
const DOCUMENTS: &str = r#"
/ | text/html; charset=utf-8 | Accept, Accept-Language
/index.md | text/markdown; charset=utf-8 | Accept, Accept-Language
/help | text/html; charset=utf-8 | Accept, Accept-Language
/help.md | text/markdown; charset=utf-8 | Accept, Accept-Language
/developers | text/html; charset=utf-8 | Accept
/developers.md | text/markdown; charset=utf-8 | Accept
/docs | text/html; charset=utf-8 | Accept
/docs.md | text/markdown; charset=utf-8 | Accept
/docs/reference | text/html; charset=utf-8 | Accept
/docs/reference.md | text/markdown; charset=utf-8 | Accept
/embed | text/html; charset=utf-8 | Accept, Accept-Language
/embed.md | text/markdown; charset=utf-8 | Accept, Accept-Language
/auth | text/html; charset=utf-8 | Accept
/auth.md | text/markdown; charset=utf-8 | Accept
/problems | text/html; charset=utf-8 | Accept
/problems.md | text/markdown; charset=utf-8 | Accept
/problems/not_found | text/html; charset=utf-8 | Accept
/problems/not_found.md | text/markdown; charset=utf-8 | Accept
/docs/search.json | application/json |
/style.css | text/css; charset=utf-8 |
/site.js | text/javascript; charset=utf-8 |
/script/forms.js | text/javascript; charset=utf-8 |
/embed.js | text/javascript; charset=utf-8 |
/icon.svg | image/svg+xml |
/icon.png | image/png |
/favicon.ico | image/png |
/llms.txt | text/plain; charset=utf-8 |
/robots.txt | text/plain; charset=utf-8 |
/sitemap.xml | application/xml |
/openapi.json | application/json |
/api/openapi.yaml | application/yaml |
/mcp/server-card | application/mcp-server-card+json |
/.well-known/mcp/server-card.json | application/json |
/.well-known/mcp.json | application/json |
/.well-known/oauth-protected-resource | application/json |
/.well-known/oauth-authorization-server | application/json |
/.well-known/openid-configuration | application/json |
/.well-known/jwks.json | application/json | Accept
/.well-known/api-catalog | application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727" |
/.well-known/ai-catalog.json | application/json | Accept
/.well-known/ard.json | application/json | Accept
/.well-known/agent-skills/index.json | application/json |
"#;

/// The path of every document, and the type that who asks for none gets.
fn documents() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows(DOCUMENTS).map(|[path, media_type, _vary]| (path, media_type))
}

const SKILL: &str = "/.well-known/agent-skills/public-landing-api/SKILL.md";

/// The service, for a test that asks more often than a client may.
fn app() -> TestApp {
    app_at(Setup::default().base_url)
}

fn app_at(base_url: &'static str) -> TestApp {
    let wide = "1000000/60s";
    let setup = Setup::at(base_url).limit("default", wide);
    setup.limit("ip", wide).start()
}

async fn get(app: &TestApp, path: &str) -> Reply {
    app.expect("200", Call::get(path)).await
}

async fn text(app: &TestApp, path: &str) -> String {
    get(app, path).await.text().to_owned()
}
