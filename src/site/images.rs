//! Images in Markdown. The policy of the pages lets none be shown that does not come from here, and
//! the service has none: so each becomes a link, by its description.

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};

/// The images and links that are open.
#[derive(Debug, Default)]
pub(super) struct Images {
    /// Of each image, whether it became a link.
    open: Vec<bool>,
    is_in_link: bool,
}

impl Images {
    /// What takes the place of `event`.
    pub(super) fn take<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        if let Event::Start(Tag::Image {
            dest_url, title, ..
        }) = event
        {
            // A link holds no other, and leads nowhere inside itself.
            let is_link = !self.is_in_link && self.open.is_empty() && is_address(&dest_url);
            self.open.push(is_link);
            let link = Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url,
                title,
                id: CowStr::Borrowed(""),
            });
            return is_link.then_some(link);
        }
        if matches!(event, Event::End(TagEnd::Image)) {
            let is_link = self.open.pop().unwrap_or_default();
            return is_link.then_some(Event::End(TagEnd::Link));
        }
        let begins = matches!(event, Event::Start(Tag::Link { .. }));
        if begins || matches!(event, Event::End(TagEnd::Link)) {
            self.is_in_link = begins;
            // In the description of an image it would be a link in a link.
            return self.open.is_empty().then_some(event);
        }
        Some(event)
    }
}

/// Whether a browser goes there: it does not to an image that is written out in its address.
fn is_address(url: &str) -> bool {
    !url.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

#[cfg(test)]
mod tests {
    use super::super::markdown::to_html;

    #[test]
    fn an_image_becomes_a_link() {
        for (markdown, html) in [
            (
                "![A crane](https://a.example/b.png \"Big\")",
                "<a href=\"https://a.example/b.png\" title=\"Big\">A crane</a>",
            ),
            (
                "![A *big* crane][c]\n\n[c]: /c.png",
                "<a href=\"/c.png\">A <em>big</em> crane</a>",
            ),
            ("a ![b](data:image/png;base64,AA) c", "a b c"),
            ("a ![b](DATA:,) c", "a b c"),
            (
                "[![logo](/l.png) us](/about)",
                "<a href=\"/about\">logo us</a>",
            ),
            (
                "![a ![b](/c)](/d) ![e](/f)",
                "<a href=\"/d\">a b</a> <a href=\"/f\">e</a>",
            ),
            ("![a [b](/c)](/d)", "<a href=\"/d\">a b</a>"),
            ("![](", "![]("),
        ] {
            assert_eq!(to_html(markdown), format!("<p>{html}</p>\n"), "{markdown}");
        }
    }
}
