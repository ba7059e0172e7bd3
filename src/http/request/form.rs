//! Reading `application/x-www-form-urlencoded` bodies as defined by RFC 6749 (section 3.2 and appendix B): a
//! parameter without a value counts as omitted, unknown ones are ignored, and no known parameter may be
//! repeated. `multipart/form-data` (RFC 7578) is read to the same parameters.
//! The parameters of a query are read by the same escapes; the first of a repeated one counts.
//!
//! Every body is a form. A broken escape or invalid UTF-8 is an error of its parameter if that is read, where
//! the WHATWG parser would replace it; in other parameters it doesn't matter.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Uri};
use percent_encoding::percent_decode;

use crate::http::Errors;

/// The parameters of a form. A value that can't be decoded is `None`.
pub(crate) struct FormParams(Vec<(String, Option<String>)>);

/// Parses a body of either media type.
pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> FormParams {
    let media_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    // No other media type of a form has one.
    match media_type.and_then(|media_type| parameter(media_type, "boundary")) {
        Some(boundary) if !boundary.is_empty() => parse_multipart(body, boundary),
        Some(_) | None => parse(body),
    }
}

/// Parses a body. A byte order mark before it is ignored.
pub(crate) fn parse(body: &[u8]) -> FormParams {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    FormParams(pairs(body).collect())
}

/// The parameter `name` of a query, the first if it is repeated.
pub(crate) fn parameter_of(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = pairs(uri.query()?.as_bytes());
    pairs.find(|(found, _)| found == name)?.1
}

/// Names and values. A value that can't be decoded is `None`.
fn pairs(text: &[u8]) -> impl Iterator<Item = (String, Option<String>)> {
    let pairs = text.split(|&byte| byte == b'&');
    pairs.filter(|pair| !pair.is_empty()).filter_map(|pair| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        let mut half = || decode(halves.next().unwrap_or_default());
        Some((half()?, half()))
    })
}

/// Parses a body whose parts are separated by `boundary`. Parts without a name are left out, and the value of
/// a truncated part can't be decoded.
fn parse_multipart(body: &[u8], boundary: &[u8]) -> FormParams {
    let delimiter = [b"\r\n--", boundary].concat();
    // The first one may begin the body.
    let body = [b"\r\n", body].concat();
    let mut params = Vec::new();
    let mut rest = split_once(&body, &delimiter).map(|(_preamble, rest)| rest);
    while let Some(part) = rest.filter(|part| !part.starts_with(b"--")) {
        let ended = split_once(part, &delimiter);
        rest = ended.map(|(_part, rest)| rest);
        let Some((head, value)) = split_once(ended.map_or(part, |(part, _)| part), b"\r\n\r\n")
        else {
            continue;
        };
        let value = ended.and_then(|_| String::from_utf8(value.to_vec()).ok());
        let mut lines = head.split(|&byte| byte == b'\n');
        let disposition = lines.find(|line| is_disposition(line));
        let name = disposition.and_then(|line| parameter(line, "name"));
        let name = name.and_then(|name| String::from_utf8(name.to_vec()).ok());
        params.extend(name.map(|name| (name, value)));
    }
    FormParams(params)
}

fn split_once<'a>(text: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut windows = text.windows(delimiter.len());
    let at = windows.position(|window| window == delimiter)?;
    Some((text.get(..at)?, text.get(at + delimiter.len()..)?))
}

/// True if a header of a part is `Content-Disposition` (RFC 7578, section 4.2). Any other may have a `name`, too.
fn is_disposition(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-disposition:";
    let name = line.trim_ascii_start().get(..NAME.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

/// The parameter `name` of a header's value (RFC 9110, section 5.6.6).
fn parameter<'a>(value: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut is_quoted = false;
    let parts = value.split(|&byte| {
        is_quoted ^= byte == b'"';
        byte == b';' && !is_quoted
    });
    parts.skip(1).find_map(|part| {
        let (key, value) = split_once(part, b"=")?;
        let is_meant = key.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        let value = value.trim_ascii();
        let unquoted = value
            .strip_prefix(b"\"")
            .and_then(|text| text.strip_suffix(b"\""));
        is_meant.then_some(unquoted.unwrap_or(value))
    })
}

impl FormParams {
    fn values(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        let named = self.0.iter().filter(move |(found, _)| found == name);
        named.map(|(_, value)| value.as_deref())
    }

    /// The parameter `name`, the first if it is repeated.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next()?
    }

    /// The parameter `name`, if it is present and not empty. A repeated one is an error, and so is one that
    /// can't be decoded.
    pub(crate) fn optional(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let pointer = format!("#/{name}");
        let mut values = self.values(name);
        let value = values.next()?;
        if values.next().is_some() {
            errors.push(&pointer, "duplicate_member", "occurs more than once");
        }
        if value.is_none() {
            let detail = "has invalid percent-encoding, ends early, or is not UTF-8";
            errors.push(&pointer, "format", detail);
        }
        value.filter(|value| !value.is_empty())
    }

    /// The parameter `name`, which must be present and not empty.
    pub(crate) fn required(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let value = self.optional(name, errors);
        if value.is_none() && self.values(name).all(|value| value.is_some()) {
            errors.push(&format!("#/{name}"), "required", "is required");
        }
        value
    }
}

