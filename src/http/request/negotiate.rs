//! Content negotiation (RFC 9110, section 12.5).

use std::cmp::Reverse;

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderName};
use hyper::http::request::Parts;

use crate::domain::Language;
use crate::http::request::form;

/// True if the client prefers server-sent events to JSON, which is the default.
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    quality(headers, "text/event-stream").1 > quality(headers, "application/json").1
}

/// Index of the media type in `offered` to send: the first, unless another has a higher weight, or the same
/// weight and is listed explicitly. Browsers list HTML only; a client that also lists Markdown gets Markdown.
pub(crate) fn choose<'a>(headers: &HeaderMap, offered: impl Iterator<Item = &'a str>) -> usize {
    if !headers.contains_key(ACCEPT) {
        return 0;
    }
    let (mut chosen, mut best) = (0, 0);
    for (index, media_type) in offered.enumerate() {
        let (precision, quality) = quality(headers, media_type);
        let is_named = precision == NAMED && quality > 0;
        if index == 0 || quality > best || (quality == best && is_named) {
            (chosen, best) = (index, quality);
        }
    }
    chosen
}

/// Language of the response: that of the query (`?lang=de`), or of those that the `site` has, the default first, the one
/// with the highest weight in `Accept-Language`, the first of several. `*` is the default.
pub(crate) fn language(request: &Parts, site: &[Language]) -> Language {
    let named = form::parameter_of(&request.uri, "lang");
    let named = named.and_then(|tag| Language::of_tag(&tag));
    named.unwrap_or_else(|| {
        let default = site.first().copied().unwrap_or_default();
        let accepted = ranges(&request.headers, ACCEPT_LANGUAGE)
            .filter(|(_, quality)| *quality > 0)
            .filter_map(|(tag, quality)| match tag {
                "*" => Some((default, quality)),
                tag => Some((Language::of_tag(tag)?, quality)),
            })
            .filter(|(language, _)| site.contains(language));
        let best = accepted.min_by_key(|(_, quality)| Reverse(*quality));
        best.map_or(default, |(language, _)| language)
    })
}

/// Weight of the content coding `name` in `Accept-Encoding`, in thousandths; `None` if it isn't listed.
pub(crate) fn coding_quality(headers: &HeaderMap, name: &str) -> Option<u16> {
    let mut codings = ranges(headers, ACCEPT_ENCODING);
    let (_, quality) = codings.find(|(coding, _)| coding.eq_ignore_ascii_case(name))?;
    Some(quality)
}

/// The ranges in the headers `name`, and their weights in thousandths. Those that are malformed or not text count as
/// absent.
fn ranges(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (&str, u16)> {
    let lines = headers.get_all(name).into_iter();
    let ranges = lines.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    ranges.filter_map(|range| {
        let mut parts = str::from_utf8(range).ok()?.split(';').map(str::trim);
        let name = parts.next()?;
        let is_weight = |parameter: &(&str, &str)| parameter.0.trim().eq_ignore_ascii_case("q");
        let weight = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(is_weight);
        match weight {
            Some((_, value)) => Some((name, thousandths(value.trim())?)),
            None => Some((name, 1000)),
        }
    })
}

/// Precision of a media range with type and subtype.
const NAMED: u8 = 2;

/// Precision of the media range that matches best, and its weight in thousandths. Parameters of the type are
/// ignored.
fn quality(headers: &HeaderMap, media_type: &str) -> (u8, u16) {
    let (name, _parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    let kind = name.split_once('/').map_or("", |(kind, _)| kind);
    let precision = |range: &str| {
        if range.eq_ignore_ascii_case(name) {
            return Some(NAMED);
        }
        match range.split_once('/')? {
            ("*", "*") => Some(0),
            (of, "*") if of.eq_ignore_ascii_case(kind) => Some(1),
            _ => None,
        }
    };
    let ranges = ranges(headers, ACCEPT);
    let matching = ranges.filter_map(|(range, quality)| Some((precision(range)?, quality)));
    matching.max().unwrap_or((0, 0))
}

/// A weight from `0` to `1`. Older clients of Java write `q=.2`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 1000"
)]
fn thousandths(text: &str) -> Option<u16> {
    let weight: f32 = text.parse().ok()?;
    let is_weight = (0.0..=1.0).contains(&weight);
    is_weight.then_some((weight * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HeaderValue;

    use super::*;

    /// The head of a request that accepts this, a line each.
    fn accepting(lines: &[&'static str]) -> HeaderMap {
        let lines = lines
            .iter()
            .map(|line| (ACCEPT, HeaderValue::from_static(line)));
        lines.collect()
    }

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
            assert_eq!(prefers_events(&accepting(&[accept])), expected, "{accept}");
        }
        assert!(!prefers_events(&accepting(&[])));
    }

    #[test]
    fn the_language_is_the_one_that_is_liked_best() {
        use Language::{English, French, German, Spanish};
        let of = |path: &str, accept: &[&str], site: &[Language]| {
            let request = accept.iter().fold(Request::get(path), |request, value| {
                request.header(ACCEPT_LANGUAGE, *value)
            });
            language(&request.body(()).unwrap().into_parts().0, site)
        };
        for (path, accept, expected) in [
            ("/", "", English),
            ("/", "de", German),
            ("/", "de-CH, fr;q=0.9", German),
            ("/", "fr;q=0.8, es;q=0.9", Spanish),
            ("/", "fr, es", French),
            ("/", "it, de;q=0.5, *;q=0.1", German),
            ("/", "it, *", English),
            ("/", "*, de", English),
            ("/", "de;q=0", English),
            ("/", "de;q=2, fr;q=0.1", French),
            ("/", "nonsense,,;", English),
            ("/?lang=fr", "de", French),
            ("/?a=b&lang=es-MX", "", Spanish),
            ("/?lang=%65s", "", Spanish),
            ("/?lang=fr&lang=de", "", French),
            ("/?lang=xx", "de", German),
            ("/?lang=", "", English),
        ] {
            let chosen = of(path, &[accept], &Language::ALL);
            assert_eq!(chosen, expected, "{path} {accept}");
        }
        assert_eq!(of("/", &["en;q=0.5", "es"], &Language::ALL), Spanish);
        for (path, accept, expected) in [
            ("/", "en", German),
            ("/", "en, fr;q=0.1", French),
            ("/", "*, fr;q=0.1", German),
            ("/", "", German),
            ("/?lang=en", "fr", English),
        ] {
            let chosen = of(path, &[accept], &[German, French]);
            assert_eq!(chosen, expected, "{path} {accept}");
        }
    }

    #[test]
    fn markdown_goes_to_who_names_it_and_likes_it_no_less() {
        const OFFERED: [&str; 2] = ["text/html; charset=utf-8", "text/markdown; charset=utf-8"];
        let chosen = |lines: &[&'static str]| choose(&accepting(lines), OFFERED.into_iter());
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
            ("text/markdown;q=nonsense", 0),
            ("text/plain, text/markdown;q=0.2", 1),
            ("text/html;q=0, */*;q=0.1", 1),
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
            assert_eq!(chosen(&[accept]), expected, "{accept}");
        }
        assert_eq!(chosen(&[]), 0);
        assert_eq!(chosen(&["text/html;q=0.5", "text/markdown"]), 1);
    }
}
