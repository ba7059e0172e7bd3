//! A page: one Markdown source, served as HTML in the site's frame and as Markdown.

use minijinja::context;
use minijinja::value::Value;

use crate::domain::{Language, Passage, Settings};

use super::catalog::{FRAME, PageRow, SIGN_UP};
use super::context::{absolute, escape_markdown, is_legal};
use super::document::{Document, HTML, MARKDOWN, PAGE_MAX_AGE_S, Representation};
use super::error::SiteError;
use super::markdown::{self, Article, NEWSLETTER_FORM, Section};
use super::templates::Templates;

/// Maximum length of a page's description, in characters: about as much as search engines show.
const DESCRIPTION_LEN_MAX: usize = 160;

/// A parsed page.
#[derive(Debug)]
pub(super) struct Page {
    /// The path of its HTML, which clients can also request as Markdown.
    pub(super) path: String,
    /// Its text in each of its languages; other documents list the first.
    texts: Vec<PageText>,
}

/// The text of a page in a language.
#[derive(Debug)]
struct PageText {
    language: Language,
    article: Article,
}

impl Page {
    /// Renders and parses the template `name` in each of `languages`, with `values`.
    ///
    /// # Errors
    /// [`SiteError`] when it cannot be rendered, or does not begin with a first-level heading.
    pub(super) fn read(
        templates: &Templates,
        path: &str,
        name: &str,
        languages: &[Language],
        values: &Value,
    ) -> Result<Self, SiteError> {
        let text = |&language: &Language| {
            let source = templates.source_in(language, name);
            let markdown = templates.fill_in(language, &source, values.clone())?;
            let article =
                markdown::read(&markdown, &templates.images).ok_or_else(|| SiteError {
                    line: Some(1),
                    ..SiteError::new(&source, "does not begin with a title, such as # Title")
                })?;
            if let Some(image) = &article.missing_image {
                return Err(SiteError {
                    line: templates.line_with(&source, image),
                    ..SiteError::new(&source, format!("there is no file {image}"))
                });
            }
            Ok(PageText { language, article })
        };
        Ok(Self {
            path: path.to_owned(),
            texts: languages
                .iter()
                .map(text)
                .collect::<Result<_, SiteError>>()?,
        })
    }

    /// The path of its Markdown.
    pub(super) fn markdown_path(&self) -> String {
        match self.path.as_str() {
            "/" => "/index.md".to_owned(),
            path => format!("{path}.md"),
        }
    }

    /// The page and its Markdown, each in its languages, laid out according to `row`; `values` are for the
    /// templates.
    ///
    /// # Errors
    /// [`SiteError`] when a template can't be rendered.
    pub(super) fn documents(
        &self,
        templates: &Templates,
        row: &PageRow,
        values: &Value,
    ) -> Result<[Document; 2], SiteError> {
        let (mut pages, mut twins) = (Vec::new(), Vec::new());
        for text in &self.texts {
            let language = (self.texts.len() > 1).then_some(text.language);
            let html = self.html(templates, text, row.layout, values)?;
            let mut markdown = text.article.markdown.clone();
            if let Some(end) = row.markdown_end {
                markdown.extend(["\n", &templates.fill(end, values.clone())?]);
            }
            let [html, markdown] =
                [(HTML, html), (MARKDOWN, markdown)].map(|(media_type, body)| Representation {
                    language,
                    ..Representation::new(media_type, body)
                });
            pages.extend([html, markdown.clone()]);
            twins.push(markdown);
        }
        let markdown_path = self.markdown_path();
        let alternate = format!("<{markdown_path}>; rel=\"alternate\"; type=\"text/markdown\"");
        let page = Document {
            link: Some(match row.link {
                Some(link) => format!("{link}, {alternate}"),
                None => alternate,
            }),
            ..Document::new(self.path.clone(), PAGE_MAX_AGE_S, pages)
        };
        let twin = Document {
            is_negotiated: true,
            ..Document::new(markdown_path, PAGE_MAX_AGE_S, twins)
        };
        Ok([page, twin])
    }

