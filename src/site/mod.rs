//! The documents that the service publishes about itself, rendered once at start from the files of `data/`
//! and of the operator.
//!
//! Most files are templates, filled with the [`facts`]. A page is HTML in the site's frame, and its Markdown;
//! any other document is one file.
//!
//! | Module | Contents |
//! |---|---|
//! | [`facts`] | the configuration that the documents mention |
//! | `context` | the values shared by all templates |
//! | `catalog` | the table of pages and documents |
//! | `locales` | the texts of the pages in each language |
//! | `templates` | the files of `data/`, and rendering them |
//! | `functions` | functions and filters of the templates |
//! | `site_file` | the operator's own files |
//! | [`image`] | the operator's images |
//! | `page` | a page in the site's frame, its Markdown, its passages |
//! | [`page_writer`] | pages that are rendered while a request is answered |
//! | `privacy` | what is stored, and when each statement about it is true |
//! | `markdown` | Markdown to HTML, and to the plain text that the assistant quotes |
//! | `openapi` | the description of the API, as YAML and as JSON |
//! | `reference` | the API reference, arranged from the description, and the search index of the docs |
//! | `assistant` | the assistant's texts besides the passages |
//! | [`tools`] | the tools of the MCP endpoint, with their schemas from the description |
//! | `script` | the script of the pages, and the elements for other sites |
//! | `skill` | instructions for agents, and their digest |
//! | [`document`] | the content of one path, in each of its representations |

mod assistant;
mod catalog;
mod context;
pub mod document;
mod error;
pub mod facts;
mod functions;
pub mod image;
mod letters;
mod locales;
mod markdown;
mod openapi;
mod page;
pub mod page_writer;
mod privacy;
mod reference;
mod script;
mod site_file;
mod skill;
mod templates;
pub mod tools;

use std::sync::Arc;

use bytes::Bytes;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::{AssistantTexts, Language, LetterTemplate, Passage, Settings};

use catalog::PageRow;
use context::{absolute, is_legal};
pub use document::{Document, HTML, Representation};
pub use error::SiteError;
pub use facts::SiteFacts;
use image::Images;
pub use image::{Logo, SiteImage};
use openapi::Description;
use page::Page;
use page_writer::PageWriter;
use site_file::FileRole;
pub use site_file::SiteFile;
use skill::Skill;
use templates::Templates;
use tools::Toolbox;

/// Everything the service publishes about itself.
#[derive(Debug)]
pub struct Site {
    /// All documents, each under its own path.
    pub documents: Vec<Document>,
    /// The passages that the assistant may quote.
    pub passages: Vec<Passage>,
    /// The assistant's other texts, English first.
    pub assistant_texts: Vec<AssistantTexts>,
    /// The MCP server's names and tools.
    pub toolbox: Toolbox,
    /// The email that asks contacts to confirm, in each language.
    pub letters: [LetterTemplate; Language::ALL.len()],
    /// Renders pages per request.
    pub page_writer: PageWriter,
}

/// The content of a problem code's page.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemPage {
    /// The code, which is the page's name.
    pub code: &'static str,
    /// The status, as a number and in words.
    pub status: String,
    /// The title.
    pub title: &'static str,
    /// Explanation, in Markdown.
    pub meaning: &'static str,
    /// Advice for the client, in Markdown.
    pub resolution: &'static str,
}

impl ProblemPage {
    /// The page, with the example of the `description`, which has none of a wrong method.
    fn page(
        &self,
        templates: &Templates,
        description: &serde_json::Value,
    ) -> Result<Page, SiteError> {
        let path = format!("/problems/{}", self.code);
        let example = ["", "oauth_"].into_iter().find_map(|kind| {
            let place = format!("/components/examples/{kind}{}/value", self.code);
            description.pointer(&place)
        });
        let example = example.map(|value| Value::from(Serde(value)));
        let values = context! { example, ..Value::from(Serde(self)) };
        Page::read(
            templates,
            &path,
            catalog::PROBLEM,
            &[Language::English],
            &values,
        )
    }
}

/// The service's own pages, each with its row.
type ServicePages = Vec<(&'static PageRow, Page)>;

/// The passages that the assistant may quote, the operator's first: a model with little room gets the first ones. Of the
/// service's own pages these are the help page, and the guide where the site is for developers.
fn passages(
    own_pages: &[Page],
    pages: &ServicePages,
    replaced: &[&str],
    is_for_developers: bool,
    base_url: &str,
) -> Vec<Passage> {
    let own = own_pages.iter();
    let mut passages: Vec<_> = own.flat_map(|page| page.passages(base_url, true)).collect();
    for (row, page) in pages {
        let is_replaced = replaced.contains(&row.template);
        if is_replaced || row.is_quoted && (is_for_developers || !row.is_searched) {
            passages.extend(page.passages(base_url, is_replaced));
        }
    }
    passages.sort_by_key(|passage| !passage.is_own);
    passages
}

/// The operator's own pages, by path and name, and the names of the files of the service that others replace.
type Roles<'a> = (Vec<(String, &'a str)>, Vec<&'a str>);

