//! Markdown to HTML, and to the plain text that the assistant quotes.
//!
//! HTML in the source is shown as text, as are links that would run a script. Comments are removed; one on a
//! line of its own is a hint to the assistant, or puts the page in the navigation. A link that is alone in
//! its paragraph may be a button or a form (`blocks`). Images from the operator's folder are shown; others
//! become links, because the pages' policy loads none.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "of the parser's events only a few matter"
)]

mod blocks;

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::domain::Passage;

use super::image::{FOLDER, Images};

pub(super) use blocks::NEWSLETTER_FORM;

/// A parsed Markdown document.
#[derive(Clone, Debug)]
pub(super) struct Article {
    /// The first-level heading and everything before the first section.
    pub(super) lead: Section,
    /// The parts that begin with a second-level heading.
    pub(super) sections: Vec<Section>,
    /// The source without its comments, with the URLs of its images.
    pub(super) markdown: String,
    /// The first image missing from the operator's folder.
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

/// Parses a document that may show `images`; `None` if it does not begin with a first-level heading.
pub(super) fn read(markdown: &str, images: &Images) -> Option<Article> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut filter = Filter::new(markdown, images);
    for (event, range) in parse(markdown).into_offset_iter() {
        let hints_before = filter.hints.len();
        let event = filter.apply(event, range);
        let begins = match (&event, parts.is_empty()) {
            (None, _) => false,
            (Some(event), true) if is_heading(event, HeadingLevel::H1) => true,
            (Some(_), true) => return None,
            (Some(event), false) => is_heading(event, HeadingLevel::H2),
        };
        if begins {
            parts.push(Part::default());
        }
        if let Some(part) = parts.last_mut() {
            part.hints.extend(filter.hints.iter().skip(hints_before));
            part.events.extend(event);
        }
    }
    let mut anchors = Vec::new();
    let sections = parts.into_iter();
    let mut sections = sections.map(|part| part.section(&mut anchors, images));
    Some(Article {
        lead: sections.next()?,
        sections: sections.collect(),
        missing_image: filter.missing_image,
        markdown: edited(markdown, filter.edits),
        navigation: filter.navigation.map(str::to_owned),
    })
}

/// `markdown` as HTML, without anchors and images.
pub(super) fn to_html(markdown: &str) -> String {
    let images = Images::default();
    let mut filter = Filter::new(markdown, &images);
    let events = parse(markdown).into_offset_iter();
    let events = events.filter_map(|(event, range)| filter.apply(event, range));
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

/// The events and hints of one section.
#[derive(Debug, Default)]
struct Part<'a> {
    events: Vec<Event<'a>>,
    hints: Vec<&'a str>,
}

fn parse(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
}

/// Turns HTML into text and foreign images into links, and removes comments.
#[derive(Debug)]
struct Filter<'a> {
    source: &'a str,
    images: &'a Images,
    /// Replacements in the source: for comments, and for the names of images.
    edits: Vec<(Range<usize>, &'static str)>,
    hints: Vec<&'a str>,
    navigation: Option<&'a str>,
    is_in_comment: bool,
    /// The end of each open link and image, if it is shown. Links are never nested.
    open: Vec<Option<TagEnd>>,
    missing_image: Option<String>,
}

impl<'a> Filter<'a> {
    const fn new(source: &'a str, images: &'a Images) -> Self {
        Self {
            source,
            images,
            edits: Vec::new(),
            hints: Vec::new(),
            navigation: None,
            is_in_comment: false,
            open: Vec::new(),
            missing_image: None,
        }
    }

