//! Reading `application/x-www-form-urlencoded` bodies as RFC 6749 has them (sections 3.2 and B):
//! a parameter without a value counts as left out, unknown ones are ignored, and none that is read
//! may come twice.
//!
//! What cannot be decoded is refused, where a browser would guess: nobody sends it on purpose.

use percent_encoding::percent_decode;

use super::problem::{Code, Problem};
use super::wire::Errors;

/// The parameters of a form.
pub(crate) struct Form(Vec<(String, String)>);

/// Reads a body.
///
/// # Errors
/// A problem when it is not a form in UTF-8.
pub(crate) fn parse(body: &[u8]) -> Result<Form, Problem> {
    let pairs = body.split(|&byte| byte == b'&');
    pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let equals = pair.iter().position(|&byte| byte == b'=');
            let (name, value) = pair.split_at(equals.unwrap_or(pair.len()));
            Some((decode(name)?, decode(value.get(1..).unwrap_or_default())?))
        })
        .collect::<Option<_>>()
        .map(Form)
        .ok_or_else(|| Problem::of(Code::MalformedForm))
}

impl Form {
    /// The parameter `name`, if it is there and has a value. There more than once, it is an error.
    pub(crate) fn optional(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let mut values = self.0.iter().filter(|(found, _)| found == name);
        let (_, value) = values.next()?;
        if values.next().is_some() {
            errors.push(
                &format!("#/{name}"),
                "duplicate_member",
                "is there more than once",
            );
        }
        (!value.is_empty()).then_some(value)
    }

    /// The parameter `name`, which has to be there with a value.
    pub(crate) fn required(&self, name: &str, errors: &mut Errors) -> Option<&str> {
        let value = self.optional(name, errors);
        if value.is_none() {
            errors.push(&format!("#/{name}"), "required", "must be there");
        }
        value
    }
}

/// What is written in a name or a value; nothing if an escape is broken or the text is not UTF-8.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    let mut spaced = encoded.to_vec();
    for (at, byte) in encoded.iter().enumerate() {
        match byte {
            b'+' => *spaced.get_mut(at)? = b' ',
            b'%' => {
                let digits = encoded.get(at + 1..at + 3)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
            }
            _ => {}
        }
    }
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