    fn html(
        &self,
        templates: &Templates,
        text: &PageText,
        layout: &str,
        values: &Value,
    ) -> Result<String, SiteError> {
        let Article { lead, sections, .. } = &text.article;
        let section = |section: &Section| {
            context! {
                title => section.title.as_str(),
                anchor => section.anchor.as_str(),
                html => Value::from_safe_string(section.html.clone()),
            }
        };
        let article = context! {
            here => self.path.as_str(),
            lead => Value::from_safe_string(lead.html.clone()),
            sections => sections.iter().map(section).collect::<Vec<_>>(),
            ..values.clone()
        };
        let body = templates.fill_in(text.language, layout, article)?;
        let body = with_form(templates, text.language, body)?;
        let languages = self.texts.iter().map(|text| text.language);
        let frame = context! {
            title => lead.title.as_str(),
            description => text.description(),
            here => self.path.as_str(),
            languages => templates.language_links(languages),
            markdown_path => Value::from_safe_string(self.markdown_path()),
            body => Value::from_safe_string(body.clone()),
            ..values.clone()
        };
        let html = templates.fill_in(text.language, FRAME, frame)?;
        if html.contains(&body) {
            Ok(html)
        } else {
            Err(SiteError::new(FRAME, "has no {{ body }}"))
        }
    }

    /// Path and name of the page in the navigation of each language, if it is listed there.
    pub(super) fn navigation(&self) -> impl Iterator<Item = (Language, [String; 2])> {
        self.texts.iter().filter_map(|text| {
            let words = text.article.navigation.clone()?;
            Some((text.language, [self.path.clone(), words]))
        })
    }

    /// The page, as other documents list it.
    pub(super) fn card(&self, settings: &Settings) -> Value {
        let url = absolute(&settings.base_url, &self.path);
        let title = self.texts.first().map(|text| &text.article.lead.title);
        context! {
            path => self.path.as_str(),
            markdown_path => self.markdown_path(),
            title_md => title.map(|title| escape_markdown(title)),
            is_legal => is_legal(settings, &url),
        }
    }

    /// The passages for the assistant: the page's sections, and the text before them. A text that is the same
    /// in several languages appears once.
    pub(super) fn passages(&self, base_url: &str, is_own: bool) -> Vec<Passage> {
        let url = format!("{base_url}{}", self.path);
        let mut passages = Vec::new();
        for text in &self.texts {
            let is_same = |other: &&PageText| other.article.markdown == text.article.markdown;
            let mut same = self.texts.iter().filter(is_same);
            let is_first = same.next().is_some_and(|one| one.language == text.language);
            if is_first {
                let language = same.next().is_none().then_some(text.language);
                passages.extend(text.passages(&url, language, is_own));
            }
        }
        passages
    }
}

impl PageText {
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

    /// Its passages, under the page's `url`.
    fn passages(&self, url: &str, language: Option<Language>, is_own: bool) -> Vec<Passage> {
        let url = match language {
            Some(language) if language != Language::default() => {
                format!("{url}?lang={}", language.tag())
            }
            Some(_) | None => url.to_owned(),
        };
        let passage = |section: &Section, url| Passage {
            page: self.article.lead.title.clone(),
            title: section.title.clone(),
            url,
            text: section.text.clone(),
            hints: section.hints.clone(),
            examples: Vec::new(),
            is_own,
            language,
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

/// `body` with the newsletter's form where its source asks for it. A page has only one, because the form's
/// parts have ids.
fn with_form(templates: &Templates, language: Language, body: String) -> Result<String, SiteError> {
    if !body.contains(NEWSLETTER_FORM) {
        return Ok(body);
    }
    let form = templates.fill_in(language, SIGN_UP, context! {})?;
    let free = usize::from(!body.contains("id=\"newsletter-email\""));
    let body = body.replacen(NEWSLETTER_FORM, &form, free);
    Ok(body.replace(NEWSLETTER_FORM, ""))
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
