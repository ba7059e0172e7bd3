//! A page: one Markdown source, served as HTML in the site's frame and as Markdown.

use minijinja::context;
use minijinja::value::Value;

use crate::domain::passage::Passage;

use super::catalog::{FRAME, REFERENCE};
use super::context::escape_markdown;
use super::document::{Document, HTML, MARKDOWN, PAGE_MAX_AGE_S, Representation};
use super::error::SiteError;
use super::markdown::{self, Article, Section};
use super::templates::Templates;

/// The most characters of a page's description: about what search engines show.
const DESCRIPTION_LEN_MAX: usize = 160;

/// A parsed page.
#[derive(Debug)]
pub(super) struct Page {
    /// The path of its HTML, where clients that ask for Markdown get that.
    pub(super) path: String,
    article: Article,
}

impl Page {
    /// Parses `markdown`, the rendered file `name`.
    ///
    /// # Errors
    /// [`SiteError`] when it does not begin with a first-level heading.
    pub(super) fn read(path: &str, name: &str, markdown: &str) -> Result<Self, SiteError> {
        Ok(Self {
            path: path.to_owned(),
            article: markdown::read(markdown).ok_or_else(|| SiteError {
                line: Some(1),
                ..SiteError::new(name, "does not begin with a title, such as # Title")
            })?,
        })
    }

    /// The path of its Markdown.
    pub(super) fn markdown_path(&self) -> String {
        match self.path.as_str() {
            "/" => "/index.md".to_owned(),
            path => format!("{path}.md"),
        }
    }

    /// The page, laid out by the template `layout`, and its Markdown; `link` is the beginning of its
    /// `Link` header. `reference` is what the API reference is rendered from, if the page ends with
    /// it.
    ///
    /// # Errors
    /// [`SiteError`] when a template cannot be rendered.
    pub(super) fn documents(
        &self,
        templates: &Templates<'_>,
        layout: &str,
        link: Option<&str>,
        reference: Option<&Value>,
    ) -> Result<[Document; 2], SiteError> {
        let markdown_path = self.markdown_path();
        let alternate = format!("<{markdown_path}>; rel=\"alternate\"; type=\"text/markdown\"");
        let html = self.html(templates, layout, reference)?;
        let mut markdown = self.article.markdown.clone();
        if let Some(reference) = reference {
            markdown.extend(["\n", &templates.fill(REFERENCE, reference.clone())?]);
        }
        let html = Representation::new(HTML, html);
        let markdown = Representation::new(MARKDOWN, markdown);
        let page = Document {
            link: Some(match link {
                Some(link) => format!("{link}, {alternate}"),
                None => alternate,
            }),
            ..Document::new(
                self.path.clone(),
                PAGE_MAX_AGE_S,
                vec![html, markdown.clone()],
            )
        };
        let twin = Document {
            is_negotiated: true,
            ..Document::new(markdown_path, PAGE_MAX_AGE_S, vec![markdown])
        };
        Ok([page, twin])
    }

    fn html(
        &self,
        templates: &Templates<'_>,
        layout: &str,
        reference: Option<&Value>,
    ) -> Result<String, SiteError> {
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
            ..reference.cloned().unwrap_or_else(|| context! { groups => () })
        };
        let body = templates.fill(layout, article)?;
        let frame = context! {
            title => lead.title.as_str(),
            description => self.description(),
            here => self.path.as_str(),
            markdown_path => Value::from_safe_string(self.markdown_path()),
            body => Value::from_safe_string(body.clone()),
        };
        let html = templates.fill(FRAME, frame)?;
        if html.contains(&body) {
            Ok(html)
        } else {
            Err(SiteError::new(FRAME, "has no {{ body }}"))
        }
    }

    /// The page, as other documents list it.
    pub(super) fn card(&self) -> Value {
        context! {
            path => self.path.as_str(),
            markdown_path => self.markdown_path(),
            title_md => escape_markdown(&self.article.lead.title),
        }
    }

    /// The beginning of its first paragraph.
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

/// `text`, or as many of its first words as fit, with an ellipsis.
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
