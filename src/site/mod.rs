//! The documents the service publishes about itself, made once at start from the files of `data/`.
//!
//! | Module | Holds |
//! |---|---|
//! | [`facts`] | what the operator configured, and the words the documents say it in |
//! | [`markdown`] | Markdown to HTML, and to the plain text the assistant quotes |
//! | [`page`] | the frame around every HTML page |

pub mod facts;
pub mod markdown;
pub mod page;

use bytes::Bytes;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use crate::domain::passage::Passage;

pub use facts::SiteFacts;
use facts::Words;
use markdown::Section;
use page::Frame;

/// The sources, by name; the ending decides how values are escaped.
const TEMPLATES: [(&str, &str); 4] = [
    (GUIDE, include_str!("../../data/guide.md")),
    (INDEX, include_str!("../../data/index.md")),
    (PAGE, include_str!("../../data/page.html")),
    (OPENAPI, include_str!("../../data/openapi.json")),
];
const GUIDE: &str = "guide.md";
const INDEX: &str = "index.md";
const PAGE: &str = "page.html";
const OPENAPI: &str = "openapi.json";

const STYLE: &str = include_str!("../../data/style.css");

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JSON: &str = "application/json";

/// Everything the service publishes about itself.
#[derive(Debug)]
pub struct Site {
    documents: Vec<Document>,
    passages: Vec<Passage>,
    frame: Frame,
}

/// One document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The path it is served under.
    pub path: &'static str,
    /// Its `Content-Type`.
    pub media_type: &'static str,
    /// Its bytes, shared by all answers.
    pub body: Bytes,
}

/// A file of `data/` is faulty, which a test notices first.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A template does not parse, or asks for a value that does not exist.
    #[error("cannot fill in a document: {0:#}")]
    Template(#[from] minijinja::Error),
    /// The page has no place for its title or its body.
    #[error("the page lacks its marker {0}")]
    Frame(&'static str),
    /// The OpenAPI description is not JSON once it is filled in.
    #[error("the OpenAPI description is not JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Site {
    /// Fills `facts` into the documents.
    ///
    /// # Errors
    /// [`SiteError`] when a file of `data/` is faulty; no facts make a sound file fail.
    pub fn render(facts: &SiteFacts) -> Result<Self, SiteError> {
        let environment = environment()?;
        let words = Value::from(Serde(Words::of(facts)));
        let fill = |name| environment.get_template(name)?.render(words.clone());

        let frame = Frame::parse(&fill(PAGE)?)?;
        let sections = markdown::sections(&fill(GUIDE)?);
        let guide = frame.around(
            "Guide",
            &guide_html(&facts.settings.service_name, &sections),
        );
        let index = markdown::to_html(&fill(INDEX)?);
        let openapi = fill(OPENAPI)?;
        serde_json::from_str::<serde::de::IgnoredAny>(&openapi)?;

        let documents = vec![
            Document::new("/", HTML, frame.around("Home", &index)),
            Document::new("/docs", HTML, guide),
            Document::new("/openapi.json", JSON, openapi),
            Document::new("/style.css", CSS, STYLE.to_owned()),
        ];
        let passages = sections
            .into_iter()
            .map(|section| Passage {
                title: section.title,
                url: format!("{}/docs#{}", facts.settings.base_url, section.anchor),
                text: section.text,
                hints: section.hints,
            })
            .collect();
        Ok(Self {
            documents,
            passages,
            frame,
        })
    }

    /// Every document.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The document under `path`, which must match exactly.
    #[must_use]
    pub fn document(&self, path: &str) -> Option<&Document> {
        self.documents.iter().find(|document| document.path == path)
    }

    /// The sections of the guide, in its order.
    #[must_use]
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// A whole HTML page with `title` as its heading above `body_markdown`. Both are text: HTML in
    /// them is shown, not obeyed.
    #[must_use]
    pub fn page(&self, title: &str, body_markdown: &str) -> String {
        let heading = page::escape(title);
        let body = markdown::to_html(body_markdown);
        self.frame
            .around(title, &format!("<h1>{heading}</h1>\n{body}"))
    }
}

impl Document {
    fn new(path: &'static str, media_type: &'static str, body: String) -> Self {
        Self {
            path,
            media_type,
            body: Bytes::from(body),
        }
    }
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    // A name without a value is a mistake, never an empty place.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, "json")) => AutoEscape::Json,
        _ => AutoEscape::None,
    });
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// The guide with its table of contents.
fn guide_html(service_name: &str, sections: &[Section]) -> String {
    let contents: String = sections
        .iter()
        .map(|section| {
            let title = page::escape(&section.title);
            format!("<li><a href=\"#{}\">{title}</a></li>\n", section.anchor)
        })
        .collect();
    let chapters: String = sections
        .iter()
        .map(|section| format!("<section>\n{}</section>\n", section.html))
        .collect();
    format!(
        "<h1>{}: the guide</h1>\n<div class=\"guide\">\n\
         <nav aria-label=\"Contents\">\n<ol>\n{contents}</ol>\n</nav>\n\
         <div>\n{chapters}</div>\n</div>\n",
        page::escape(service_name)
    )
}
