//! Reading `application/x-www-form-urlencoded` bodies as RFC 6749 defines them (section 3.2 and
//! appendix B): a parameter without a value counts as omitted, unknown ones are ignored, and no
//! parameter that is read may be repeated.
//!
//! Broken escapes and bytes that are not UTF-8 are refused, where the WHATWG parser would replace
//! them. `multipart/form-data` (RFC 7578) is read to the same parameters.

use futures_util::stream;
use hyper::body::Bytes;
use multer::Multipart;
use percent_encoding::percent_decode;

use crate::http::{Code, Errors, Problem};

/// The parameters of a form.
pub(crate) struct FormParams(Vec<(String, String)>);

/// Parses a body.
///
/// # Errors
/// A problem when it is not a form in UTF-8.
pub(crate) fn parse(body: &[u8]) -> Result<FormParams, Problem> {
    let pairs = body.split(|&byte| byte == b'&');
    pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let mut halves = pair.splitn(2, |&byte| byte == b'=');
            let mut half = || decode(halves.next().unwrap_or_default());
            Some((half()?, half()?))
        })
        .collect::<Option<_>>()
        .map(FormParams)
        .ok_or_else(|| Problem::of(Code::MalformedForm))
}

/// The boundary of a media type that is `multipart/form-data`.
pub(crate) fn boundary(media_type: &str) -> Option<String> {
    multer::parse_boundary(media_type).ok()
}

/// Parses a body whose parts `boundary` divides. Parts without a name are left out.
///
/// # Errors
/// A problem when it is not a form in UTF-8.
pub(crate) async fn parse_multipart(body: Bytes, boundary: String) -> Result<FormParams, Problem> {
    let malformed = |error: String| Problem::of(Code::MalformedForm).because(error);
    let body = stream::iter([Ok::<_, std::convert::Infallible>(body)]);
    let mut parts = Multipart::new(body, boundary);
    let mut params = Vec::new();
    while let Some(part) = parts
        .next_field()
        .await
        .map_err(|it| malformed(it.to_string()))?
    {
        let name = part.name().map(str::to_owned);
        let value = part.bytes().await.map_err(|it| malformed(it.to_string()))?;
        if let Some(name) = name {
            let value = String::from_utf8(value.into());
            params.push((
                name,
                value.map_err(|it| malformed(it.utf8_error().to_string()))?,
            ));
        }
    }
    Ok(FormParams(params))
}

impl FormParams {
    /// The parameter `name`, the first if it is repeated.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(found, _)| found == name);
        values.next().map(|(_, value)| value.as_str())
    }

    /// The parameter `name`, if it is present and not empty. Repeated, it is an error.
    pub(crate) fn optional(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let mut values = self.0.iter().filter(|(found, _)| found == name);
        let (_, value) = values.next()?;
        if values.next().is_some() {
            errors.push(
                &format!("#/{name}"),
                "duplicate_member",
                "occurs more than once",
            );
        }
        (!value.is_empty()).then_some(value)
    }

    /// The parameter `name`, which has to be present and not empty.
    pub(crate) fn required(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let value = self.optional(name, errors);
        if value.is_none() {
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
    use super::*;

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
            (b"\xef\xbb\xbfa=1", vec![("\u{feff}a", "1")]),
        ] {
            let form = parse(body).unwrap();
            let found: Vec<_> = form.0.iter().map(|(n, v)| (&**n, &**v)).collect();
            assert_eq!(found, expected, "{}", body.escape_ascii());
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_refused() {
        for body in [
            &b"a=%"[..],
            b"a=%4",
            b"a=%4g",
            b"a=%+1",
            b"a=%%41",
            b"%=1",
            b"a=%ff",
            b"a=%c3",
            b"a=\xff",
            b"a=1&b=%zz",
            b"a=%ed%a0%80",
        ] {
            let Err(problem) = parse(body) else {
                panic!("{}", body.escape_ascii());
            };
            assert_eq!(problem.code, Code::MalformedForm);
        }
    }

    #[test]
    fn every_bad_parameter_is_named() {
        for (body, expected) in [
            ("a=1&b=2&b=3&c=", vec![("#/b", "duplicate_member")]),
            ("b=2", vec![("#/a", "required")]),
            ("a=", vec![("#/a", "required")]),
            ("a=1&a=1", vec![("#/a", "duplicate_member")]),
            (
                "a=&a=1",
                vec![("#/a", "duplicate_member"), ("#/a", "required")],
            ),
            ("x=1&x=2&a=1", vec![]),
        ] {
            let form = parse(body.as_bytes()).unwrap();
            let mut errors = Errors::default();
            form.required("a", &mut errors);
            form.optional("b", &mut errors);
            form.optional("c", &mut errors);
            let problem = errors.finish(Some(())).err();
            let found = problem.map_or_else(Vec::new, |problem| problem.errors);
            let found: Vec<_> = found.iter().map(|it| (&*it.pointer, it.code)).collect();
            assert_eq!(found, expected, "{body}");
        }
    }
}
