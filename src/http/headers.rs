//! Header maps at little cost.
//!
//! To look a header up or to put one there hashes its name, which costs more than all else about
//! it. So the headers that every answer has are put into a map when the service starts: an answer
//! begins with a copy, and [`set`] changes the values that are its own. What is [`lasting`] is copied
//! without counting the copies. And what most requests do not have is looked for by walking the few
//! headers that they do have.

use std::iter;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderValue, X_CONTENT_TYPE_OPTIONS};

pub(crate) const X_REQUEST_ID: &str = "x-request-id";

/// The value of `Cache-Control` that lets nobody keep an answer.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The value of a header that stands there to be [`set`].
pub(crate) const UNSET: HeaderValue = HeaderValue::from_static("");

/// A value made of `text`, which is told as long as the program runs: its memory is never given back.
/// Other values count their copies, and cores that answer at once wait for each other to count.
pub(crate) fn lasting(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(text)?;
    Ok(HeaderValue::from_static(Box::leak(text.into())))
}

/// The headers that every answer has: `X-Request-Id` is to be [`set`].
pub(crate) fn usual() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static(X_REQUEST_ID), UNSET);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
}

/// Writes `fields` into `headers`. Those that stand there already, in the same order, are found in
/// one pass and without a hash. What was there before is left in `fields`.
pub(crate) fn set(headers: &mut HeaderMap, fields: &mut [(&'static str, HeaderValue)]) {
    let mut fields = fields.iter_mut();
    let Some(mut next) = fields.next() else {
        return;
    };
    for (name, value) in headers.iter_mut() {
        if name.as_str() == next.0 {
            std::mem::swap(value, &mut next.1);
            let Some(following) = fields.next() else {
                return;
            };
            next = following;
        }
    }
    for (name, value) in iter::once(next).chain(fields) {
        let value = std::mem::replace(value, UNSET);
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Whether any of these headers is there.
pub(crate) fn has_any(headers: &HeaderMap, names: &[HeaderName]) -> bool {
    headers.keys().any(|name| names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, value: &'static str) -> (&'static str, HeaderValue) {
        (name, HeaderValue::from_static(value))
    }

    #[test]
    fn what_lasts_is_a_value_like_any_other() {
        assert_eq!(lasting("a, b").unwrap(), "a, b");
        for bad in ["a\r\nb: c", "a\0", "\u{7f}"] {
            assert!(lasting(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn fields_are_set_wherever_they_stand() {
        let begun = ["vary", "etag", X_REQUEST_ID].map(|name| (name, UNSET));
        let begun = begun.map(|(name, value)| (HeaderName::from_static(name), value));
        for mut fields in [
            vec![
                field("vary", "a"),
                field("etag", "b"),
                field(X_REQUEST_ID, "c"),
            ],
            vec![
                field(X_REQUEST_ID, "c"),
                field("etag", "b"),
                field("vary", "a"),
            ],
            vec![field("etag", "b"), field("cache-control", "d")],
            vec![field("cache-control", "d"), field("etag", "b")],
            vec![field("cache-control", "d")],
            vec![],
        ] {
            let mut headers = HeaderMap::from_iter(begun.clone());
            let mut expected = headers.clone();
            for (name, value) in &fields {
                expected.insert(*name, value.clone());
            }
            set(&mut headers, &mut fields);
            assert_eq!(headers, expected);
        }
    }
}
