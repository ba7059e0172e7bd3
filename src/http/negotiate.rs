//! Which form of an answer the client would rather have (RFC 9110, section 12.5.1).

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Whether the client wants server-sent events more than JSON. JSON is the form of who says
/// nothing, likes both alike, or wants neither.
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    quality(headers, "text/event-stream").1 > quality(headers, "application/json").1
}

/// Which of the media types `offered` the client is given: the first, unless it likes another more,
/// or names another and likes it as much. Browsers name no type but HTML that a page has; who names
/// Markdown, too, is none.
pub(crate) fn choose<'a>(headers: &HeaderMap, offered: impl Iterator<Item = &'a str>) -> usize {
    if !headers.contains_key(ACCEPT) {
        return 0;
    }
    let (mut chosen, mut liked) = (0, 0);
    for (place, media_type) in offered.enumerate() {
        let (precision, quality) = quality(headers, media_type);
        let is_named = precision == NAMED && quality > 0;
        if place == 0 || quality > liked || (quality == liked && is_named) {
            (chosen, liked) = (place, quality);
        }
    }
    chosen
}

/// How precisely a media type is accepted and how much it is liked, in thousandths. Parameters of
/// the type say nothing about that here.
fn quality(headers: &HeaderMap, media_type: &str) -> (u8, u16) {
    let (name, _parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    let Some((kind, subtype)) = name.split_once('/') else {
        return (0, 0);
    };
    headers
        .get_all(ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(Accepted::parse)
        .filter_map(|accepted| accepted.rank(kind, subtype))
        .max()
        .unwrap_or((0, 0))
}

/// How precise a media range is that names both type and subtype.
const NAMED: u8 = 2;

/// One media range of an `Accept` header.
struct Accepted<'a> {
    kind: &'a str,
    subtype: &'a str,
    /// In thousandths.
    quality: u16,
}

impl<'a> Accepted<'a> {
    /// Reads a range; one that is malformed counts as absent.
    fn parse(range: &'a str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let mut quality = 1000;
        for parameter in parts {
            if let Some((name, value)) = parameter.split_once('=')
                && name.trim().eq_ignore_ascii_case("q")
            {
                quality = thousandths(value.trim())?;
            }
        }
        Some(Self {
            kind,
            subtype,
            quality,
        })
    }

    /// How precisely the range names a type, and how much it is liked; nothing if it is another.
    fn rank(&self, kind: &str, subtype: &str) -> Option<(u8, u16)> {
        let precision = if self.kind.eq_ignore_ascii_case(kind) {
            match self.subtype {
                "*" => 1,
                named if named.eq_ignore_ascii_case(subtype) => NAMED,
                _ => return None,
            }
        } else if (self.kind, self.subtype) == ("*", "*") {
            0
        } else {
            return None;
        };
        Some((precision, self.quality))
    }
}

/// A weight: `0` to `1` with up to three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let decimals: u16 = format!("{decimals:0<3}").parse().ok()?;
    match (whole, decimals) {
        ("0", _) => Some(decimals),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn events_come_only_to_who_wants_them_more() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream", true),
            ("text/event-stream;charset=utf-8", true),
            ("text/*", true),
            ("text/event-stream, application/json;q=0.9", true),
            ("text/event-stream;q=0.2, */*;q=0.1", true),
            ("text/event-stream; Q=0.001", true),
            ("application/json;q=0, text/event-stream;q=0.5, */*", true),
            ("", false),
            ("*/*", false),
            ("application/json", false),
            ("application/json, text/event-stream", false),
            ("text/event-stream, */*", false),
            ("text/event-stream;q=0.5, application/json", false),
            ("text/event-stream;q=0", false),
            ("text/event-stream;q=2", false),
            ("text/event-stream;q=0.0001", false),
            ("text/html, nonsense", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers_events(&headers), expected, "{accept}");
        }
        assert!(!prefers_events(&HeaderMap::new()));
    }

    #[test]
    fn markdown_goes_to_who_names_it_and_likes_it_no_less() {
        const OFFERED: [&str; 2] = ["text/html; charset=utf-8", "text/markdown; charset=utf-8"];
        for (accept, expected) in [
            ("text/markdown", 1),
            ("Text/Markdown", 1),
            ("text/markdown;charset=utf-8", 1),
            ("text/markdown, text/html", 1),
            ("text/html, text/markdown", 1),
            ("text/markdown, text/html, */*", 1),
            ("text/markdown;q=0.5, text/html;q=0.5", 1),
            ("text/markdown;q=0.9, text/html;q=0.8", 1),
            ("text/markdown;q=0.1", 1),
            ("text/markdown;q=0.5, image/png", 1),
            ("text/markdown;q=0.5, */*;q=0.1", 1),
            ("text/html;q=0, */*", 1),
            ("", 0),
            ("*/*", 0),
            ("text/*", 0),
            ("text/*;q=0.5, */*;q=0.1", 0),
            ("text/html", 0),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                0,
            ),
            ("text/markdown;q=0", 0),
            ("text/markdown;q=0, */*", 0),
            ("text/markdown;q=0, text/html;q=0", 0),
            ("text/markdown;q=0.5, text/html", 0),
            ("text/markdown;q=0.5, */*", 0),
            ("text/markdown;q=0.5, text/*;q=0.6", 0),
            ("text/markdown;q=1.5", 0),
            ("text/markdown;q=0.0001", 0),
            ("text/markdown;q=", 0),
            ("application/json", 0),
            ("markdown", 0),
            ("text/markdownish", 0),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(choose(&headers, OFFERED.into_iter()), expected, "{accept}");
        }
        assert_eq!(choose(&HeaderMap::new(), OFFERED.into_iter()), 0);
        let mut two = HeaderMap::new();
        two.append(ACCEPT, HeaderValue::from_static("text/html;q=0.5"));
        two.append(ACCEPT, HeaderValue::from_static("text/markdown"));
        assert_eq!(choose(&two, OFFERED.into_iter()), 1);
    }
}
