//! Header maps at little cost.
//!
//! To look a header up or to put one there hashes its name, which costs more than all else about
//! it. So the headers that every answer has are put into a map when the service starts: an answer
//! begins with a copy, whose blanks are filled ([`Template`]) or other values [`set`]. What is
//! [`lasting`] is copied without counting the copies. And what most requests do not have is looked
//! for by walking the few headers that they do have.

use std::iter::{self, Skip};

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{
    HeaderName, HeaderValue, InvalidHeaderValue, ValuesMut, X_CONTENT_TYPE_OPTIONS,
};

pub(crate) const X_REQUEST_ID: &str = "x-request-id";

/// The value of `Cache-Control` that lets nobody keep an answer.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The value of a header that is still to be written.
pub(crate) const UNSET: HeaderValue = HeaderValue::from_static("");

/// A value made of `text` that is told as long as the program runs: its memory is never given
/// back. Other values count their copies, and cores that copy at once wait for each other to count.
pub(crate) fn lasting(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(text)?;
    HeaderValue::from_maybe_shared(lasting_bytes(text))
}

/// A body that is told as long as the program runs, likewise.
pub(crate) fn lasting_bytes(text: &str) -> Bytes {
    Bytes::from_static(Box::leak(Box::<[u8]>::from(text.as_bytes())))
}

/// Headers that begin many answers: most values are the same in each, others are blanks.
#[derive(Debug)]
pub(crate) struct Template {
    headers: HeaderMap,
    /// How many of them are no blanks. They come first: a map that nothing was taken from is walked
    /// in the order in which it was filled, and so is its copy.
    fixed: usize,
}

impl Template {
    /// `fixed`, and blanks of these names, which are not among them.
    pub(crate) fn new(fixed: HeaderMap, blanks: impl IntoIterator<Item = &'static str>) -> Self {
        let mut headers = fixed;
        let fixed = headers.len();
        for name in blanks {
            headers.insert(HeaderName::from_static(name), UNSET);
        }
        Self { headers, fixed }
    }

    /// A copy of the headers, whose blanks are [`UNSET`].
    pub(crate) fn copy(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// The blanks of such a copy, in the order in which [`Template::new`] was given them.
    pub(crate) fn blanks<'a>(&self, copy: &'a mut HeaderMap) -> Skip<ValuesMut<'a, HeaderValue>> {
        copy.values_mut().skip(self.fixed)
    }
}

/// Fills the next blank. Where none is left, `value` is dropped.
pub(crate) fn fill_next<'a>(
    blanks: &mut impl Iterator<Item = &'a mut HeaderValue>,
    value: HeaderValue,
) {
    if let Some(blank) = blanks.next() {
        *blank = value;
    }
}

/// The headers that every answer has, but for its `X-Request-Id`.
pub(crate) fn usual() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
}

/// The same for an answer whose headers are prepared: `X-Request-Id` is to be [`set`].
pub(crate) fn prepared() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static(X_REQUEST_ID), UNSET);
    headers.extend(usual());
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
        for good in ["a, b", "", "\u{e9}"] {
            assert_eq!(lasting(good).unwrap().as_bytes(), good.as_bytes());
        }
        for bad in ["a\r\nb: c", "a\0", "\u{7f}"] {
            assert!(lasting(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_template_keeps_what_is_fixed_and_its_blanks_are_filled_in_order() {
        let template = Template::new(usual(), ["vary", "etag"]);
        for values in [["a", "b"], ["c", "d"]] {
            let [vary, etag] = values.map(HeaderValue::from_static);
            let mut expected = usual();
            expected.insert("vary", vary.clone());
            expected.insert("etag", etag.clone());
            let mut copy = template.copy();
            let mut blanks = template.blanks(&mut copy);
            fill_next(&mut blanks, vary);
            fill_next(&mut blanks, etag);
            // There is no third.
            fill_next(&mut blanks, UNSET);
            assert_eq!(copy, expected);
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
