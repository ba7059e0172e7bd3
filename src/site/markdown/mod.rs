//! Markdown to HTML, and to the plain text that the assistant quotes.
//!
//! HTML in the source is shown as text, as are links that would run a script. Comments are removed; one on a
//! line of its own is a hint to the assistant, or puts the page in the navigation. A link with the title
//! `button` is a button. Images must be in the operator's folder: the pages' policy loads no others.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "of the parser's events only a few matter"
)]

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use url::Url;

use crate::domain::Passage;

use super::image::{FOLDER, Images};

/// A parsed Markdown document.
#[derive(Clone, Debug)]
pub(super) struct Article {
    /// The first-level heading and everything before the first section.
    pub(super) lead: Section,
    /// The parts that begin with a second-level heading.
    pub(super) sections: Vec<Section>,
    /// The source without its comments, with the URLs of its images.
    pub(super) markdown: String,
    /// The URL of the first image that is not in the operator's folder.
    pub(super) missing_image: Option<String>,
    /// The page's name in the navigation, if it is listed there.
    pub(super) navigation: Option<String>,
}

/// A part of a document, under one heading.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// The heading, as plain text.
    pub(super) title: String,
    /// The heading as an anchor: lowercase letters of any script, digits and hyphens, unique in a document.
    pub(super) anchor: String,
    /// The whole section, the heading with its anchor included.
    pub(super) html: String,
    /// The text under the heading, as in [`Passage::text`].
    pub(super) text: String,
    /// The hints, separated by commas in the source.
    pub(super) hints: Vec<String>,
}

impl Article {
    pub(super) fn parts(&self) -> impl Iterator<Item = &Section> {
        std::iter::once(&self.lead).chain(&self.sections)
    }
}

/// Parses a document that may show `images`; `None` if it does not begin with a first-level heading.
pub(super) fn read(markdown: &str, images: &Images) -> Option<Article> {
    let mut filter = Filter::new(markdown, images);
    let mut parts: Vec<Vec<Event<'_>>> = Vec::new();
    for (event, range) in parse(markdown).into_offset_iter() {
        let Some(event) = filter.apply(event, range) else {
            continue;
        };
        let first_level = if parts.is_empty() {
            HeadingLevel::H1
        } else {
            HeadingLevel::H2
        };
        if matches!(event, Event::Start(Tag::Heading { level, .. }) if level == first_level) {
            parts.push(Vec::new());
        }
        match parts.last_mut() {
            Some(part) => part.push(event),
            // A comment may come before the title.
            None if matches!(event, Event::Html(_)) => {}
            None => return None,
        }
    }
    let mut anchors = Vec::new();
    let sections = parts.into_iter();
    let mut sections = sections.map(|part| Section::of(part, &mut anchors, images));
    Some(Article {
        lead: sections.next()?,
        sections: sections.collect(),
        missing_image: filter.missing_image,
        markdown: edited(markdown, filter.edits),
        navigation: filter.navigation,
    })
}

