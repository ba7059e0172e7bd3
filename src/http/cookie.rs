//! The quota cookie (RFC 6265): an id of the visitor, `HttpOnly`, never a count.

use hyper::HeaderMap;
use hyper::header::COOKIE;

use crate::domain::quota_token::QuotaToken;
use crate::domain::secret::TokenKey;
use crate::site::facts::quota_cookie_name;

/// How the quota cookie is named and sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuotaCookie {
    is_https: bool,
}

impl QuotaCookie {
    pub(crate) const fn new(is_https: bool) -> Self {
        Self { is_https }
    }

    const fn name(self) -> &'static str {
        quota_cookie_name(self.is_https)
    }

    /// The visitor's id: the first cookie of our name whose MAC is valid.
    pub(crate) fn read(self, headers: &HeaderMap, key: &TokenKey) -> Option<QuotaToken> {
        headers
            .get_all(COOKIE)
            .into_iter()
            // Bytes: cookies of other sites on this host may hold anything.
            .flat_map(|value| value.as_bytes().split(|&byte| byte == b';'))
            .filter_map(|pair| pair.trim_ascii().strip_prefix(self.name().as_bytes()))
            .filter_map(|rest| std::str::from_utf8(rest.strip_prefix(b"=")?).ok())
            .find_map(|value| QuotaToken::decode(value, key))
    }

    /// The `Set-Cookie` value for `visitor`, valid for `max_age_s` seconds.
    pub(crate) fn write(self, visitor: &QuotaToken, key: &TokenKey, max_age_s: u64) -> String {
        let secure = if self.is_https { "; Secure" } else { "" };
        format!(
            "{}={}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Lax{secure}",
            self.name(),
            visitor.encode(key)
        )
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::domain::secret::Secret;

    #[test]
    fn the_cookie_is_read_back_and_anything_else_is_a_stranger() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let token = QuotaToken::new([2; 16]);
        let other = QuotaToken::new([3; 16]);
        let (good, second) = (token.encode(&key), other.encode(&key));
        for (is_https, value, expected) in [
            (false, format!("assistant={good}"), Some(token)),
            (false, format!("a=b; assistant={good};c=d"), Some(token)),
            (
                false,
                format!("assistant={good}; assistant={second}"),
                Some(token),
            ),
            (
                false,
                format!("assistant=junk; assistant={good}"),
                Some(token),
            ),
            (
                false,
                format!("name=José; assistant={good}; é"),
                Some(token),
            ),
            (false, format!("assistant2={good}"), None),
            (false, format!("Assistant={good}"), None),
            (false, format!("__Host-assistant={good}"), None),
            (true, format!("__Host-assistant={good}"), Some(token)),
            (true, format!("assistant={good}"), None),
            (false, "assistant=".to_owned(), None),
            (false, ";;;===".to_owned(), None),
            (false, "assistant=;".repeat(5000), None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            let read = QuotaCookie::new(is_https).read(&headers, &key);
            assert_eq!(read, expected, "{is_https} {value:.60}");
        }
    }

    #[test]
    fn the_cookie_is_out_of_reach_of_scripts_and_other_sites() {
        let key = Secret::new([1; 32]).keys().quota_token;
        let token = QuotaToken::new([2; 16]);
        let value = token.encode(&key);
        assert_eq!(
            QuotaCookie::new(false).write(&token, &key, 60),
            format!("assistant={value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
        );
        assert_eq!(
            QuotaCookie::new(true).write(&token, &key, 60),
            format!("__Host-assistant={value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure")
        );
    }
}
