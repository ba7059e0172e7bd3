//! Links that are alone in their paragraph and become a button or the newsletter's form.

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd, html};

/// Placeholder for the newsletter's form until a page is laid out. Comments of a source never get this far.
pub(in crate::site) const NEWSLETTER_FORM: &str = "<!-- the newsletter's form -->\n";

/// The address of that form.
const FORM_ADDRESS: &str = "form:newsletter";
/// The title of a link that is a button.
const BUTTON: &str = "button";

/// `events` with such links replaced.
pub(super) fn with_blocks<'a>(events: &[Event<'a>]) -> Vec<Event<'a>> {
    let mut replaced = Vec::with_capacity(events.len());
    let mut rest = events;
    while let Some((first, after)) = rest.split_first() {
        rest = if let Some((block, after)) = block(rest) {
            replaced.extend(block);
            after
        } else {
            replaced.push(first.clone());
            after
        };
    }
    replaced
}

/// The block at the start of `events`, if there is one, and the remaining events.
fn block<'a, 'b>(events: &'b [Event<'a>]) -> Option<(Vec<Event<'a>>, &'b [Event<'a>])> {
    let [
        Event::Start(Tag::Paragraph),
        Event::Start(Tag::Link {
            dest_url, title, ..
        }),
        inner @ ..,
    ] = events
    else {
        return None;
    };
    let is_end = |event: &Event<'_>| matches!(event, Event::End(TagEnd::Link));
    let (words, rest) = inner.split_at_checked(inner.iter().position(is_end)?)?;
    let [_link, Event::End(TagEnd::Paragraph), after @ ..] = rest else {
        return None;
    };
    if **dest_url == *FORM_ADDRESS {
        let form = Event::Html(CowStr::Borrowed(NEWSLETTER_FORM));
        return Some((vec![form], after));
    }
    if **title != *BUTTON {
        return None;
    }
    let plain = Event::Start(Tag::Link {
        link_type: LinkType::Inline,
        dest_url: dest_url.clone(),
        title: CowStr::Borrowed(""),
        id: CowStr::Borrowed(""),
    });
    let mut open = String::new();
    html::push_html(&mut open, std::iter::once(plain));
    let open = open.replacen("<a ", "<a class=\"button\" ", 1);
    let mut button = vec![
        Event::Start(Tag::Paragraph),
        Event::InlineHtml(CowStr::from(open)),
    ];
    button.extend(words.iter().cloned());
    button.push(Event::InlineHtml(CowStr::Borrowed("</a>")));
    button.push(Event::End(TagEnd::Paragraph));
    Some((button, after))
}
