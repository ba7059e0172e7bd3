//! The sender of a request: the owner of its credential, and the visitor in its quota cookie.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE};

use crate::domain::{Fingerprint, QuotaToken, Timestamp, TokenKey};
use crate::site::facts::quota_cookie_name;
use crate::usecases::authenticate::{Credentials, authenticate};

use crate::http::request::form;
use crate::http::request::head::{API_KEY, of_scheme};
use crate::http::{Area, Code, Problem};

/// The owner of the request's credential. `None` without a credential, or with an invalid one in an area that
/// ignores those.
///
/// # Errors
/// A problem when the area refuses the credential, or it can't be looked up.
pub(crate) async fn identify(
    credentials: Credentials<'_>,
    now: Timestamp,
    headers: &HeaderMap,
    area: Area,
) -> Result<Option<Fingerprint>, Problem> {
    let refusal = match presented(headers) {
        Ok(None) => return Ok(None),
        Ok(Some(presented)) => match authenticate(credentials, now, presented).await? {
            Some(fingerprint) => return Ok(Some(fingerprint)),
            // RFC 6750, section 3.1.
            None => Problem::of(Code::InvalidToken).with_challenge("error=\"invalid_token\""),
        },
        Err(conflict) => conflict,
    };
    if area.refuses_bad_credentials() {
        Err(refusal)
    } else {
        Ok(None)
    }
}

/// The credential in `Authorization: Bearer` (RFC 6750) or `X-API-Key`. Other schemes are ignored. A value
/// that isn't text counts as an empty one, which is never valid.
///
/// # Errors
/// A problem when two different ones are presented.
fn presented(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
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
        .map(|credential| std::str::from_utf8(credential).unwrap_or_default());
    let first = all.next();
    if all.any(|other| Some(other) != first) {
        return Err(Problem::of(Code::ConflictingCredentials));
    }
    Ok(first)
}

/// The client id and secret in `Authorization: Basic` (RFC 7617), as in OAuth: both are form-encoded before they are
/// joined (RFC 6749, section 2.3.1). A repeated or malformed header counts as an empty client, which is never valid.
pub(crate) fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let mut all = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| of_scheme(b"basic", value.as_bytes()));
    let (first, second) = (all.next()?, all.next());
    let client = client_of(first).filter(|_| second.is_none());
    Some(client.unwrap_or_default())
}

fn client_of(encoded: &[u8]) -> Option<(String, String)> {
    let pair = STANDARD.decode(encoded).ok()?;
    let colon = pair.iter().position(|&byte| byte == b':')?;
    let (id, secret) = pair.split_at(colon);
    Some((form::decode(id)?, form::decode(secret.get(1..)?)?))
}

