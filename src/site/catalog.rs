//! The table of the site: a row for each page, and for each document made from one file.

use crate::domain::Language;

use super::document::{JSON, MARKDOWN};

/// A page of the service.
#[derive(Debug)]
pub(super) struct PageRow {
    /// The path of its HTML.
    pub(super) path: &'static str,
    /// Its Markdown source.
    pub(super) template: &'static str,
    /// The layout of its HTML.
    pub(super) layout: &'static str,
    /// Its languages.
    pub(super) languages: &'static [Language],
}

/// A document made from one template.
#[derive(Debug)]
pub(super) struct DocumentRow {
    pub(super) path: &'static str,
    pub(super) template: &'static str,
    /// Its media types, the default one first.
    pub(super) media_types: &'static [&'static str],
}

/// The page of visitors' questions.
pub(super) const HELP: &str = "/help";
/// The developers' guide, which the search covers beside the reference.
pub(super) const GUIDE: &str = "/docs";

/// The `Link` header of the home page, besides its Markdown.
pub(super) const HOME_LINK: &str = "</.well-known/api-catalog>; rel=\"api-catalog\"; type=\"application/linkset+json\", \
     </openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
     </llms.txt>; rel=\"service-doc\"; type=\"text/plain\", \
     </.well-known/ai-catalog.json>; rel=\"ai-catalog\"; type=\"application/json\"";

/// The layout of most pages, and of pages without a row.
const ARTICLE: &str = "parts/article.html";
const ALL: &[Language] = &Language::ALL;
const ENGLISH: &[Language] = &[Language::English];

/// The pages, in the order of the sitemap.
pub(super) const PAGES: &[PageRow] = &[
    PageRow::new("/", "index.md", "home.html", ALL),
    PageRow::new(HELP, "help.md", ARTICLE, ALL),
    PageRow::new(
        "/developers",
        "developers.md",
        "parts/developers.html",
        ENGLISH,
    ),
    PageRow::new(GUIDE, "guide.md", "parts/guide.html", ENGLISH),
    PageRow::new(
        "/docs/reference",
        "parts/reference_page.md",
        "parts/reference.html",
        ENGLISH,
    ),
    PageRow::new("/problems", "parts/problems_page.md", ARTICLE, ENGLISH),
    PageRow::new("/embed", "parts/embed_page.md", "parts/embed.html", ALL),
    PageRow::new("/auth", "auth.md", ARTICLE, ENGLISH),
];

impl PageRow {
    /// The row of the operator's own pages.
    pub(super) const OWN: Self = Self::new("", "", ARTICLE, ALL);
    /// The row of the pages of problem codes.
    pub(super) const PROBLEM: Self = Self::new("", "problem.md", ARTICLE, ENGLISH);

    const fn new(
        path: &'static str,
        template: &'static str,
        layout: &'static str,
        languages: &'static [Language],
    ) -> Self {
        Self {
            path,
            template,
            layout,
            languages,
        }
    }
}

/// The frame of every page.
pub(super) const FRAME: &str = "page.html";
/// The newsletter's form.
pub(super) const SIGN_UP: &str = "parts/sign_up.html";

const PLAIN: &str = "text/plain; charset=utf-8";
const XML: &str = "application/xml";
const JWK_SET: &str = "application/jwk-set+json";
const CARD: &str = "application/mcp-server-card+json";
const AI_CATALOG: &str = "application/ai-catalog+json";
/// RFC 9727, sections 4.1 and 4.2.
pub(super) const API_CATALOG: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// A table of documents: path, template and media types.
macro_rules! documents {
    ($($path:literal $template:literal [$($media_type:ident)+];)+) => {
        &[$(DocumentRow {
            path: $path,
            template: $template,
            media_types: &[$($media_type),+],
        }),+]
    };
}

/// The documents. One that readers expect at two paths has two rows.
pub(super) const DOCUMENTS: &[DocumentRow] = documents! {
    "/.well-known/oauth-protected-resource" "well-known/oauth-protected-resource.json" [JSON];
    "/.well-known/oauth-authorization-server" "well-known/oauth-authorization-server.json" [JSON];
    "/.well-known/openid-configuration" "well-known/openid-configuration.json" [JSON];
    "/.well-known/jwks.json" "well-known/jwks.json" [JSON JWK_SET];
    "/.well-known/api-catalog" "well-known/api-catalog.json" [API_CATALOG];
    "/.well-known/mcp.json" "well-known/mcp.json" [JSON];
    "/.well-known/mcp/server-card.json" "well-known/mcp/server-card.json" [JSON];
    "/mcp/server-card" "well-known/mcp/server-card.json" [CARD];
    "/.well-known/ai-catalog.json" "well-known/ai-catalog.json" [JSON AI_CATALOG];
    "/.well-known/ard.json" "well-known/ai-catalog.json" [JSON AI_CATALOG];
    "/.well-known/agent-skills/index.json" "well-known/agent-skills/index.json" [JSON];
    "/.well-known/agent-skills/public-landing-api/SKILL.md" "skills/public-landing-api/SKILL.md" [MARKDOWN];
    "/docs/search.json" "parts/search.json" [JSON];
    "/llms.txt" "llms.txt" [PLAIN];
    "/robots.txt" "robots.txt" [PLAIN];
    "/sitemap.xml" "sitemap.xml" [XML];
};
