//! The documents the service publishes about itself, made once at start from the files of `data/`.
//!
//! Every file is a template; what it is filled with are the [`facts`]. A page is HTML in the site's
//! frame and its Markdown twin, any other document one file.
//!
//! | Module | Holds |
//! |---|---|
//! | [`facts`] | what the operator configured, and the words the documents say it in |
//! | `table` | what is served where |
//! | `templates` | the files of `data/`, and filling them |
//! | [`markdown`] | Markdown to HTML, and to the plain text the assistant quotes |
//! | `page` | a page in the site's frame, its Markdown twin, its passages |
//! | `skill` | instructions for agents, and their digest |
//! | [`document`] | what is served under one path, in each form it has |

pub mod document;
pub mod facts;
pub mod markdown;
mod page;
mod skill;
mod table;
mod templates;

use bytes::Bytes;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::passage::Passage;

pub use document::{Document, Representation};
pub use facts::SiteFacts;
use facts::Words;
use page::Page;
use skill::Skill;
use templates::Templates;

const MARKDOWN: &str = "text/markdown; charset=utf-8";

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
        let mut documents = Vec::new();
        let mut passages = Vec::new();
        let mut paths = Vec::new();
        for row in &table::PAGES {
            let markdown = templates.fill(row.template, context! {})?;
            let page = Page::read(row.path, row.template, &markdown)?;
            documents.extend(page.documents(&templates, row.link)?);
            if row.is_quoted {
                passages.extend(page.passages(&facts.settings.base_url));
            }
            paths.push(context! { path => row.path });
        }
        for problem in problems {
            let path = format!("/problems/{}", problem.code);
            let markdown = templates.fill(table::PROBLEM, Value::from(Serde(problem)))?;
            let page = Page::read(&path, table::PROBLEM, &markdown)?;
            documents.extend(page.documents(&templates, None)?);
        }
        let skill = Skill::render(skill::PUBLIC_API, &templates)?;
        documents.push(skill.document());
        // What a document may tell of the others.
        let contents = context! {
            pages => paths,
            own_pages => Vec::<Value>::new(),
            skills => [Value::from(Serde(&skill))],
        };
        for row in &table::DOCUMENTS {
            let body = Bytes::from(templates.fill(row.template, contents.clone())?);
            documents.push(row.document(&body));
        }
        Ok(Self {
            documents,
            passages,
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
