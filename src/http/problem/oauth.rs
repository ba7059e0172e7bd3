//! What OAuth clients and agents read in a problem: RFC 6749's members beside those of RFC 9457.

use serde::Serialize;

use super::{Code, Problem};

/// The members of RFC 6749, section 5.2.
#[derive(Debug, Serialize)]
pub(super) struct OAuthMembers {
    error: &'static str,
    error_description: String,
}

impl OAuthMembers {
    pub(super) fn of(problem: &Problem) -> Self {
        Self {
            error: error(problem.code),
            error_description: problem.detail.chars().map(describable).collect(),
        }
    }
}

/// The code in the words of RFC 6749 and of the auth.md proposal (v0.1), which know fewer than we
/// do. `temporarily_unavailable` and `server_error` are RFC 6749's for another endpoint (section
/// 4.1.2.1); `rate_limited` is auth.md's.
const fn error(code: Code) -> &'static str {
    match code {
        Code::ClaimNotEnabled
        | Code::IdentityAssertionNotEnabled
        | Code::InvalidClient
        | Code::InvalidScope
        | Code::InvalidToken
        | Code::IssuerNotEnabled
        | Code::UnsupportedCredentialType
        | Code::UnsupportedGrantType
        | Code::UnsupportedResponseType
        | Code::VerifiedEmailNotEnabled => code.kind().name,
        Code::ConflictingCredentials
        | Code::MalformedBody
        | Code::MalformedForm
        | Code::MalformedJson
        | Code::MethodNotAllowed
        | Code::NotFound
        | Code::OriginNotAllowed
        | Code::PayloadTooLarge
        | Code::RequestTimeout
        | Code::UnsupportedApiVersion
        | Code::UnsupportedMediaType
        | Code::ValidationFailed => "invalid_request",
        Code::AssistantQuotaExhausted | Code::RateLimited => "rate_limited",
        Code::HandlerTimeout
        | Code::LimiterUnavailable
        | Code::ModelUnavailable
        | Code::NewsletterUnavailable
        | Code::Overloaded
        | Code::StoreUnavailable => "temporarily_unavailable",
        Code::InternalError => "server_error",
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
        let problem = Problem::new(Code::RateLimited, "The \"agents\" policy: \\ é\n~");
        let members = OAuthMembers::of(&problem);
        assert_eq!(members.error, "rate_limited");
        assert_eq!(members.error_description, "The 'agents' policy: ? ??~");
    }

    #[test]
    fn every_code_has_an_error() {
        for code in Code::ALL {
            let problem = Problem::of(code);
            let members = OAuthMembers::of(&problem);
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(members.error.chars().all(is_name), "{code:?}");
            assert!(!members.error_description.contains('?'), "{code:?}");
            if code.kind().name.ends_with("_not_enabled") {
                assert_eq!(members.error, code.kind().name);
            }
        }
    }
}