/// Decodes a name or a value. `None` if an escape is broken or the text is not UTF-8.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    let mut escapes = encoded.split(|&byte| byte == b'%').skip(1);
    let is_whole =
        |rest: &[u8]| matches!(rest, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !escapes.all(is_whole) {
        return None;
    }
    let spaced: Vec<u8> = encoded
        .iter()
        .map(|&byte| if byte == b'+' { b' ' } else { byte })
        .collect();
    let text = percent_decode(&spaced).decode_utf8().ok()?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(form: &FormParams) -> Vec<(&str, Option<&str>)> {
        let params = form.0.iter();
        params
            .map(|(name, value)| (&**name, value.as_deref()))
            .collect()
    }

    #[test]
    fn names_and_values_are_decoded() {
        for (body, expected) in [
            (&b""[..], vec![]),
            (b"a=1&b=2", vec![("a", "1"), ("b", "2")]),
            (b"&&a=1&", vec![("a", "1")]),
            (b"a", vec![("a", "")]),
            (b"a=", vec![("a", "")]),
            (b"=1", vec![("", "1")]),
            (b"a=1=2", vec![("a", "1=2")]),
            (b"a=b+c%20d%2B", vec![("a", "b c d+")]),
            (b"%61=%C3%a9\xc3\xa9", vec![("a", "\u{e9}\u{e9}")]),
            (b"a=%25%32%35", vec![("a", "%25")]),
            (b"a=%00", vec![("a", "\0")]),
            (b"\xef\xbb\xbfa=1", vec![("a", "1")]),
            // Unknown parameters with invalid names don't matter.
            (b"%=1&a=1&\xff=2", vec![("a", "1")]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(n, v)| (*n, Some(*v))).collect();
            assert_eq!(found(&parse(body)), expected, "{}", body.escape_ascii());
        }
    }

    #[test]
    fn what_cannot_be_decoded_has_no_value() {
        let values = b"% %4 %4g %+1 %%41 %ff %c3 \xff %zz %ed%a0%80";
        for value in values.split(|byte| *byte == b' ') {
            let form = parse(&[b"b=1&a=", value].concat());
            assert_eq!(found(&form), [("b", Some("1")), ("a", None)]);
        }
    }

    #[test]
    fn parts_are_parameters() {
        const PART: &str = "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--edge";
        let (one, cut) = ([("a", Some("1"))], [("a", None)]);
        for (body, expected) in [
            (format!("--edge{PART}--\r\n"), &one[..]),
            (format!("before\r\n--edge \t{PART}--after"), &one),
            (format!("--edge{PART}{PART}"), &[one, one].concat()),
            // The last part is truncated, in its header or in its value.
            (format!("--edge{PART}\r\nContent-Dis"), &one),
            (format!("--edge{}", &PART[..PART.len() - 1]), &cut),
            // Parts that can't be read.
            (
                format!("--edge\r\n\r\n\r\n--edge\r\nno head\r\n--edge{PART}--"),
                &one,
            ),
            (
                format!("--edge\r\ncontent-disposition: form-data\r\n\r\n2\r\n--edge{PART}"),
                &one,
            ),
            (PART.to_owned(), &[]),
            ("--edge".to_owned(), &[]),
            (String::new(), &[]),
        ] {
            let form = parse_multipart(body.as_bytes(), b"edge");
            assert_eq!(found(&form), expected, "{body}");
        }
    }

    #[test]
    fn a_parameter_of_a_header_may_be_quoted() {
        for (value, expected) in [
            ("multipart/form-data; boundary=x", Some("x")),
            ("a/b;charset=utf-8 ;BOUNDARY = \"a;b c\"; d", Some("a;b c")),
            ("form-data; x=\"; boundary=y\"; boundary=z", Some("z")),
            ("form-data; xboundary=y", None),
            ("boundary=x", None),
            ("a; boundary=\"", Some("\"")),
            ("", None),
        ] {
            let found = parameter(value.as_bytes(), "boundary");
            assert_eq!(found, expected.map(str::as_bytes), "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_form(body: Vec<u8>, boundary: Vec<u8>, media_type: Vec<u8>) {
            let _ = (parse(&body), parse_multipart(&body, &boundary), parameter(&media_type, "boundary"));
            let body = [b"--", &*boundary, &body, b"\r\n--", &boundary].concat();
            parse_multipart(&body, &boundary);
        }
    }
}
