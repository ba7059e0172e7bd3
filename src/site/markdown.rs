//! Markdown to HTML, and to the plain text the assistant quotes.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::domain::passage::Passage;

use super::images::Images;

/// A Markdown document, read. HTML in it is text, except for comments, which are left out; those on
/// a line of their own are hints to the assistant. An image is a link.
#[derive(Clone, Debug)]
pub struct Article {
    /// Its first-level heading and what stands before the first section.
    pub lead: Section,
    /// The parts that begin with a second-level heading.
    pub sections: Vec<Section>,
    /// The Markdown without its comments.
    pub markdown: String,
}

/// A part of a document, under one heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its heading, as plain text.
    pub title: String,
    /// Its heading as an anchor: lowercase ASCII letters, digits and hyphens, once in a document.
    pub anchor: String,
    /// All of it, the heading with its anchor included.
    pub html: String,
    /// What stands under the heading, as [`Passage::text`] wants it.
    pub text: String,
    /// What its comments `<!-- .. -->` on lines of their own say; they are not in the HTML.
    pub hints: String,
}

/// Reads a document; nothing if it does not begin with a first-level heading.
#[must_use]
pub fn read(markdown: &str) -> Option<Article> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut comments, mut images) = (Comments::default(), Images::default());
    for (event, range) in parse(markdown).into_offset_iter() {
        let (event, hint) = comments.take(event, markdown, range);
        let event = event.and_then(|event| images.take(event));
        let begins = match parts.last() {
            None if event.as_ref().is_none_or(is_html_block) => false,
            None if is_heading(event.as_ref(), HeadingLevel::H1) => true,
            None => return None,
            Some(_) => is_heading(event.as_ref(), HeadingLevel::H2),
        };
        if begins {
            parts.push(Part::default());
        }
        if let Some(part) = parts.last_mut() {
            if let Some(hint) = hint {
                part.hints.extend([hint, " "]);
            }
            part.events.extend(event);
        }
    }
    let mut anchors = Vec::new();
    let mut sections = parts.into_iter().map(|part| part.section(&mut anchors));
    Some(Article {
        lead: sections.next()?,
        sections: sections.collect(),
        markdown: without(markdown, &comments.ranges),
    })
}

/// `markdown` as HTML, without anchors and comments. HTML in it is text.
#[must_use]
pub fn to_html(markdown: &str) -> String {
    let (mut comments, mut images) = (Comments::default(), Images::default());
    let events = parse(markdown).into_offset_iter();
    let events = events.filter_map(|(event, range)| comments.take(event, markdown, range).0);
    let events = events.filter_map(|event| images.take(event));
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

/// What stands under one heading, as it is read.
#[derive(Debug, Default)]
struct Part<'a> {
    events: Vec<Event<'a>>,
    hints: String,
}

fn parse(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
}

/// The comments of a document, as they are found in it.
#[derive(Debug, Default)]
struct Comments {
    /// Where they stand, in order; none touches the next.
    ranges: Vec<Range<usize>>,
    /// A block of HTML comes line by line, and a comment may go on in the next one.
    is_open: bool,
}

