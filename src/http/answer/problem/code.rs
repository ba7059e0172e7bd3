//! The problem codes. `data/problems.yaml` has the status and the texts of each.

use std::sync::LazyLock;

use hyper::StatusCode;

use crate::domain::macros::names;
use crate::site::ProblemPage;

names! {
    /// The machine-readable name of a kind of problem.
    pub enum Code {
        AssistantQuotaExhausted => "assistant_quota_exhausted",
        ClaimNotEnabled => "claim_not_enabled",
        ConflictingCredentials => "conflicting_credentials",
        HandlerTimeout => "handler_timeout",
        IdentityAssertionNotEnabled => "identity_assertion_not_enabled",
        InternalError => "internal_error",
        InvalidClient => "invalid_client",
        InvalidScope => "invalid_scope",
        InvalidToken => "invalid_token",
        IssuerNotEnabled => "issuer_not_enabled",
        LimiterUnavailable => "limiter_unavailable",
        MalformedBody => "malformed_body",
        MalformedHead => "malformed_head",
        MalformedJson => "malformed_json",
        MethodNotAllowed => "method_not_allowed",
        ModelUnavailable => "model_unavailable",
        NetworkBlocked => "network_blocked",
        NewsletterUnavailable => "newsletter_unavailable",
        NotFound => "not_found",
        OriginNotAllowed => "origin_not_allowed",
        Overloaded => "overloaded",
        PayloadTooLarge => "payload_too_large",
        RateLimited => "rate_limited",
        RequestTimeout => "request_timeout",
        Stopping => "stopping",
        StoreUnavailable => "store_unavailable",
        UnsupportedApiVersion => "unsupported_api_version",
        UnsupportedCredentialType => "unsupported_credential_type",
        UnsupportedGrantType => "unsupported_grant_type",
        UnsupportedMediaType => "unsupported_media_type",
        UnsupportedResponseType => "unsupported_response_type",
        ValidationFailed => "validation_failed",
        VerifiedEmailNotEnabled => "verified_email_not_enabled",
        WorkerFailing => "worker_failing",
    }
}

impl Code {
    /// The texts that all problems with this code share.
    #[allow(
        clippy::indexing_slicing,
        reason = "a test compares the table with the codes"
    )]
    pub fn page(self) -> &'static ProblemPage {
        &pages()[self as usize]
    }

    /// The status that it comes with.
    pub fn status(self) -> StatusCode {
        let number = self.page().status.as_bytes().first_chunk::<3>();
        let status = number.and_then(|number| StatusCode::from_bytes(number).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The page of every code, in the order of their names.
#[allow(clippy::expect_used, reason = "a test reads the table")]
pub fn pages() -> &'static [ProblemPage] {
    static PAGES: LazyLock<Vec<ProblemPage>> = LazyLock::new(|| {
        let table = include_str!("../../../../data/problems.yaml");
        serde_saphyr::from_str(table).expect("the table is valid")
    });
    &PAGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_codes_in_order_with_their_status() {
        let of_table: Vec<_> = pages().iter().map(|page| page.code.as_str()).collect();
        assert_eq!(of_table, Code::ALL.map(Code::as_str));
        assert!(of_table.is_sorted());
        for code in Code::ALL {
            assert_eq!(code.status().to_string(), code.page().status, "{code:?}");
            assert!(code.status().as_u16() >= 400);
        }
    }

    #[test]
    fn the_reason_of_every_status_can_name_a_component_of_the_description() {
        for code in Code::ALL {
            let reason = code.status().canonical_reason().unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == ' ';
            assert!(
                !reason.is_empty() && reason.chars().all(is_name),
                "{code:?}: data/parts/openapi.yaml calls a response by the words of its status, and \
                 {reason:?} has more than letters: name another status in data/problems.yaml"
            );
        }
    }
}
