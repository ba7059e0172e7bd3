//! The documents that the service publishes about itself, rendered once at start from the files of `data/`
//! and of the operator.
//!
//! Most files are templates, filled with the [`facts`]. A page is HTML in the site's frame, and its Markdown;
//! any other document is one file.
//!
//! | Module | Contents |
//! |---|---|
//! | [`facts`] | the configuration that the documents mention, as the values shared by all templates |
//! | `catalog` | the table of pages and documents |
//! | `data` | the files that are part of the program |
//! | `environment` | the texts of the pages in each language; functions and filters of the templates |
//! | [`templates`] | the files of `data/`, and rendering them, at start or per request |
//! | `site_file` | the operator's own files, and their faults |
//! | [`image`] | the operator's images |
//! | `page` | a page in the site's frame, its Markdown, its passages |
//! | `markdown` | Markdown to HTML, and to the plain text that the assistant quotes |
//! | `letters` | the email that asks contacts to confirm |
//! | `openapi` | the description of the API, and its operations |
//! | `assistant` | the assistant's texts besides the passages |
//! | [`tools`] | the tools of the MCP endpoint, with their schemas from the description |
//! | `script` | the script of the pages, and the elements for other sites |
//! | [`document`] | the content of one path, in each of its representations |

mod assistant;
mod catalog;
mod data;
pub mod document;
mod environment;
pub mod facts;
pub mod image;
mod letters;
mod markdown;
mod openapi;
mod page;
mod script;
mod site_file;
pub mod templates;
pub mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use minijinja::context;
use minijinja::value::{Serde, Value};
use ring::digest::{SHA256, digest};
use serde::Serialize;
use tokio_util::bytes::Bytes;

use crate::domain::{AssistantTexts, Language, LetterContent, Passage, Settings};

use catalog::{API_CATALOG, GUIDE, HELP, PageRow};
pub use document::{Document, HTML, Representation};
pub use facts::SiteFacts;
use facts::{absolute, is_legal};
pub use image::{Image, SiteImage};
use image::{Images, PNG, SVG};
use openapi::Description;
use page::Page;
use script::{Scripts, accented};
use site_file::page_and_language;
pub use site_file::{SiteError, SiteFile};
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
    pub letters: [LetterContent; Language::ALL.len()],
    /// Renders pages per request.
    pub templates: Arc<Templates>,
}

/// The content of a problem code's page.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProblemPage {
    /// The code, which is the page's name.
    pub code: &'static str,
    /// The status, as a number and in words.
    pub status: &'static str,
    /// The code in the words of OAuth's clients.
    pub oauth: &'static str,
    /// The title.
    pub title: &'static str,
    /// Explanation, in Markdown.
    pub meaning: &'static str,
    /// Advice for the client, in Markdown.
    pub resolution: &'static str,
}

impl ProblemPage {
    /// A page to be filled.
    pub(crate) const EMPTY: Self = Self {
        code: "",
        status: "",
        oauth: "",
        title: "",
        meaning: "",
        resolution: "",
    };
}

/// The passages that the assistant may quote, the operator's first: a model with little room gets the first ones. Of the
/// service's own pages these are the help page, and the guide where the site is for developers.
fn passages(
    pages: &[Page],
    is_for_developers: bool,
    templates: &Templates,
    base_url: &str,
) -> Vec<Passage> {
    let is_quoted =
        |page: &&Page| page.is_own || page.path == HELP || page.path == GUIDE && is_for_developers;
    let quoted = pages.iter().filter(is_quoted);
    let language = templates.languages.first().copied().unwrap_or_default();
    let passages = quoted.flat_map(|page| page.passages(base_url, language));
    let mut passages: Vec<_> = passages.collect();
    passages.sort_by_key(|passage| !passage.is_own);
    passages
}

/// The languages in which the operator tells visitors about the site, the default first; none if the service has to
/// speak in their place. Imprint and privacy notice do not count. A name without a language leaves it to the words.
fn own_languages(settings: &Settings, files: &[SiteFile]) -> Result<Vec<Language>, SiteError> {
    let mut texts: BTreeMap<_, String> = BTreeMap::new();
    for file in files {
        let (page, language) = page_and_language(&file.name);
        let tells = match file.page_path()? {
            Some(path) => !is_legal(settings, &absolute(&settings.base_url, &path)),
            None => ["index.md", "help.md"].contains(&&*page),
        };
        if tells {
            texts.entry(language).or_default().push_str(&file.text);
        }
    }
    let language =
        |(named, text): (Option<_>, String)| named.unwrap_or_else(|| assistant::language_of(&text));
    let (languages, mut seen) = (texts.into_iter().map(language), BTreeSet::new());
    Ok(languages
        .filter(|language| seen.insert(*language))
        .collect())
}

/// The operator's pages, in the order of the numbers that their names begin with, then of their titles.
fn own_pages(templates: &Templates, files: &[SiteFile]) -> Result<Vec<Page>, SiteError> {
    let paths = files.iter().filter_map(|file| file.page_path().transpose());
    let paths = paths.collect::<Result<BTreeSet<_>, _>>()?;
    let pages = paths.iter().map(|path| {
        let name = format!("{}.md", path.trim_start_matches('/'));
        Page::read(templates, &PageRow::OWN, path, &name, true, &context! {})
    });
    let mut pages = pages.collect::<Result<Vec<_>, _>>()?;
    pages.sort_by_cached_key(Page::order);
    Ok(pages)
}