    /// The replacement of `event`, which is at `range` of the source.
    fn apply(&mut self, event: Event<'a>, range: Range<usize>) -> Option<Event<'a>> {
        match event {
            Event::InlineHtml(html) if html.starts_with("<!--") => {
                self.edits.push((range, ""));
                None
            }
            Event::Start(Tag::HtmlBlock) => {
                let comment = comment(self.source.get(range.clone())?)?;
                self.edits.push((range, ""));
                self.is_in_comment = true;
                let hint = comment
                    .strip_prefix(' ')
                    .and_then(|rest| rest.strip_suffix(' '));
                let hint = hint.filter(|hint| !hint.contains('\n'));
                match hint.and_then(|hint| hint.strip_prefix("navigation: ")) {
                    Some(words) => self.navigation = Some(words.trim()),
                    None => self.hints.extend(hint),
                }
                None
            }
            Event::End(TagEnd::HtmlBlock) => {
                self.is_in_comment = false;
                None
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                (!self.is_in_comment).then_some(Event::Text(html))
            }
            Event::Start(Tag::Image {
                dest_url, title, ..
            }) => {
                if let Some(name) = Images::name_in(&dest_url) {
                    if self.images.contains(name) {
                        return Some(self.show_image(&dest_url, name, title, range));
                    }
                    let missing = || name.to_owned();
                    self.missing_image.get_or_insert_with(missing);
                }
                let is_address = !holds_content(&dest_url);
                let link = Event::Start(Tag::Link {
                    link_type: LinkType::Inline,
                    dest_url,
                    title,
                    id: CowStr::Borrowed(""),
                });
                self.open_link(is_address).then_some(link)
            }
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                let is_address = !holds_content(dest_url);
                self.open_link(is_address).then_some(event)
            }
            Event::End(TagEnd::Image | TagEnd::Link) => self.open.pop().flatten().map(Event::End),
            event => Some(event),
        }
    }

    fn open_link(&mut self, is_address: bool) -> bool {
        let is_shown = is_address && !self.open.contains(&Some(TagEnd::Link));
        self.open.push(is_shown.then_some(TagEnd::Link));
        is_shown
    }

    /// The start of the image `name`, which `url` refers to, at `range`.
    fn show_image(
        &mut self,
        url: &str,
        name: &str,
        title: CowStr<'a>,
        range: Range<usize>,
    ) -> Event<'a> {
        self.open.push(Some(TagEnd::Image));
        let image = self.source.get(range.clone()).unwrap_or_default();
        // A reference is defined elsewhere, and stays unchanged.
        if url == name
            && let Some(target) = image.rfind("](")
            && let Some(at) = image.get(target..).and_then(|source| source.find(name))
        {
            let at = range.start + target + at;
            self.edits.push((at..at, FOLDER));
        }
        Event::Start(Tag::Image {
            link_type: LinkType::Inline,
            dest_url: CowStr::from(format!("{FOLDER}{name}")),
            title,
            id: CowStr::Borrowed(""),
        })
    }
}

/// True if the URL is a script or a document itself, rather than an address. Read like browsers do: they skip
/// white space and controls, and ignore the case of schemes.
fn holds_content(url: &str) -> bool {
    let is_skipped = |c: &char| c.is_whitespace() || c.is_control();
    let url: String = url.chars().filter(|c| !is_skipped(c)).collect();
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        ["javascript", "data", "vbscript"]
            .iter()
            .any(|name| scheme.eq_ignore_ascii_case(name))
    })
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

fn is_heading(event: &Event<'_>, wanted: HeadingLevel) -> bool {
    matches!(event, Event::Start(Tag::Heading { level, .. }) if *level == wanted)
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

impl Part<'_> {
    /// The section, with an anchor not yet in `anchors`, to which it is added.
    fn section(mut self, anchors: &mut Vec<String>, images: &Images) -> Section {
        let heading_len = self
            .events
            .iter()
            .position(|event| matches!(event, Event::End(TagEnd::Heading(_))))
            .map_or(0, |end| end + 1);
        let (heading, body) = self.events.split_at_mut(heading_len);
        let title = to_text(heading);
        let anchor = unused(slug(&title), anchors);
        let text = to_text(body);
        if let Some(Event::Start(Tag::Heading { id, .. })) = heading.first_mut() {
            *id = Some(CowStr::from(anchor.clone()));
        }
        let mut page = String::new();
        html::push_html(&mut page, blocks::with_blocks(&self.events).into_iter());
        Section {
            title,
            anchor,
            html: images.with_sizes(page),
            text,
            hints: self
                .hints
                .iter()
                .flat_map(|hints| hints.split(','))
                .map(|hint| hint.trim().to_owned())
                .filter(|hint| !hint.is_empty())
                .collect(),
        }
    }
}

/// `anchor`, with a number if it is in `anchors`, to which the result is added.
fn unused(anchor: String, anchors: &mut Vec<String>) -> String {
    let numbered = (2..).map(|number| format!("{anchor}-{number}"));
    let unused = std::iter::once(anchor.clone())
        .chain(numbered)
        .find(|candidate| !anchors.contains(candidate))
        .unwrap_or_default();
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
    let words: Vec<_> = title
        .split(|c| !is_kept(c))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        return "section".to_owned();
    }
    words.join("-")
}

#[cfg(test)]
mod tests;
