//! What a request presents as its credential.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::problem::{Code, Problem};

pub(crate) const API_KEY: &str = "x-api-key";

/// What a request presents as its credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presented<'a> {
    /// Nothing.
    Nothing,
    /// This text.
    Credential(&'a str),
    /// Something that cannot be a credential.
    Garbage,
}

/// The credential in `Authorization: Bearer` (RFC 6750) or `X-API-Key`. Other schemes are ignored.
///
/// # Errors
/// A problem when two different ones are presented.
pub(crate) fn presented(headers: &HeaderMap) -> Result<Presented<'_>, Problem> {
    let bearers = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| bearer(value.as_bytes()));
    let api_keys = headers
        .get_all(API_KEY)
        .into_iter()
        .map(|value| value.as_bytes());
    let mut all = bearers
        .chain(api_keys)
        .map(|credential| match std::str::from_utf8(credential) {
            Ok(text) if !text.is_empty() => Presented::Credential(text),
            Ok(_) | Err(_) => Presented::Garbage,
        });
    let Some(first) = all.next() else {
        return Ok(Presented::Nothing);
    };
    if all.any(|other| other != first) {
        return Err(Problem::of(Code::ConflictingCredentials));
    }
    Ok(first)
}

/// The credential of a `Bearer` value; nothing for another scheme. Scheme names ignore case
/// (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer";
    let (scheme, rest) = value.split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    match rest {
        [] => Some(rest),
        [b' ', ..] => Some(rest.trim_ascii()),
        // The name of a longer scheme.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::try_from(*name).unwrap(),
                    HeaderValue::from_bytes(value.as_bytes()).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn a_credential_is_found_in_either_header() {
        use Presented::{Credential, Garbage, Nothing};
        for (lines, expected) in [
            (vec![], Nothing),
            (vec![("authorization", "Basic dTpw")], Nothing),
            (vec![("authorization", "Bearertoken x")], Nothing),
            (vec![("authorization", "Digest a=b")], Nothing),
            (vec![("authorization", "Bearer abc")], Credential("abc")),
            (vec![("authorization", "bEARER  abc")], Credential("abc")),
            (vec![("x-api-key", "abc")], Credential("abc")),
            (
                vec![("authorization", "Basic dTpw"), ("x-api-key", "abc")],
                Credential("abc"),
            ),
            (
                vec![("authorization", "Bearer abc"), ("x-api-key", "abc")],
                Credential("abc"),
            ),
            (vec![("authorization", "Bearer")], Garbage),
            (vec![("authorization", "Bearer ")], Garbage),
            (vec![("x-api-key", "")], Garbage),
        ] {
            assert_eq!(presented(&headers(&lines)).unwrap(), expected, "{lines:?}");
        }
        let mut bytes = HeaderMap::new();
        bytes.insert("x-api-key", HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        assert_eq!(presented(&bytes).unwrap(), Garbage);
    }

    #[test]
    fn two_different_credentials_are_a_problem() {
        for lines in [
            vec![("authorization", "Bearer abc"), ("x-api-key", "abd")],
            vec![("x-api-key", "abc"), ("x-api-key", "abd")],
            vec![("authorization", "Bearer abc"), ("authorization", "Bearer")],
        ] {
            let problem = presented(&headers(&lines)).unwrap_err();
            assert_eq!(problem.code, Code::ConflictingCredentials, "{lines:?}");
        }
    }
}
