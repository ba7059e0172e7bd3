//! What is served where: a row for each page and for each document that one template makes.

use bytes::Bytes;

use super::document::{Document, Representation};
use super::{page, script};

/// A page of the service.
#[derive(Debug)]
pub(super) struct PageRow {
    /// Where its HTML is.
    pub(super) path: &'static str,
    /// The Markdown it is made from.
    pub(super) template: &'static str,
    /// What lays out its HTML.
    pub(super) layout: &'static str,
    /// Whether the API reference stands below.
    pub(super) has_reference: bool,
    /// What it links to, beside its Markdown twin.
    pub(super) link: Option<&'static str>,
    /// Whether the assistant may quote it.
    pub(super) is_quoted: bool,
}

/// A document that is filled in and served as it is.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) path: &'static str,
    pub(super) template: &'static str,
    /// Its media types, that of who asks for none first.
    pub(super) media_types: &'static [&'static str],
    /// For how many seconds it may be used again unasked.
    pub(super) max_age_s: u32,
    /// What it links to.
    pub(super) link: Option<&'static str>,
}

/// The pages, in the order of the sitemap.
pub(super) const PAGES: [PageRow; 3] = [
    PageRow {
        path: "/",
        template: "index.md",
        layout: "home.html",
        has_reference: false,
        link: Some(
            "</.well-known/api-catalog>; rel=\"api-catalog\"; type=\"application/linkset+json\", \
             </openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
             </llms.txt>; rel=\"service-doc\"; type=\"text/plain\", \
             </.well-known/ai-catalog.json>; rel=\"ai-catalog\"; type=\"application/json\"",
        ),
        is_quoted: false,
    },
    PageRow {
        path: "/docs",
        template: "guide.md",
        layout: ARTICLE,
        has_reference: true,
        link: None,
        is_quoted: true,
    },
    PageRow {
        path: "/auth",
        template: "auth.md",
        layout: ARTICLE,
        has_reference: false,
        link: None,
        is_quoted: false,
    },
];

/// The page of a problem code, made once for each.
pub(super) const PROBLEM: &str = "problem.md";

/// The API reference in Markdown.
pub(super) const REFERENCE: &str = "parts/reference.md";

/// What every page is framed by, and what the contents of most are laid out by.
pub(super) const FRAME: &str = "page.html";
pub(super) const ARTICLE: &str = "parts/article.html";

pub(super) const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const XML: &str = "application/xml";
const JWK_SET: &str = "application/jwk-set+json";
const CARD: &str = "application/mcp-server-card+json";
const AI_CATALOG: &str = "application/ai-catalog+json";
/// RFC 9727, sections 4.1 and 4.2.
const API_CATALOG: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// For how many seconds a document may be used again unasked, unless it says otherwise.
pub(super) const MAX_AGE_S: u32 = 3600;

/// The documents. Some readers look for one of them elsewhere: those have two rows.
pub(super) const DOCUMENTS: [Row; 17] = [
    Row::json(
        "/.well-known/oauth-protected-resource",
        "well-known/oauth-protected-resource.json",
    ),
    Row::json(
        "/.well-known/oauth-authorization-server",
        "well-known/oauth-authorization-server.json",
    ),
    Row::json(
        "/.well-known/openid-configuration",
        "well-known/openid-configuration.json",
    ),
    Row::new(
        "/.well-known/jwks.json",
        "well-known/jwks.json",
        &[JSON, JWK_SET],
    ),
    Row {
        // RFC 9727, section 2: a HEAD has to carry it.
        link: Some("</.well-known/api-catalog>; rel=\"api-catalog\""),
        ..Row::new(
            "/.well-known/api-catalog",
            "well-known/api-catalog.json",
            &[API_CATALOG],
        )
    },
    Row::json("/.well-known/mcp.json", "well-known/mcp.json"),
    Row::json(
        "/.well-known/mcp/server-card.json",
        "well-known/mcp/server-card.json",
    ),
    Row::new(
        "/mcp/server-card",
        "well-known/mcp/server-card.json",
        &[CARD],
    ),
    Row::new(
        "/.well-known/ai-catalog.json",
        "well-known/ai-catalog.json",
        &[JSON, AI_CATALOG],
    ),
    Row::new(
        "/.well-known/ard.json",
        "well-known/ai-catalog.json",
        &[JSON, AI_CATALOG],
    ),
    Row::json(
        "/.well-known/agent-skills/index.json",
        "well-known/agent-skills/index.json",
    ),
    Row::new("/llms.txt", "llms.txt", &[PLAIN]),
    Row::new("/robots.txt", "robots.txt", &[PLAIN]),
    Row::new("/sitemap.xml", "sitemap.xml", &[XML]),
    Row::of_pages("/style.css", "style.css", &[CSS]),
    Row::of_pages("/site.js", script::NAME, &[JAVASCRIPT]),
    Row::of_pages("/icon.svg", "icon.svg", &[SVG]),
];

impl Row {
    const fn new(
        path: &'static str,
        template: &'static str,
        media_types: &'static [&'static str],
    ) -> Self {
        Self {
            path,
            template,
            media_types,
            max_age_s: MAX_AGE_S,
            link: None,
        }
    }

    /// The document, once it is filled in.
    pub(super) fn document(&self, body: &Bytes) -> Document {
        let form = |media_type: &&'static str| Representation::new(media_type, body.clone());
        let forms = self.media_types.iter().map(form).collect();
        Document {
            link: self.link.map(str::to_owned),
            ..Document::new(self.path, self.max_age_s, forms)
        }
    }

    /// What the pages need, kept no longer than they are.
    const fn of_pages(
        path: &'static str,
        template: &'static str,
        media_types: &'static [&'static str],
    ) -> Self {
        Self {
            max_age_s: page::MAX_AGE_S,
            ..Self::new(path, template, media_types)
        }
    }

    const fn json(path: &'static str, template: &'static str) -> Self {
        Self::new(path, template, &[JSON])
    }
}