/// The visitor's id in the quota cookie (RFC 6265): the first cookie of our name with a valid MAC.
pub(crate) fn visitor(headers: &HeaderMap, is_https: bool, key: &TokenKey) -> Option<QuotaToken> {
    let name = quota_cookie_name(is_https).as_bytes();
    headers
        .get_all(COOKIE)
        .into_iter()
        // Bytes: cookies of other sites on this host may contain anything.
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| pair.trim_ascii().strip_prefix(name)?.strip_prefix(b"="))
        .filter_map(|value| std::str::from_utf8(value).ok())
        .find_map(|value| QuotaToken::decode(value, key))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::domain::Secret;

    /// A request's values of `Authorization` and `X-API-Key`.
    fn headers(authorization: &[&str], keys: &[&str]) -> HeaderMap {
        let names = [("authorization", authorization), ("x-api-key", keys)];
        let lines = names.into_iter().flat_map(|(name, values)| {
            let value = |value: &&str| HeaderValue::from_bytes(value.as_bytes()).unwrap();
            let name = HeaderName::from_static(name);
            values.iter().map(move |text| (name.clone(), value(text)))
        });
        lines.collect()
    }

    #[test]
    fn a_credential_is_found_in_either_header() {
        for (authorization, keys, expected) in [
            (&[][..], &[][..], None),
            (&["Basic dTpw"], &[], None),
            (&["Bearertoken x"], &[], None),
            (&["Digest a=b"], &[], None),
            (&["Bearer abc"], &[], Some("abc")),
            (&["bEARER  abc"], &[], Some("abc")),
            (&["Bearer\tabc"], &[], Some("abc")),
            (&["Bearer \t abc"], &[], Some("abc")),
            (&[], &["abc"], Some("abc")),
            (&["Basic dTpw"], &["abc"], Some("abc")),
            (&["Bearer abc"], &["abc"], Some("abc")),
            (&["Bearer"], &[], Some("")),
            (&["Bearer "], &[], Some("")),
            (&["Bearer\t"], &[], Some("")),
            (&[], &[""], Some("")),
        ] {
            let headers = headers(authorization, keys);
            assert_eq!(presented(&headers).unwrap(), expected, "{headers:?}");
        }
        let mut bytes = HeaderMap::new();
        bytes.insert("x-api-key", HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        assert_eq!(presented(&bytes).unwrap(), Some(""));
    }

    #[test]
    fn two_different_credentials_are_a_problem() {
        for (authorization, keys) in [
            (&["Bearer abc"][..], &["abd"][..]),
            (&[], &["abc", "abd"]),
            (&["Bearer abc", "Bearer"], &[]),
        ] {
            let problem = presented(&headers(authorization, keys)).unwrap_err();
            assert_eq!(problem.code, Code::ConflictingCredentials, "{keys:?}");
        }
    }

    #[test]
    fn a_client_is_found_in_basic() {
        for (authorization, expected) in [
            (&[][..], None),
            (&["Bearer dTpw"], None),
            (&["Basically dTpw"], None),
            // u:p, u:p:q, :, and %75+:%3a
            (&["Basic dTpw"], Some(("u", "p"))),
            (&["bASIC  dTpw "], Some(("u", "p"))),
            (&["Basic\tdTpw"], Some(("u", "p"))),
            (&["Basic dTpwOnE="], Some(("u", "p:q"))),
            (&["Basic Og=="], Some(("", ""))),
            (&["Basic JTc1KzolM2E="], Some(("u ", ":"))),
            (&["Basic"], Some(("", ""))),
            (&["Basic dTpw="], Some(("", ""))),
            (&["Basic d Tpw"], Some(("", ""))),
            (&["Basic u:p"], Some(("", ""))),
            // up, u:%, and a byte that isn't UTF-8
            (&["Basic dXA="], Some(("", ""))),
            (&["Basic dTol"], Some(("", ""))),
            (&["Basic dTr/"], Some(("", ""))),
            (&["Basic dTpw", "Basic dTpw"], Some(("", ""))),
        ] {
            let found = basic(&headers(authorization, &["dTpw"]));
            let found = found.as_ref().map(|(id, secret)| (&**id, &**secret));
            assert_eq!(found, expected, "{authorization:?}");
        }
    }

    #[test]
    fn the_cookie_is_read_back_and_anything_else_is_a_stranger() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let token = QuotaToken::from_bytes([2; 16]);
        let (good, second) = (
            token.encode(&key),
            QuotaToken::from_bytes([3; 16]).encode(&key),
        );
        for (is_https, value, is_read) in [
            (false, "assistant=GOOD", true),
            (false, "a=b; assistant=GOOD;c=d", true),
            (false, "assistant=GOOD; assistant=SECOND", true),
            (false, "assistant=junk; assistant=GOOD", true),
            (false, "name=José; assistant=GOOD; é", true),
            (false, "assistant2=GOOD", false),
            (false, "Assistant=GOOD", false),
            (false, "__Host-assistant=GOOD", false),
            (true, "__Host-assistant=GOOD", true),
            (true, "assistant=GOOD", false),
            (false, "assistant=", false),
            (false, ";;;===", false),
            (false, &"assistant=;".repeat(5000), false),
        ] {
            let value = value.replace("GOOD", &good).replace("SECOND", &second);
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            let read = visitor(&headers, is_https, &key);
            assert_eq!(read, is_read.then_some(token), "{is_https} {value:.60}");
        }
    }
}