fn roles(files: &[SiteFile]) -> Result<Roles<'_>, SiteError> {
    let (mut own_paths, mut replaced) = (Vec::new(), Vec::new());
    for file in files {
        match file.role()? {
            FileRole::Page(path) => own_paths.push((path, file.name.as_str())),
            FileRole::Replacement => replaced.push(file.name.as_str()),
            FileRole::Translation(page) => file.check_translation(&page, files)?,
        }
    }
    Ok((own_paths, replaced))
}

/// True if the operator tells visitors about the site, so that the service does not speak in their place. Imprint and
/// privacy notice alone do not.
fn has_own_pages(settings: &Settings, own_paths: &[(String, &str)], replaced: &[&str]) -> bool {
    let is_for_visitors = |name: &&str| ["index.md", "help.md"].contains(name);
    let tells =
        |(path, _): &(String, &str)| !is_legal(settings, &absolute(&settings.base_url, path));
    own_paths.iter().any(tells) || replaced.iter().any(is_for_visitors)
}

impl Site {
    /// Renders the documents from `facts`, with a page under `/problems/` for each of `problems`. The
    /// operator's `files` replace some of the service's, or are additional pages, which may show `images`.
    ///
    /// # Errors
    /// [`SiteError`] when a file is faulty; no facts make a correct file fail.
    pub fn render(
        facts: &SiteFacts,
        problems: &[ProblemPage],
        files: &[SiteFile],
        images: &[SiteImage],
    ) -> Result<Self, SiteError> {
        let (own_paths, replaced) = roles(files)?;
        let mut templates = Templates::new(facts, files, Images::read(images)?)?;
        let base_url = &facts.settings.base_url;
        let has_own_pages = has_own_pages(&facts.settings, &own_paths, &replaced);
        templates.adapt(has_own_pages, files);
        let own_pages = own_paths
            .iter()
            .map(|(path, name)| Page::read(&templates, path, name, &Language::ALL, &context! {}))
            .collect::<Result<Vec<_>, _>>()?;
        templates.navigate(own_pages.iter().flat_map(Page::navigation));
        let skill = Skill::public_api(&templates)?;
        let words = context! { problems => Value::from(Serde(problems)) };
        let words = context! { ..words, ..templates.context.clone() };
        let description = Description::render(&words)?;
        let operations = reference::operations(&description.value);
        let groups = reference::groups(&description.value, &operations);
        let toolbox = Toolbox::new(facts, &description.value, &operations);
        let cards = own_pages.iter().map(|page| page.card(&facts.settings));
        let cards: Vec<_> = cards.collect();
        let paths = catalog::PAGES.iter().map(|row| row.path);
        let paths = paths.chain(own_pages.iter().map(|page| page.path.as_str()));
        // The entries of lists: pages, skills, tools and operations.
        let contents = context! {
            pages => paths.map(|path| context! { path }).collect::<Vec<_>>(),
            own_pages => cards,
            problems => Value::from(Serde(problems)),
            skills => [Value::from(Serde(&skill))],
            tools => Value::from(Serde(&toolbox.tools)),
            openapi => Value::from(Serde(&description.value)),
            groups => Value::from(Serde(&groups)),
        };

        let read = |row: &'static PageRow| {
            let page = Page::read(&templates, row.path, row.template, row.languages, &contents)?;
            Ok::<_, SiteError>((row, page))
        };
        let pages = catalog::PAGES.iter().map(read);
        let pages = pages.collect::<Result<ServicePages, _>>()?;
        let is_for_developers = !(has_own_pages || facts.settings.hides_developers);
        let passages = passages(&own_pages, &pages, &replaced, is_for_developers, base_url);
        let suggestions = assistant::suggestions(&facts.settings, &passages);
        let contents = context! { suggestions, ..contents };
        let mut documents = vec![skill.document()];
        for (row, page) in &pages {
            documents.extend(page.documents(&templates, row, &contents)?);
            if row.is_searched {
                let sections = page.passages(base_url, false);
                documents.push(reference::search_index(base_url, &sections, &groups));
            }
        }
        let problem_pages = problems
            .iter()
            .map(|problem| problem.page(&templates, &description.value));
        for page in own_pages.into_iter().map(Ok).chain(problem_pages) {
            documents.extend(page?.documents(&templates, &PageRow::ARTICLE, &contents)?);
        }
        documents.extend(description.documents());
        documents.extend(catalog::touch_icons(facts.logo.as_ref()));
        documents.extend(templates.scripts.documents());
        documents.extend(templates.images.documents());
        for row in catalog::DOCUMENTS {
            let body = Bytes::from(templates.fill(row.template, contents.clone())?);
            documents.push(row.document(&body));
        }
        Ok(Self {
            documents,
            assistant_texts: assistant::texts(&templates, &facts.settings, &passages)?,
            passages: passages.into_iter().map(assistant::with_examples).collect(),
            toolbox,
            letters: letters::letters(&templates, &facts.settings)?,
            page_writer: PageWriter::new(Arc::new(templates), contents),
        })
    }
}