/// Each page in its forms, and everything beside the pages.
fn all_documents(
    facts: &SiteFacts,
    pages: &[Page],
    description: Description,
    scripts: &Scripts,
    templates: &Templates,
) -> Result<Vec<Document>, SiteError> {
    let mut all = assets(facts, &templates.style);
    for page in pages {
        all.extend(page.documents(templates)?);
    }
    for row in catalog::DOCUMENTS {
        let body = Bytes::from(templates.fill(Language::English, row.template, context! {})?);
        let form = |media_type: &&'static str| Representation::new(media_type, body.clone());
        all.push(Document {
            // RFC 9727, section 4.
            link: (row.media_types == [API_CATALOG])
                .then(|| format!("<{}>; rel=\"api-catalog\"", row.path)),
            ..Document::new(row.path, row.media_types.iter().map(form).collect())
        });
    }
    all.extend(description.documents());
    all.extend(scripts.documents());
    all.extend(templates.images.documents());
    Ok(all)
}

const CSS: &str = "text/css; charset=utf-8";

/// Stylesheet, icons and picture. An icon is the operator's logo, if that is of its kind. Phones and link previews take
/// the PNG, and so do browsers that show none of our pages, which request the last one.
fn assets(facts: &SiteFacts, style: &str) -> Vec<Document> {
    let logo = |media_type| {
        let logo = facts.logo.as_ref();
        let logo = logo.filter(|logo| logo.media_type == media_type);
        logo.map(|logo| logo.bytes.clone())
    };
    let svg = logo(SVG).unwrap_or_else(|| {
        let icon = include_str!("../../data/icon.svg");
        accented(icon, facts.settings.accent).into()
    });
    let png = include_bytes!("../../data/icon.png");
    let png = logo(PNG).unwrap_or_else(|| Bytes::from_static(png));
    let mut assets = vec![
        Document::single("/style.css", CSS, style.to_owned()),
        Document::single("/icon.svg", SVG, svg),
        Document::single("/icon.png", PNG, png.clone()),
        Document::single("/favicon.ico", PNG, png),
    ];
    let picture = facts.picture.iter();
    assets.extend(picture.map(|picture| picture.document(picture.picture_path())));
    assets
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
        let settings = &facts.settings;
        let base_url = &settings.base_url;
        let own_languages = own_languages(settings, files)?;
        let has_own_pages = !own_languages.is_empty();
        let images = Images::read(images)?;
        let mut templates = Templates::new(facts, files, images, own_languages)?;
        let mut pages = own_pages(&templates, files)?;
        let problem_list = Value::from(Serde(problems));
        let words = context! { problems => problem_list.clone(), ..templates.context.clone() };
        let description = Description::render(&words)?;
        let operations = openapi::operations(&description.value);
        let toolbox = Toolbox::new(settings, &description.value, &operations);
        let paths = catalog::PAGES.iter().map(|row| row.path);
        let cards = pages.iter().map(|page| page.card(settings));
        let skill = "skills/public-landing-api/SKILL.md";
        let skill = templates.fill(Language::English, skill, context! {})?;
        let (paths, own_pages) = (paths.collect::<Vec<_>>(), cards.collect::<Vec<_>>());
        templates.add(context! { paths, own_pages });
        // The entries of lists: skills, tools and operations.
        templates.lists = context! {
            problems => problem_list,
            // With which an index lists it (discovery RFC v0.2.0, agentskills.io).
            skill_digest => format!("sha256:{}", HEXLOWER.encode(digest(&SHA256, skill.as_bytes()).as_ref())),
            tools => Value::from(Serde(&toolbox.tools)),
            openapi => Value::from(Serde(&description.value)),
            operations => Value::from(Serde(&operations)),
        };

        for row in catalog::PAGES {
            let is_own = files
                .iter()
                .any(|file| page_and_language(&file.name).0 == row.template);
            let (path, name) = (row.path, row.template);
            let page = Page::read(&templates, row, path, name, is_own, &context! {});
            pages.push(page?);
        }
        let is_for_developers = !(has_own_pages || settings.hides_developers);
        let passages = passages(&pages, is_for_developers, &templates, base_url);
        let guide = pages.iter().filter(|page| page.path == GUIDE);
        let suggestions = assistant::suggestions(&templates, settings, &pages, has_own_pages)?;
        let (accent, confirms) = (settings.accent, settings.opt_in_ms.is_some());
        let scripts = Scripts::read(&templates.environment, accent, confirms, &suggestions)?;
        templates.add(context! {
            suggestions,
            // A page loads the script it was made with.
            script_path => Value::from_safe_string(format!("/site.js?v={}", scripts.version)),
        });
        let guide = guide.flat_map(Page::parts).collect::<Vec<_>>();
        templates.lists = context! { guide, ..templates.lists };
        for problem in problems {
            let (row, path) = (&PageRow::PROBLEM, format!("/problems/{}", problem.code));
            let values = Value::from(Serde(problem));
            let page = Page::read(&templates, row, &path, row.template, false, &values);
            pages.push(page?);
        }
        let documents = all_documents(facts, &pages, description, &scripts, &templates)?;
        let letters = letters::letters(&templates, settings)?;
        // They take a megabyte.
        templates.lists = context! {};
        Ok(Self {
            documents,
            assistant_texts: assistant::texts(&templates, settings, &passages)?,
            passages: passages.into_iter().map(assistant::with_examples).collect(),
            toolbox,
            letters,
            templates: Arc::new(templates),
        })
    }
}
