//! Markdown to HTML, and to the plain text the assistant quotes.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::domain::passage::Passage;

/// A part of a document under a second-level heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its heading, as plain text.
    pub title: String,
    /// Its heading as an anchor: lowercase ASCII letters, digits and hyphens.
    pub anchor: String,
    /// All of it, the heading with its anchor included.
    pub html: String,
    /// What stands under the heading, as [`Passage::text`] wants it.
    pub text: String,
    /// What its comments `<!-- .. -->` say; they are not in the HTML.
    pub hints: String,
}

/// `markdown` as HTML. HTML in it is text.
#[must_use]
pub fn to_html(markdown: &str) -> String {
    let mut page = String::new();
    html::push_html(&mut page, parse(markdown).map(html_as_text));
    page
}

/// The sections of a document. What stands before the first one is left out.
#[must_use]
pub fn sections(markdown: &str) -> Vec<Section> {
    let mut sections: Vec<(Vec<Event<'_>>, String)> = Vec::new();
    for event in parse(markdown) {
        if is_heading(&event) {
            sections.push((Vec::new(), String::new()));
        }
        if let Some((events, hints)) = sections.last_mut() {
            match comment(&event) {
                Some(hint) => hints.push_str(hint),
                None => events.push(html_as_text(event)),
            }
        }
    }
    sections
        .into_iter()
        .map(|(events, hints)| section(events, hints))
        .collect()
}

fn parse(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
}

fn html_as_text(event: Event<'_>) -> Event<'_> {
    if let Event::Html(text) | Event::InlineHtml(text) = event {
        Event::Text(text)
    } else {
        event
    }
}

fn comment<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    let Event::Html(html) = event else {
        return None;
    };
    html.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")
}

fn is_heading(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Start(Tag::Heading {
            level: HeadingLevel::H2,
            ..
        })
    )
}

fn section(mut events: Vec<Event<'_>>, hints: String) -> Section {
    let heading_len = events
        .iter()
        .position(|event| matches!(event, Event::End(TagEnd::Heading(_))))
        .map_or(0, |end| end + 1);
    let (heading, body) = events.split_at_mut(heading_len);
    let title = to_text(heading);
    let anchor = slug(&title);
    let text = to_text(body);
    if let Some(Event::Start(Tag::Heading { id, .. })) = heading.first_mut() {
        *id = Some(CowStr::from(anchor.clone()));
    }
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    Section {
        title,
        anchor,
        html: page,
        text,
        hints,
    }
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
    title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_an_anchor_html_and_plain_text() {
        let source = "# Title\n\nIntro.\n\n## What `it` is: *this*\n\n<!-- hint -->\n\nOne\n[two](http://x/y) & <b>.\n\n\
            ```\ncurl \\\n  -d 1\n```\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n## Next\n\nEnd.\n";
        let sections = sections(source);
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
    fn html_in_markdown_is_text() {
        for markdown in ["<script>alert(1)</script>", "a <b onclick=x>c</b>"] {
            let page = to_html(markdown);
            assert!(!page.contains("<script") && !page.contains("<b"), "{page}");
        }
    }
}