/// `markdown` as HTML, without anchors.
pub(super) fn to_html(markdown: &str) -> String {
    let images = Images::default();
    let mut filter = Filter::new(markdown, &images);
    let events = parse(markdown).into_offset_iter();
    let events = events.filter_map(|(event, range)| filter.apply(event, range));
    let events = events.filter(|event| !matches!(event, Event::Html(_)));
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

fn parse(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
}

/// Turns HTML and links to scripts into text, and removes comments. The HTML that it lets pass are the hints.
#[derive(Debug)]
struct Filter<'a> {
    source: &'a str,
    images: &'a Images,
    /// Replacements in the source: for comments, and for the names of images.
    edits: Vec<(Range<usize>, &'static str)>,
    navigation: Option<String>,
    is_in_comment: bool,
    /// Links are never nested.
    is_in_hidden_link: bool,
    missing_image: Option<String>,
}

impl<'a> Filter<'a> {
    const fn new(source: &'a str, images: &'a Images) -> Self {
        Self {
            source,
            images,
            edits: Vec::new(),
            navigation: None,
            is_in_comment: false,
            is_in_hidden_link: false,
            missing_image: None,
        }
    }

    /// The replacement of `event`, which is at `range` of the source.
    fn apply(&mut self, mut event: Event<'a>, range: Range<usize>) -> Option<Event<'a>> {
        match event {
            Event::InlineHtml(html) if html.starts_with("<!--") => {
                self.edits.push((range, ""));
                None
            }
            Event::Start(Tag::HtmlBlock) => {
                let comment = comment(self.source.get(range.clone())?)?;
                self.edits.push((range, ""));
                self.is_in_comment = true;
                let hint = comment.strip_prefix(' ')?.strip_suffix(' ')?;
                if let Some(words) = hint.strip_prefix("navigation: ") {
                    self.navigation = Some(words.trim().to_owned());
                    return None;
                }
                (!hint.contains('\n')).then_some(Event::Html(CowStr::Borrowed(hint)))
            }
            Event::End(TagEnd::HtmlBlock) => {
                self.is_in_comment = false;
                None
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                (!self.is_in_comment).then_some(Event::Text(html))
            }
            Event::Start(Tag::Image {
                ref mut dest_url, ..
            }) => {
                *dest_url = self.image_url(dest_url.clone(), range);
                Some(event)
            }
            Event::Start(Tag::Link { dest_url, .. }) if holds_content(&dest_url) => {
                self.is_in_hidden_link = true;
                None
            }
            Event::End(TagEnd::Link) if self.is_in_hidden_link => {
                self.is_in_hidden_link = false;
                None
            }
            event => Some(event),
        }
    }

    /// The URL of the image at `range` of the source, which also gets it. A reference is defined elsewhere, and stays
    /// unchanged.
    fn image_url(&mut self, url: CowStr<'a>, range: Range<usize>) -> CowStr<'a> {
        let name = url.strip_prefix(FOLDER).unwrap_or(&url);
        if !self.images.contains(name) {
            self.missing_image.get_or_insert_with(|| url.to_string());
            return url;
        }
        let image = self.source.get(range.clone()).unwrap_or_default();
        if *url == *name
            && let Some(target) = image.rfind("](")
            && let Some(at) = image.get(target..).and_then(|source| source.find(name))
        {
            let at = range.start + target + at;
            self.edits.push((at..at, FOLDER));
        }
        CowStr::from(format!("{FOLDER}{name}"))
    }
}

/// True if the URL is a script or a document itself, rather than an address, as browsers read it.
fn holds_content(url: &str) -> bool {
    let schemes = ["javascript", "data", "vbscript"];
    Url::parse(url).is_ok_and(|url| schemes.contains(&url.scheme()))
}

/// The text of an HTML block that is one comment, closed or not, and nothing else.
fn comment(block: &str) -> Option<&str> {
    let inner = block.trim().strip_prefix("<!--")?;
    match inner.split_once("-->") {
        Some((comment, "")) => Some(comment),
        Some(_) => None,
        None => Some(inner),
    }
}

/// `text` with those ranges replaced and, after one of whole lines, without the empty line there.
fn edited(text: &str, mut edits: Vec<(Range<usize>, &str)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut kept = String::with_capacity(text.len());
    let mut start = 0;
    for (range, replacement) in edits {
        kept.push_str(text.get(start..range.start).unwrap_or_default());
        kept.push_str(replacement);
        let (before, rest) = text.split_at_checked(range.end).unwrap_or((text, ""));
        let is_before_empty_line = before.ends_with('\n') && rest.starts_with('\n');
        start = range.end + usize::from(is_before_empty_line);
    }
    kept.push_str(text.get(start..).unwrap_or_default());
    kept
}

impl Section {
    /// The section of these events, with an anchor not yet in `anchors`, to which it is added.
    fn of(mut events: Vec<Event<'_>>, anchors: &mut Vec<String>, images: &Images) -> Self {
        let mut hints = Vec::new();
        events.retain(|event| {
            if let Event::Html(hint) = event {
                hints.extend(hint.split(',').map(|hint| hint.trim().to_owned()));
            }
            !matches!(event, Event::Html(_))
        });
        hints.retain(|hint| !hint.is_empty());
        let is_end = |event: &Event<'_>| matches!(event, Event::End(TagEnd::Heading(_)));
        let heading_len = events.iter().position(is_end).map_or(0, |end| end + 1);
        let (heading, body) = events.split_at_mut(heading_len);
        let (title, text) = (to_text(heading), to_text(body));
        let anchor = unused(&slug(&title), anchors);
        if let Some(Event::Start(Tag::Heading { id, .. })) = heading.first_mut() {
            *id = Some(CowStr::from(anchor.clone()));
        }
        let mut page = String::new();
        html::push_html(&mut page, events.into_iter());
        // No text and no attribute contains these marks unescaped.
        let page = page.replace(" title=\"button\">", " class=\"button\">");
        Self {
            title,
            anchor,
            html: images.with_sizes(page),
            text,
            hints,
        }
    }
}

/// `anchor`, with a number if it is in `anchors`, to which the result is added.
fn unused(anchor: &str, anchors: &mut Vec<String>) -> String {
    let mut unused = anchor.to_owned();
    let mut number = 1;
    while anchors.contains(&unused) {
        number += 1;
        unused = format!("{anchor}-{number}");
    }
    anchors.push(unused.clone());
    unused
}

/// The text of `events` without markup: a block each for paragraphs, code and tables.
fn to_text(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    let mut is_code = false;
    for event in events {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => {
                is_code = false;
                text.push('\n');
            }
            Event::Text(code) if is_code => {
                for line in code.lines() {
                    text.extend([Passage::CODE_INDENT, line, "\n"]);
                }
            }
            Event::Text(words) | Event::Code(words) => text.push_str(words),
            Event::SoftBreak => text.push(' '),
            Event::Start(Tag::Item) => text.push_str("- "),
            Event::HardBreak | Event::End(TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow) => {
                text.push('\n');
            }
            Event::End(TagEnd::TableCell) => text.push_str("; "),
            Event::End(TagEnd::Paragraph) => text.push_str("\n\n"),
            Event::End(TagEnd::Table | TagEnd::List(_)) => text.push('\n'),
            _ => {}
        }
    }
    text.replace("; \n", "\n").trim_end().to_owned()
}

/// `title` as an anchor.
pub(super) fn slug(title: &str) -> String {
    // An accent may be a character of its own, after its letter.
    let is_kept = |c: char| c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c);
    let words = title.split(|c| !is_kept(c)).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(str::to_lowercase).collect();
    if words.is_empty() {
        return "section".to_owned();
    }
    words.join("-")
}

#[cfg(test)]
mod tests;
