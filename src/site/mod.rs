//! The documents the service publishes about itself, made once at start from the files of `data/` and
//! of the operator's.
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
//! | `images` | what becomes of images in it |
//! | `openapi` | the description of the API, as YAML and as JSON |
//! | `own` | the operator's own files |
//! | `page` | a page in the site's frame, its Markdown twin, its passages |
//! | `reference` | the API reference, made from the OpenAPI description |
//! | `script` | the script of the pages |
//! | `skill` | instructions for agents, and their digest |
//! | [`tools`] | the tools of the MCP endpoint, as clients are told of them |
//! | [`document`] | what is served under one path, in each form it has |

pub mod document;
pub mod facts;
mod images;
pub mod markdown;
mod openapi;
mod own;
mod page;
mod reference;
mod script;
mod skill;
mod table;
mod templates;
pub mod tools;

use bytes::Bytes;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::passage::Passage;

pub use document::{Document, Representation};
use facts::Words;
pub use facts::{Deprecated, SiteFacts};
use openapi::Description;
use own::Role;
pub use own::SiteFile;
pub use page::HTML;
use page::Page;
use reference::Reference;
use skill::Skill;
use templates::Templates;
use tools::Toolbox;

const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Everything the service publishes about itself.
#[derive(Debug)]
pub struct Site {
    documents: Vec<Document>,
    passages: Vec<Passage>,
    toolbox: Toolbox,
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

/// A file is faulty; of those in `data/` a test notices first. Its text is one line, whatever the
/// file is called and holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}: {}",
    .name.escape_debug(),
    .line.map_or_else(String::new, |line| format!(", line {line}")),
    .why.replace(char::is_control, " ")
)]
pub struct SiteError {
    /// The file.
    pub name: String,
    /// Where in it, if that is known.
    pub line: Option<usize>,
    /// What is wrong, in a few words.
    pub why: String,
}

impl SiteError {
    fn new(name: &str, why: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            line: None,
            why: why.into(),
        }
    }

    fn at(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }
}

impl Site {
    /// Fills `facts` into the documents, and makes a page under `/problems/` of each of `problems`.
    /// The operator's `files` replace some of the service's, or are pages of their own.
    ///
    /// # Errors
    /// [`SiteError`] when a file is faulty; no facts make a sound file fail.
    pub fn render(
        facts: &SiteFacts,
        problems: &[ProblemPage],
        files: &[SiteFile],
    ) -> Result<Self, SiteError> {
        let mut own_paths = Vec::new();
        let mut replaced = Vec::new();
        for file in files {
            match file.role()? {
                Role::Page(path) => own_paths.push((path, file.name.as_str())),
                Role::Replacement => replaced.push(file.name.as_str()),
            }
        }
        let toolbox = Toolbox::new(facts);
        let templates = Templates::new(&Words::of(facts, &toolbox), files)?;
        let own_pages = own_paths
            .iter()
            .map(|(path, name)| Page::read(path, name, &templates.fill(name, context! {})?))
            .collect::<Result<Vec<_>, _>>()?;
        let skill = Skill::render(skill::PUBLIC_API, &templates)?;
        let paths = table::PAGES.iter().map(|row| row.path);
        let paths = paths.chain(own_pages.iter().map(|page| page.path.as_str()));
        // What a document may tell of the others.
        let contents = context! {
            pages => paths.map(|path| context! { path }).collect::<Vec<_>>(),
            own_pages => own_pages.iter().map(Page::words).collect::<Vec<_>>(),
            skills => [Value::from(Serde(&skill))],
        };

        let base_url = &facts.settings.base_url;
        let mut documents = vec![skill.document()];
        let mut passages = Vec::new();
        let description = Description::render(templates.words(), &facts.deprecated)?;
        let reference = Reference::of(description.value(), base_url);
        for row in &table::PAGES {
            let markdown = templates.fill(row.template, contents.clone())?;
            let mut page = Page::read(row.path, row.template, &markdown)?;
            if row.has_reference {
                page = page.with_reference(&templates, &reference)?;
            }
            documents.extend(page.documents(&templates, row.layout, row.link)?);
            if row.is_quoted || replaced.contains(&row.template) {
                passages.extend(page.passages(base_url));
            }
        }
        let own_passages = own_pages.iter().flat_map(|page| page.passages(base_url));
        // After the introduction: who has no room for all of them takes the first.
        let introduction = passages.len().min(1);
        passages.splice(introduction..introduction, own_passages);
        for page in &own_pages {
            documents.extend(page.documents(&templates, table::ARTICLE, None)?);
        }
        for problem in problems {
            let path = format!("/problems/{}", problem.code);
            let markdown = templates.fill(table::PROBLEM, Value::from(Serde(problem)))?;
            let page = Page::read(&path, table::PROBLEM, &markdown)?;
            documents.extend(page.documents(&templates, table::ARTICLE, None)?);
        }
        documents.extend(description.documents());
        for row in &table::DOCUMENTS {
            let body = Bytes::from(templates.fill(row.template, contents.clone())?);
            documents.push(row.document(&body));
        }
        Ok(Self {
            documents,
            passages,
            toolbox,
        })
    }

    /// Every document, each under a path of its own.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// What the MCP endpoint says of itself, and its tools.
    #[must_use]
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// What the assistant may quote: the sections of the guide and of the operator's own pages, the
    /// introduction first.
    #[must_use]
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }
}
