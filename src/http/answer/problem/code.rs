//! The problem codes. `data/problems.txt` has the status and the texts of each.

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
    #[allow(clippy::indexing_slicing, reason = "there is one for each code")]
    pub const fn page(self) -> &'static ProblemPage {
        &PAGES[self as usize]
    }

    /// The status that it comes with.
    pub fn status(self) -> StatusCode {
        let number = self.page().status.as_bytes().first_chunk::<3>();
        let status = number.and_then(|number| StatusCode::from_bytes(number).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The page of every code, in the order of their names. The table is read when the program is compiled.
pub static PAGES: [ProblemPage; Code::ALL.len()] =
    read(include_str!("../../../../data/problems.txt"));

#[allow(clippy::indexing_slicing, reason = "a fault ends the compilation")]
const fn read(table: &'static str) -> [ProblemPage; Code::ALL.len()] {
    let mut pages = [ProblemPage::EMPTY; Code::ALL.len()];
    let (mut index, mut rest) = (0, table);
    while index < pages.len() {
        let page = &mut pages[index];
        (page.code, rest) = value(rest, "code = ");
        (page.status, rest) = value(rest, "status = ");
        (page.oauth, rest) = value(rest, "oauth = ");
        (page.title, rest) = value(rest, "title = ");
        (page.meaning, rest) = value(rest, "meaning = ");
        (page.resolution, rest) = value(rest, "resolution = ");
        index += 1;
    }
    pages
}

/// The value of the next line that begins with `name`, and the lines after it.
#[allow(clippy::indexing_slicing, reason = "a fault ends the compilation")]
const fn value(table: &'static str, name: &str) -> (&'static str, &'static str) {
    let mut rest = table;
    loop {
        let (mut end, bytes) = (0, rest.as_bytes());
        while bytes[end] != b'\n' {
            end += 1;
        }
        let (line, after) = rest.split_at(end);
        rest = after.split_at(1).1;
        let Some((begin, value)) = line.split_at_checked(name.len()) else {
            continue;
        };
        let mut same = 0;
        while same < name.len() && begin.as_bytes()[same] == name.as_bytes()[same] {
            same += 1;
        }
        if same == name.len() {
            return (value, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_codes_in_order_with_their_status() {
        let of_table: Vec<_> = PAGES.iter().map(|page| page.code).collect();
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
                 {reason:?} has more than letters: name another status in data/problems.txt"
            );
        }
    }
}
