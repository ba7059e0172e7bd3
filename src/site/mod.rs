//! The documents the service publishes about itself, made once at start from the files of `data/`.
//!
//! Every file is a template. What it is filled with are the [`facts`]; a Markdown file makes a
//! [`page`](Site::render) and its twin, any other file one [`Document`].
//!
//! | Module | Holds |
//! |---|---|
//! | [`facts`] | what the operator configured, and the words the documents say it in |
//! | `templates` | the files of `data/`, and filling them |
//! | [`markdown`] | Markdown to HTML, and to the plain text the assistant quotes |
//! | `page` | a page in the site's frame, its Markdown twin, its passages |
//! | [`document`] | what is served under one path, in each form it has |

pub mod document;
pub mod facts;
pub mod markdown;
mod page;
mod templates;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::passage::Passage;

pub use document::{Document, Representation};
pub use facts::SiteFacts;
use facts::Words;
use page::Page;
use templates::Templates;

const STYLE: &str = include_str!("../../data/style.css");

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JSON: &str = "application/json";

/// Everything the service publishes about itself.
#[derive(Debug)]
pub struct Site {
    documents: Vec<Document>,
    passages: Vec<Passage>,
}

/// What the page of a problem code says.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemPage {
    /// The code, which is the page's name.
    pub code: &'static str,
    /// The status it comes with, in number and words.
    pub status: String,
    /// Its title.
    pub title: &'static str,
    /// What happened, in Markdown.
    pub meaning: &'static str,
    /// What the client can do, in Markdown.
    pub resolution: &'static str,
}

/// A file is faulty; of those in `data/` a test notices first.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A template does not parse, or asks for a value that does not exist.
    #[error("cannot fill in a document: {0}")]
    Template(#[from] minijinja::Error),
    /// A page has no title.
    #[error("{name} does not begin with a first-level heading")]
    NoTitle {
        /// The file.
        name: String,
    },
    /// A file is not JSON once it is filled in.
    #[error("{name} is not JSON: {error}")]
    Json {
        /// The file.
        name: String,
        /// Why.
        error: serde_json::Error,
    },
}

impl Site {
    /// Fills `facts` into the documents, and makes a page under `/problems/` of each of `problems`.
    ///
    /// # Errors
    /// [`SiteError`] when a file of `data/` is faulty; no facts make a sound file fail.
    pub fn render(facts: &SiteFacts, problems: &[ProblemPage]) -> Result<Self, SiteError> {
        let templates = Templates::new(&Words::of(facts))?;
        let fill = |name| templates.fill(name, context! {});

        let index = Page::read("/", "index.md", &fill("index.md")?)?;
        let guide = Page::read("/docs", "guide.md", &fill("guide.md")?)?;
        let mut documents = Vec::new();
        documents.extend(index.documents(&templates, None)?);
        documents.extend(guide.documents(&templates, None)?);
        for problem in problems {
            let path = format!("/problems/{}", problem.code);
            let markdown = templates.fill("problem.md", Value::from(Serde(problem)))?;
            let page = Page::read(&path, "problem.md", &markdown)?;
            documents.extend(page.documents(&templates, None)?);
        }
        documents.extend([
            Document::new(
                "/openapi.json",
                vec![Representation::new(JSON, fill("openapi.json")?)],
            ),
            Document::new("/style.css", vec![Representation::new(CSS, STYLE)]),
        ]);
        Ok(Self {
            passages: guide.passages(&facts.settings.base_url),
            documents,
        })
    }

    /// Every document, each under a path of its own.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// What the assistant may quote: the sections of the guide, in its order.
    #[must_use]
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }
}
