//! The members of RFC 6749 that a problem has for OAuth clients and agents.

use serde::Serialize;

use super::code::Code;

/// The members of RFC 6749, section 5.2.
#[derive(Debug, Serialize)]
pub(super) struct OAuthMembers {
    error: &'static str,
    error_description: String,
}

impl OAuthMembers {
    pub(super) fn of(code: Code, detail: &str) -> Self {
        Self {
            error: code.kind().oauth,
            error_description: detail.chars().map(describable).collect(),
        }
    }
}

/// The characters that RFC 6749 has in a description: ASCII without quotation marks and backslashes.
const fn describable(c: char) -> char {
    match c {
        '"' => '\'',
        ' '..='~' if c != '\\' => c,
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_the_characters_that_clients_expect() {
        let detail = "The \"agents\" policy: \\ é\n~";
        let members = OAuthMembers::of(Code::RateLimited, detail);
        assert_eq!(members.error, "rate_limited");
        assert_eq!(members.error_description, "The 'agents' policy: ? ??~");
    }

    #[test]
    fn every_code_has_an_error() {
        for code in Code::ALL {
            let members = OAuthMembers::of(code, code.kind().meaning);
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(members.error.chars().all(is_name), "{code:?}");
            assert!(!members.error_description.contains('?'), "{code:?}");
            if code.kind().name.ends_with("_not_enabled") {
                assert_eq!(members.error, code.kind().name);
            }
        }
    }
}
