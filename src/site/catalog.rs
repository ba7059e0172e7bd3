//! The table of the site: a row for each page, and for each document made from one file.

use bytes::Bytes;

use crate::domain::Language;

use super::document::{Document, JSON, MAX_AGE_S, PAGE_MAX_AGE_S, Representation, fingerprint};
use super::image::{Logo, PNG, SVG};

/// A page of the service.
#[derive(Debug)]
pub(super) struct PageRow {
    /// The path of its HTML.
    pub(super) path: &'static str,
    /// Its Markdown source.
    pub(super) template: &'static str,
    /// The layout of its HTML.
    pub(super) layout: &'static str,
    /// Its `Link` header, besides its Markdown.
    pub(super) link: Option<&'static str>,
    /// The template at the end of its Markdown, if any.
    pub(super) markdown_end: Option<&'static str>,
    /// Its languages.
    pub(super) languages: &'static [Language],
    /// True if the assistant may quote it.
    pub(super) is_quoted: bool,
    /// True if the site's search covers it and the reference.
    pub(super) is_searched: bool,
}

/// A document made from one template.
#[derive(Debug)]
pub(super) struct DocumentRow {
    pub(super) path: &'static str,
    pub(super) template: &'static str,
    /// Its media types, the default one first.
    pub(super) media_types: &'static [&'static str],
    /// Lifetime in caches, in seconds.
    pub(super) max_age_s: u32,
    /// The value of its `Link` header; empty if it has none.
    pub(super) link: &'static str,
}

/// The pages, in the order of the sitemap.
pub(super) const PAGES: &[PageRow] = &[
    PageRow {
        path: "/",
        template: "index.md",
        layout: "home.html",
        link: Some(
            "</.well-known/api-catalog>; rel=\"api-catalog\"; type=\"application/linkset+json\", \
             </openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
             </llms.txt>; rel=\"service-doc\"; type=\"text/plain\", \
             </.well-known/ai-catalog.json>; rel=\"ai-catalog\"; type=\"application/json\"",
        ),
        languages: &Language::ALL,
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/help",
        template: "help.md",
        languages: &Language::ALL,
        is_quoted: true,
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/developers",
        template: "developers.md",
        layout: "parts/developers.html",
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/docs",
        template: "guide.md",
        layout: "parts/guide.html",
        is_quoted: true,
        is_searched: true,
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/docs/reference",
        template: "parts/reference_page.md",
        layout: "parts/reference.html",
        markdown_end: Some("parts/reference.md"),
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/problems",
        template: "parts/problems_page.md",
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/embed",
        template: "parts/embed_page.md",
        layout: "parts/embed.html",
        languages: &Language::ALL,
        ..PageRow::ARTICLE
    },
    PageRow {
        path: "/auth",
        template: "auth.md",
        ..PageRow::ARTICLE
    },
];

impl PageRow {
    /// Defaults of most rows, and of pages without a row.
    pub(super) const ARTICLE: Self = Self {
        path: "",
        template: "",
        layout: "parts/article.html",
        link: None,
        markdown_end: None,
        languages: &[Language::English],
        is_quoted: false,
        is_searched: false,
    };
}

/// The page of a problem code, rendered once for each.
pub(super) const PROBLEM: &str = "problem.md";

/// The frame of every page.
pub(super) const FRAME: &str = "page.html";
/// The newsletter's form.
pub(super) const SIGN_UP: &str = "parts/sign_up.html";

const PLAIN: &str = "text/plain; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const XML: &str = "application/xml";
const JWK_SET: &str = "application/jwk-set+json";
const CARD: &str = "application/mcp-server-card+json";
const AI_CATALOG: &str = "application/ai-catalog+json";
/// RFC 9727, sections 4.1 and 4.2.
const API_CATALOG: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// A table of documents: path, template, media types, lifetime in caches in seconds, and the value of the
/// `Link` header, if any.
macro_rules! documents {
    ($($path:literal $template:literal [$($media_type:ident)+] $max_age_s:ident $($link:literal)?;)+) => {
        &[$(DocumentRow {
            path: $path,
            template: $template,
            media_types: &[$($media_type),+],
            max_age_s: $max_age_s,
            link: concat!($($link)?),
        }),+]
    };
}

/// The documents. One that readers expect at two paths has two rows. Assets of pages are cached no longer
/// than the pages.
pub(super) const DOCUMENTS: &[DocumentRow] = documents! {
    "/.well-known/oauth-protected-resource" "well-known/oauth-protected-resource.json" [JSON] MAX_AGE_S;
    "/.well-known/oauth-authorization-server" "well-known/oauth-authorization-server.json" [JSON] MAX_AGE_S;
    "/.well-known/openid-configuration" "well-known/openid-configuration.json" [JSON] MAX_AGE_S;
    "/.well-known/jwks.json" "well-known/jwks.json" [JSON JWK_SET] MAX_AGE_S;
    "/.well-known/api-catalog" "well-known/api-catalog.json" [API_CATALOG] MAX_AGE_S
        "</.well-known/api-catalog>; rel=\"api-catalog\"";
    "/.well-known/mcp.json" "well-known/mcp.json" [JSON] MAX_AGE_S;
    "/.well-known/mcp/server-card.json" "well-known/mcp/server-card.json" [JSON] MAX_AGE_S;
    "/mcp/server-card" "well-known/mcp/server-card.json" [CARD] MAX_AGE_S;
    "/.well-known/ai-catalog.json" "well-known/ai-catalog.json" [JSON AI_CATALOG] MAX_AGE_S;
    "/.well-known/ard.json" "well-known/ai-catalog.json" [JSON AI_CATALOG] MAX_AGE_S;
    "/.well-known/agent-skills/index.json" "well-known/agent-skills/index.json" [JSON] MAX_AGE_S;
    "/llms.txt" "llms.txt" [PLAIN] MAX_AGE_S;
    "/robots.txt" "robots.txt" [PLAIN] MAX_AGE_S;
    "/sitemap.xml" "sitemap.xml" [XML] MAX_AGE_S;
    "/style.css" "style.css" [CSS] PAGE_MAX_AGE_S;
    "/icon.svg" "icon.svg" [SVG] PAGE_MAX_AGE_S;
};

/// The icon for clients that don't support SVG: phones and link previews, and browsers that show none of our
/// pages, which request the second one. It is the operator's, if that is a PNG.
pub(super) fn touch_icons(logo: Option<&Logo>) -> [Document; 2] {
    const DEFAULT: &[u8] = include_bytes!("../../data/icon.png");
    let bytes = match logo {
        Some(Logo::Png(bytes)) => bytes.clone(),
        Some(Logo::Svg(_)) | None => Bytes::from_static(DEFAULT),
    };
    ["/icon.png", "/favicon.ico"].map(|path| {
        let form = Representation::new(PNG, bytes.clone());
        Document::new(path, PAGE_MAX_AGE_S, vec![form])
    })
}

impl DocumentRow {
    /// The document with this rendered body.
    pub(super) fn document(&self, body: &Bytes) -> Document {
        let form = |media_type: &&'static str| Representation::new(media_type, body.clone());
        let forms = self.media_types.iter().map(form).collect();
        let is_loaded = self.max_age_s == PAGE_MAX_AGE_S;
        Document {
            link: (!self.link.is_empty()).then(|| self.link.to_owned()),
            version: is_loaded.then(|| fingerprint(&[body])),
            ..Document::new(self.path, self.max_age_s, forms)
        }
    }
}
