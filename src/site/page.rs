//! A page: one Markdown source, served as HTML in the site's frame and as the Markdown itself.

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::domain::passage::Passage;

use super::document::{Document, Representation};
use super::facts::escape_markdown;
use super::markdown::{self, Article, Section};
use super::reference::Reference;
use super::templates::Templates;
use super::{MARKDOWN, SiteError, table};

/// The media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// What a search engine shows of a page has about this length, in characters.
const DESCRIPTION_LEN_MAX: usize = 160;

/// How long a page may be used again unasked, in seconds: people expect a change to be seen soon.
pub(super) const MAX_AGE_S: u32 = 300;

/// A page, read but not yet framed.
#[derive(Debug)]
pub(super) struct Page {
    /// Where its HTML is; a client that asks for Markdown gets it there, too.
    pub(super) path: String,
    article: Article,
    /// What stands below the article.
    appendix: Option<Appendix>,
}

/// The API reference, to be put below an article.
#[derive(Debug)]
struct Appendix {
    reference: Value,
    markdown: String,
}

impl Page {
    /// Reads `markdown`, which the file `name` was filled in to.
    ///
    /// # Errors
    /// [`SiteError`] when it does not begin with a first-level heading.
    pub(super) fn read(path: &str, name: &str, markdown: &str) -> Result<Self, SiteError> {
        Ok(Self {
            path: path.to_owned(),
            article: markdown::read(markdown).ok_or_else(|| {
                SiteError::new(name, "does not begin with a title, such as # Title").at(1)
            })?,
            appendix: None,
        })
    }

    /// The page with `reference` below it, in both forms.
    ///
    /// # Errors
    /// [`SiteError`] when the reference's template cannot be filled in.
    pub(super) fn with_reference(
        self,
        templates: &Templates<'_>,
        reference: &Reference,
    ) -> Result<Self, SiteError> {
        let reference = Value::from(Serde(reference));
        let markdown = context! { reference => reference.clone() };
        let markdown = templates.fill(table::REFERENCE, markdown)?;
        Ok(Self {
            appendix: Some(Appendix {
                reference,
                markdown,
            }),
            ..self
        })
    }

    /// Where its Markdown is.
    pub(super) fn markdown_path(&self) -> String {
        match self.path.as_str() {
            "/" => "/index.md".to_owned(),
            path => format!("{path}.md"),
        }
    }

    /// The page, laid out by the template `layout`, and its twin; `link` goes before what every page
    /// links to.
    ///
    /// # Errors
    /// [`SiteError`] when the frame cannot be filled in.
    pub(super) fn documents(
        &self,
        templates: &Templates<'_>,
        layout: &str,
        link: Option<&str>,
    ) -> Result<[Document; 2], SiteError> {
        let twin = self.markdown_path();
        let alternate = format!("<{twin}>; rel=\"alternate\"; type=\"text/markdown\"");
        let html = Representation::new(HTML, self.html(templates, layout)?);
        let mut markdown = self.article.markdown.clone();
        if let Some(appendix) = &self.appendix {
            markdown.extend(["\n", &appendix.markdown]);
        }
        let markdown = Representation::new(MARKDOWN, markdown);
        let page = Document {
            link: Some(match link {
                Some(link) => format!("{link}, {alternate}"),
                None => alternate,
            }),
            ..Document::new(self.path.clone(), MAX_AGE_S, vec![html, markdown.clone()])
        };
        let twin = Document {
            is_negotiated: true,
            ..Document::new(twin, MAX_AGE_S, vec![markdown])
        };
        Ok([page, twin])
    }

    fn html(&self, templates: &Templates<'_>, layout: &str) -> Result<String, SiteError> {
        let Article { lead, sections, .. } = &self.article;
        let section = |section: &Section| {
            context! {
                title => section.title.as_str(),
                anchor => section.anchor.as_str(),
                html => Value::from_safe_string(section.html.clone()),
            }
        };
        let article = context! {
            lead => Value::from_safe_string(lead.html.clone()),
            sections => sections.iter().map(section).collect::<Vec<_>>(),
            reference => self.appendix.as_ref().map(|appendix| appendix.reference.clone()),
        };
        let body = templates.fill(layout, article)?;
        let frame = context! {
            title => lead.title.as_str(),
            description => self.description(),
            here => self.path.as_str(),
            markdown_path => Value::from_safe_string(self.markdown_path()),
            body => Value::from_safe_string(body.clone()),
        };
        let html = templates.fill(table::FRAME, frame)?;
        if html.contains(&body) {
            Ok(html)
        } else {
            Err(SiteError::new(table::FRAME, "has no {{ body }}"))
        }
    }

    /// What other documents may tell of the page.
    pub(super) fn words(&self) -> Value {
        context! {
            path => self.path.as_str(),
            markdown_path => self.markdown_path(),
            title_md => escape_markdown(&self.article.lead.title),
        }
    }

    /// What it is about: the beginning of its first paragraph.
    fn description(&self) -> String {
        let Article { lead, sections, .. } = &self.article;
        let text = std::iter::once(lead)
            .chain(sections)
            .map(|section| section.text.lines().next().unwrap_or_default())
            .find(|line| !line.is_empty())
            .unwrap_or(&lead.title);
        shorten(text, DESCRIPTION_LEN_MAX)
    }

    /// What the assistant may quote: the page's sections, and what stands before them.
    pub(super) fn passages(&self, base_url: &str) -> Vec<Passage> {
        let url = format!("{base_url}{}", self.path);
        let passage = |section: &Section, url| Passage {
            title: section.title.clone(),
            url,
            text: section.text.clone(),
            hints: section.hints.clone(),
        };
        let Article { lead, sections, .. } = &self.article;
        std::iter::once(passage(lead, url.clone()))
            .filter(|lead| !lead.text.is_empty())
            .chain(
                sections
                    .iter()
                    .map(|section| passage(section, format!("{url}#{}", section.anchor))),
            )
            .collect()
    }
}

/// `text`, or as many of its first words as have room, with an ellipsis.
fn shorten(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return text.to_owned();
    };
    let cut = text.get(..end).unwrap_or_default();
    let words = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
    format!("{words} …")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_between_words() {
        for (text, expected) in [
            ("", ""),
            ("one two", "one two"),
            ("one two three", "one …"),
            ("äöüßäöüßäöü", "äöüßäöü …"),
        ] {
            assert_eq!(shorten(text, 7), expected);
        }
    }
}
