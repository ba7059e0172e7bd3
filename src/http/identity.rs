//! Authentication: the credential of a request and its owner.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};

use crate::domain::credential::Fingerprint;
use crate::domain::time::Timestamp;
use crate::usecases::admit::{self, AuthenticateError, Credentials};

use super::area::Area;
use super::form;
use super::problem::{Code, Problem};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The credential of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presented<'a> {
    /// Nothing.
    Nothing,
    /// This text.
    Credential(&'a str),
    /// A malformed credential.
    Garbage,
}

/// The owner of the request's credential. `None` if there is no credential, or an invalid one in an area
/// that ignores those.
///
/// # Errors
/// A problem when the area refuses the credential, or it cannot be looked up.
pub(crate) async fn authenticate(
    credentials: Credentials<'_>,
    now: Timestamp,
    headers: &HeaderMap,
    area: Area,
) -> Result<Option<Fingerprint>, Problem> {
    let refusal = match presented(headers) {
        Ok(Presented::Nothing) => return Ok(None),
        Ok(Presented::Garbage) => Problem::invalid_token(),
        Ok(Presented::Credential(presented)) => {
            match admit::authenticate(credentials, now, presented).await {
                Ok(credential) => return Ok(Some(credential.fingerprint())),
                Err(AuthenticateError::Invalid) => Problem::invalid_token(),
                Err(AuthenticateError::Store(error)) => {
                    return Err(error.into());
                }
            }
        }
        Err(conflict) => conflict,
    };
    if area.refuses_bad_credentials() {
        Err(refusal)
    } else {
        Ok(None)
    }
}

/// The credential in `Authorization: Bearer` (RFC 6750) or `X-API-Key`. Other schemes are ignored.
///
/// # Errors
/// A problem when two different ones are presented.
fn presented(headers: &HeaderMap) -> Result<Presented<'_>, Problem> {
    let bearers = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| of_scheme(b"bearer", value.as_bytes()));
    let api_keys = headers
        .get_all(&API_KEY)
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

/// What `Authorization: Basic` presents (RFC 7617).
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Basic {
    /// Nothing: there is none.
    Nothing,
    /// A client id and its secret.
    Client {
        /// The part before the colon.
        id: String,
        /// The part behind it.
        secret: String,
    },
    /// A malformed header.
    Garbage,
}

/// The client in `Authorization: Basic`, as OAuth has it: id and secret are form-encoded before
/// they are joined (RFC 6749, section 2.3.1).
pub(crate) fn basic(headers: &HeaderMap) -> Basic {
    let mut all = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| of_scheme(b"basic", value.as_bytes()));
    match (all.next(), all.next()) {
        (None, _) => Basic::Nothing,
        (Some(only), None) => client_of(only).unwrap_or(Basic::Garbage),
        (Some(_), Some(_)) => Basic::Garbage,
    }
}

fn client_of(encoded: &[u8]) -> Option<Basic> {
    let pair = STANDARD.decode(encoded).ok()?;
    let colon = pair.iter().position(|&byte| byte == b':')?;
    let (id, secret) = pair.split_at(colon);
    Some(Basic::Client {
        id: form::decode(id)?,
        secret: form::decode(secret.get(1..)?)?,
    })
}

/// The rest of an `Authorization` value of `scheme`; `None` for another scheme. Scheme names ignore case
/// (RFC 9110, section 11.1). A tab may follow as well as a space, so that no credential is overlooked.
fn of_scheme<'a>(scheme: &[u8], value: &'a [u8]) -> Option<&'a [u8]> {
    let (name, rest) = value.split_at_checked(scheme.len())?;
    if !name.eq_ignore_ascii_case(scheme) {
        return None;
    }
    match rest {
        [] => Some(rest),
        [b' ' | b'\t', ..] => Some(rest.trim_ascii()),
        // The name of a longer scheme.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

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
            (vec![("authorization", "Bearer\tabc")], Credential("abc")),
            (vec![("authorization", "Bearer \t abc")], Credential("abc")),
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
            (vec![("authorization", "Bearer\t")], Garbage),
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

    #[test]
    fn a_client_is_found_in_basic() {
        let client = |id: &str, secret: &str| Basic::Client {
            id: id.to_owned(),
            secret: secret.to_owned(),
        };
        for (lines, expected) in [
            (vec![], Basic::Nothing),
            (vec![("authorization", "Bearer dTpw")], Basic::Nothing),
            (vec![("authorization", "Basically dTpw")], Basic::Nothing),
            (vec![("x-api-key", "dTpw")], Basic::Nothing),
            // u:p, u:p:q, :, and %75+:%3a
            (vec![("authorization", "Basic dTpw")], client("u", "p")),
            (vec![("authorization", "bASIC  dTpw ")], client("u", "p")),
            (vec![("authorization", "Basic\tdTpw")], client("u", "p")),
            (
                vec![("authorization", "Basic dTpwOnE=")],
                client("u", "p:q"),
            ),
            (vec![("authorization", "Basic Og==")], client("", "")),
            (
                vec![("authorization", "Basic JTc1KzolM2E=")],
                client("u ", ":"),
            ),
            (vec![("authorization", "Basic")], Basic::Garbage),
            (vec![("authorization", "Basic dTpw=")], Basic::Garbage),
            (vec![("authorization", "Basic d Tpw")], Basic::Garbage),
            (vec![("authorization", "Basic u:p")], Basic::Garbage),
            // up, u:%, and a byte that is no UTF-8
            (vec![("authorization", "Basic dXA=")], Basic::Garbage),
            (vec![("authorization", "Basic dTol")], Basic::Garbage),
            (vec![("authorization", "Basic dTr/")], Basic::Garbage),
            (
                vec![
                    ("authorization", "Basic dTpw"),
                    ("authorization", "Basic dTpw"),
                ],
                Basic::Garbage,
            ),
        ] {
            let found = basic(&headers(&lines));
            assert!(found == expected, "{lines:?}");
        }
    }
}