impl Comments {
    /// What is left of an event that stands at `range` of `markdown`, HTML being text; and the hint,
    /// if it was one.
    fn take<'a>(
        &mut self,
        event: Event<'a>,
        markdown: &'a str,
        range: Range<usize>,
    ) -> (Option<Event<'a>>, Option<&'a str>) {
        if let Event::InlineHtml(html) = event {
            if html.starts_with("<!--") {
                self.add(range);
                return (None, None);
            }
            return (Some(Event::Text(html)), None);
        }
        if matches!(event, Event::Html(_)) {
            let line = markdown.get(range.clone()).unwrap_or_default();
            let hint = hint(line).filter(|_| !self.is_open);
            let kept = self.take_line(line, range.start);
            let is_kept = !kept.trim().is_empty();
            return (is_kept.then(|| Event::Text(kept.into())), hint);
        }
        if matches!(event, Event::End(TagEnd::HtmlBlock)) {
            self.is_open = false;
        }
        (Some(event), None)
    }

    /// What a line of HTML, which stands at `start`, has outside comments.
    fn take_line(&mut self, line: &str, start: usize) -> String {
        let mut kept = String::new();
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(rest) = line.get(from..).filter(|rest| !rest.is_empty()) {
            let begin = if self.is_open {
                Some(0)
            } else {
                rest.find("<!--")
            };
            let Some(begin) = begin else {
                kept.push_str(rest);
                break;
            };
            kept.push_str(rest.get(..begin).unwrap_or_default());
            // The shortest comment is `<!-->`: its marks share their hyphens.
            let inner = if self.is_open { 0 } else { begin + 2 };
            let end = rest.get(inner..).and_then(|inner| inner.find("-->"));
            self.is_open = end.is_none();
            let end = from + end.map_or(rest.len(), |end| inner + end + 3);
            ranges.push(from + begin..end);
            from = end;
        }
        if kept.trim().is_empty() && !ranges.is_empty() {
            self.add(start..start + line.len());
        } else {
            for range in ranges {
                self.add(start + range.start..start + range.end);
            }
        }
        kept
    }

    fn add(&mut self, range: Range<usize>) {
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            Some(_) | None => self.ranges.push(range),
        }
    }
}

/// What a comment on a line of its own says.
fn hint(line: &str) -> Option<&str> {
    let hint = line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    (!hint.contains("-->")).then_some(hint)
}

fn is_heading(event: Option<&Event<'_>>, wanted: HeadingLevel) -> bool {
    matches!(event, Some(Event::Start(Tag::Heading { level, .. })) if *level == wanted)
}

fn is_html_block(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock)
    )
}

/// `text` without those ranges and, where one is of whole lines, the empty line after it.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut start = 0;
    for range in ranges {
        kept.push_str(text.get(start..range.start).unwrap_or_default());
        let (before, rest) = text.split_at_checked(range.end).unwrap_or((text, ""));
        let is_before_empty_line = before.ends_with('\n') && rest.starts_with('\n');
        start = range.end + usize::from(is_before_empty_line);
    }
    kept.push_str(text.get(start..).unwrap_or_default());
    kept
}

impl Part<'_> {
    /// The section; its anchor is none of `anchors` and joins them.
    fn section(mut self, anchors: &mut Vec<String>) -> Section {
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
        html::push_html(&mut page, self.events.into_iter());
        Section {
            title,
            anchor,
            html: page,
            text,
            hints: self.hints.trim_end().to_owned(),
        }
    }
}

/// `anchor`, with a number if it is one of `anchors`, which it joins.
fn unused(anchor: String, anchors: &mut Vec<String>) -> String {
    let numbered = (2..).map(|number| format!("{anchor}-{number}"));
    let unused = std::iter::once(anchor.clone())
        .chain(numbered)
        .find(|candidate| !anchors.contains(candidate))
        .unwrap_or_default();
    anchors.push(unused.clone());
    unused
}

/// The words of `events` without their marks: a block each for paragraphs, code and tables.
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
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    text.replace("; \n", "\n").trim_end().to_owned()
}

