//! A page: one Markdown source, served as HTML in the site's frame and as Markdown.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::domain::{Language, Passage, Settings};

use super::catalog::{FRAME, HOME_LINK, PageRow, SIGN_UP};
use super::document::{Document, HTML, MARKDOWN, Representation};
use super::facts::{absolute, escape_markdown, is_legal};
use super::markdown::{self, Article, Section};
use super::site_file::SiteError;
use super::templates::Templates;

/// Maximum length of a page's description, in characters: about as much as search engines show.
const DESCRIPTION_LEN_MAX: usize = 160;

/// A parsed page.
#[derive(Debug)]
pub(super) struct Page {
    /// The path of its HTML, which clients can also request as Markdown.
    pub(super) path: String,
    row: &'static PageRow,
    /// True if its text is the operator's.
    pub(super) is_own: bool,
    /// Its text in each of its languages; other documents list the first.
    texts: Vec<(Language, Article)>,
}

impl Page {
    /// Renders and parses the template `name` in each of the languages of `row`, with `values`.
    ///
    /// # Errors
    /// [`SiteError`] when it cannot be rendered, or does not begin with a first-level heading.
    pub(super) fn read(
        templates: &Templates,
        row: &'static PageRow,
        path: &str,
        name: &str,
        is_own: bool,
        values: &Value,
    ) -> Result<Self, SiteError> {
        let mut texts = Vec::new();
        for &language in row.languages {
            let source = templates.source_in(language, name);
            let wrong = |line, why: &str| SiteError {
                line,
                ..SiteError::new(&source, why)
            };
            let no_title = || wrong(Some(1), "does not begin with a title, such as # Title");
            let markdown = templates.fill(language, &source, values.clone())?;
            let article = markdown::read(&markdown, &templates.images).ok_or_else(no_title)?;
            if let Some(image) = &article.missing_image {
                let line = templates.line_with(&source, image);
                return Err(wrong(line, &format!("the folder has no image {image}")));
            }
            texts.push((language, article));
        }
        Ok(Self {
            path: path.to_owned(),
            row,
            is_own,
            texts,
        })
    }

    /// The number that its name begins with, and its title without accents: the key of the operator's order.
    pub(super) fn order(&self) -> (u64, String) {
        let name = self.path.trim_start_matches('/');
        let number = name.split(|c: char| !c.is_ascii_digit()).next();
        let number = number.and_then(|digits| digits.parse().ok());
        let first = self.texts.first();
        let title = first.map(|(_, article)| article.lead.title.to_lowercase());
        let title = title.unwrap_or_default();
        let letters = title.nfd().filter(|c| !is_combining_mark(*c));
        (number.unwrap_or(u64::MAX), letters.collect())
    }

    /// The path of its Markdown.
    pub(super) fn markdown_path(&self) -> String {
        match self.path.as_str() {
            "/" => "/index.md".to_owned(),
            path => format!("{path}.md"),
        }
    }

    /// The page and its Markdown, each in its languages.
    ///
    /// # Errors
    /// [`SiteError`] when a template can't be rendered.
    pub(super) fn documents(&self, templates: &Templates) -> Result<[Document; 2], SiteError> {
        let (mut pages, mut twins) = (Vec::new(), Vec::new());
        for (language, article) in &self.texts {
            let form = |media_type, body: String| Representation {
                language: (self.texts.len() > 1).then_some(*language),
                ..Representation::new(media_type, body)
            };
            let markdown = form(MARKDOWN, article.markdown.clone());
            let html = self.html(templates, *language, article)?;
            pages.extend([form(HTML, html), markdown.clone()]);
            twins.push(markdown);
        }
        let markdown_path = self.markdown_path();
        let alternate = format!("<{markdown_path}>; rel=\"alternate\"; type=\"text/markdown\"");
        let page = Document {
            link: Some(match self.path.as_str() {
                "/" => format!("{HOME_LINK}, {alternate}"),
                _ => alternate,
            }),
            ..Document::new(self.path.clone(), pages)
        };
        let twin = Document {
            is_negotiated: true,
            ..Document::new(markdown_path, twins)
        };
        Ok([page, twin])
    }

    fn html(
        &self,
        templates: &Templates,
        language: Language,
        article: &Article,
    ) -> Result<String, SiteError> {
        let lead = &article.lead;
        let values = context! {
            here => self.path.as_str(),
            lead => Value::from_safe_string(lead.html.clone()),
            sections => sections(article.sections.iter()),
        };
        let body = templates.fill(language, self.row.layout, values)?;
        let body = with_form(templates, language, &body)?;
        let values = context! {
            title => lead.title.as_str(),
            description => description(article),
            here => self.path.as_str(),
            markdown_path => Value::from_safe_string(self.markdown_path()),
        };
        let html = templates.frame(language, self.row.languages, &body, values)?;
        if html.contains(&body) {
            Ok(html)
        } else {
            Err(SiteError::new(FRAME, "has no {{ body }}"))
        }
    }

    /// The parts of its first text, for templates.
    pub(super) fn parts(&self) -> Vec<Value> {
        let first = self.texts.iter().take(1);
        sections(first.flat_map(|(_, article)| article.parts()))
    }

    /// The headings in `language` that have a text. The title of the home page is the site's name and tells nothing.
    pub(super) fn headings(&self, language: Language) -> impl Iterator<Item = &str> {
        let skipped = usize::from(self.path == "/");
        let texts = self.texts.iter();
        let articles = texts.filter(move |(own, _)| *own == language);
        let parts = articles.flat_map(move |(_, article)| article.parts().skip(skipped));
        let told = parts.filter(|part| !part.text.is_empty());
        told.map(|part| part.title.as_str())
    }

    /// The page, as other documents list it.
    pub(super) fn card(&self, settings: &Settings) -> Value {
        let url = absolute(&settings.base_url, &self.path);
        let title = self.texts.first().map(|(_, article)| &article.lead.title);
        let label = |(language, article): &(Language, Article)| {
            Some((language.as_str(), article.navigation.clone()?))
        };
        let labels = self.texts.iter().filter_map(label);
        context! {
            path => self.path.as_str(),
            markdown_path => self.markdown_path(),
            title_md => title.map(|title| escape_markdown(title)),
            is_legal => is_legal(settings, &url),
            // By language, if it is listed there.
            navigation => labels.collect::<BTreeMap<_, _>>(),
        }
    }

    /// The passages for the assistant: the page's sections, and the text before them. A text that is the same
    /// in several languages appears once.
    pub(super) fn passages(&self, base_url: &str, site_language: Language) -> Vec<Passage> {
        let mut passages = Vec::new();
        for (language, article) in &self.texts {
            let texts = self.texts.iter();
            let mut same = texts.filter(|(_, other)| other.markdown == article.markdown);
            if same.next().is_none_or(|(first, _)| first != language) {
                continue;
            }
            let language = same.next().is_none().then_some(*language);
            let other = language.filter(|language| *language != site_language);
            let query = other.map_or_else(String::new, |other| format!("?lang={}", other.as_str()));
            let url = format!("{base_url}{}{query}", self.path);
            let passage = |part: &Section| {
                let is_lead = part.anchor == article.lead.anchor;
                let label = article.navigation.iter().filter(|_| is_lead);
                Passage {
                    page: article.lead.title.clone(),
                    title: part.title.clone(),
                    url: if is_lead {
                        url.clone()
                    } else {
                        format!("{url}#{}", part.anchor)
                    },
                    text: part.text.clone(),
                    hints: part.hints.iter().chain(label).cloned().collect(),
                    examples: Vec::new(),
                    is_own: self.is_own,
                    language,
                }
            };
            let has_sections = self.is_own && !article.sections.is_empty();
            let is_told = |part: &&Section| has_sections || !part.text.is_empty();
            passages.extend(article.parts().filter(is_told).map(passage));
        }
        passages
    }
}

/// The beginning of the first paragraph, or as many of its first words as search engines show, with an ellipsis.
fn description(article: &Article) -> String {
    let mut lines = article.parts().filter_map(|part| part.text.lines().next());
    let first = lines.find(|line| !line.is_empty());
    shorten(first.unwrap_or(&article.lead.title), DESCRIPTION_LEN_MAX)
}

/// Sections as templates see them.
fn sections<'a>(sections: impl Iterator<Item = &'a Section>) -> Vec<Value> {
    let section = |section: &Section| {
        context! {
            title => section.title.as_str(),
            anchor => section.anchor.as_str(),
            html => Value::from_safe_string(section.html.clone()),
            text => section.text.as_str(),
            hints => section.hints.clone(),
        }
    };
    sections.map(section).collect()
}

/// `body` with the newsletter's form in place of a link to it that is alone in its paragraph. A page has only one,
/// because the form's parts have ids.
fn with_form(templates: &Templates, language: Language, body: &str) -> Result<String, SiteError> {
    const LINK: &str = "<p><a href=\"form:newsletter\">";
    let mut pieces = body.split(LINK);
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    let mut is_free = !body.contains("id=\"newsletter-email\"");
    for piece in pieces {
        match piece.split_once("</a></p>\n") {
            Some((label, rest)) if !label.contains("</a>") => {
                if is_free {
                    filled.push_str(&templates.fill(language, SIGN_UP, context! {})?);
                    is_free = false;
                }
                filled.push_str(rest);
            }
            Some(_) | None => filled.extend([LINK, piece]),
        }
    }
    Ok(filled)
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