/// `title` as an anchor.
fn slug(title: &str) -> String {
    let words: Vec<_> = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() {
        return "section".to_owned();
    }
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_an_anchor_html_and_plain_text() {
        let source = "# Title\n\nIntro.\n\n## What `it` is: *this*\n\n<!-- hint -->\n\nOne\n[two](http://x/y) & <b>.\n\n\
            ```\ncurl \\\n  -d 1\n```\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n## Next\n\nEnd.\n";
        let article = read(source).unwrap();
        assert_eq!(article.lead.title, "Title");
        assert_eq!(article.lead.text, "Intro.");
        assert_eq!(
            article.lead.html,
            "<h1 id=\"title\">Title</h1>\n<p>Intro.</p>\n"
        );
        let sections = article.sections;
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].title, "What it is: this");
        assert_eq!(sections[0].anchor, "what-it-is-this");
        assert_eq!(
            sections[0].text,
            "One two & <b>.\n\n    curl \\\n      -d 1\n\nA; B\n1; 2"
        );
        assert!(
            sections[0].html.starts_with(
                "<h2 id=\"what-it-is-this\">What <code>it</code> is: <em>this</em></h2>"
            )
        );
        assert!(sections[0].html.contains("&amp; &lt;b&gt;."));
        assert_eq!(sections[0].hints, "hint");
        assert!(!sections[0].html.contains("hint"));
        assert_eq!(sections[1].text, "End.");
    }

    #[test]
    fn comments_are_in_neither_form() {
        let source = "<!-- a -->\n\n# Title\n\n<!-- b -->\n\nText.\n\n```\n<!-- code -->\n```\n";
        let article = read(source).unwrap();
        assert_eq!(article.lead.hints, "b");
        assert_eq!(
            article.markdown,
            "# Title\n\nText.\n\n```\n<!-- code -->\n```\n"
        );
        assert!(article.lead.html.contains("&lt;!-- code --&gt;"));
    }

    #[test]
    fn comments_of_any_form_are_left_out() {
        for (source, expected) in [
            ("<!--secret-->\n\nA.\n", "A.\n"),
            ("<!-- secret\n\nsecret\n-->\n\nA.\n", "A.\n"),
            ("A <!-- secret --> b.\n", "A  b.\n"),
            ("A <!-- secret\nsecret --> b.\n", "A  b.\n"),
            ("A. <!--secret-->\n\nB.\n", "A. \n\nB.\n"),
            ("<!-- secret --> A. <!-- secret -->\n", " A. \n"),
            ("<div>\n<!-- secret\nsecret --></div>\n", "<div>\n</div>\n"),
            ("<!-->A.\n", "A.\n"),
            ("A.\n\n<!-- secret\n\nsecret", "A.\n\n"),
        ] {
            let article = read(&format!("# T\n\n{source}")).unwrap();
            assert_eq!(article.markdown, format!("# T\n\n{expected}"));
            let lead = article.lead;
            assert!(!lead.html.contains("secret"), "{}", lead.html);
            assert!(!lead.text.contains("secret"), "{}", lead.text);
            assert_eq!(lead.hints, "", "{source:?}");
        }
    }

    #[test]
    fn anchors_are_never_empty_and_never_the_same() {
        let article = read("# A\n## A\n## a!\n## 東京\n## Section\n## A-2\n").unwrap();
        let anchors: Vec<_> = article.sections.iter().map(|s| s.anchor.as_str()).collect();
        assert_eq!(anchors, ["a-2", "a-3", "section", "section-2", "a-2-2"]);
    }

    #[test]
    fn a_document_begins_with_its_title() {
        for (markdown, title) in [
            ("# A *b*\n", Some("A b")),
            ("A\n===\n", Some("A")),
            ("\n\n# A", Some("A")),
            ("", None),
            ("A\n\n# B\n", None),
            ("## A\n# B\n", None),
            ("<b>\n\n# A\n", None),
        ] {
            let read = read(markdown).map(|article| article.lead.title);
            assert_eq!(read.as_deref(), title, "{markdown:?}");
        }
    }

    #[test]
    fn html_in_markdown_is_text() {
        for markdown in ["<script>alert(1)</script>", "a <b onclick=x>c</b>"] {
            let page = read(&format!("# T\n\n{markdown}\n")).unwrap().lead.html;
            assert!(!page.contains("<script") && !page.contains("<b"), "{page}");
            let part = to_html(markdown);
            assert!(!part.contains("<script") && !part.contains("<b"), "{part}");
        }
    }
}
