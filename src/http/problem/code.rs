//! The table of problem codes. It makes both the answers and the pages under `/problems/`.

use hyper::StatusCode;

/// The machine-readable name of a kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table below says what each means")]
pub enum Code {
    AssistantQuotaExhausted,
    ClaimNotEnabled,
    ConflictingCredentials,
    HandlerTimeout,
    IdentityAssertionNotEnabled,
    InternalError,
    InvalidClient,
    InvalidScope,
    InvalidToken,
    IssuerNotEnabled,
    LimiterUnavailable,
    MalformedBody,
    MalformedForm,
    MalformedJson,
    MethodNotAllowed,
    ModelUnavailable,
    NewsletterUnavailable,
    NotFound,
    OriginNotAllowed,
    Overloaded,
    PayloadTooLarge,
    RateLimited,
    RequestTimeout,
    StoreUnavailable,
    UnsupportedApiVersion,
    UnsupportedCredentialType,
    UnsupportedGrantType,
    UnsupportedMediaType,
    UnsupportedResponseType,
    ValidationFailed,
    VerifiedEmailNotEnabled,
}

/// What is true of every problem of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The code on the wire and in the page's path.
    pub name: &'static str,
    /// The status it comes with.
    pub status: StatusCode,
    /// A short title that never varies.
    pub title: &'static str,
    /// What happened, for the page.
    pub meaning: &'static str,
    /// What the client can do.
    pub resolution: &'static str,
}

impl Code {
    /// Every code, in the order of their names.
    pub const ALL: [Self; 31] = [
        Self::AssistantQuotaExhausted,
        Self::ClaimNotEnabled,
        Self::ConflictingCredentials,
        Self::HandlerTimeout,
        Self::IdentityAssertionNotEnabled,
        Self::InternalError,
        Self::InvalidClient,
        Self::InvalidScope,
        Self::InvalidToken,
        Self::IssuerNotEnabled,
        Self::LimiterUnavailable,
        Self::MalformedBody,
        Self::MalformedForm,
        Self::MalformedJson,
        Self::MethodNotAllowed,
        Self::ModelUnavailable,
        Self::NewsletterUnavailable,
        Self::NotFound,
        Self::OriginNotAllowed,
        Self::Overloaded,
        Self::PayloadTooLarge,
        Self::RateLimited,
        Self::RequestTimeout,
        Self::StoreUnavailable,
        Self::UnsupportedApiVersion,
        Self::UnsupportedCredentialType,
        Self::UnsupportedGrantType,
        Self::UnsupportedMediaType,
        Self::UnsupportedResponseType,
        Self::ValidationFailed,
        Self::VerifiedEmailNotEnabled,
    ];

    /// What is true of every problem with this code.
    #[must_use]
    #[allow(clippy::too_many_lines, reason = "it is a table")]
    pub const fn kind(self) -> Kind {
        let (name, status, title, meaning, resolution) = match self {
            Self::AssistantQuotaExhausted => (
                "assistant_quota_exhausted",
                StatusCode::TOO_MANY_REQUESTS,
                "Quota exceeded",
                "All free messages of this visitor are used up. The quota is a sliding window: \
                 each message is given back one window after it was sent.",
                "Wait for the number of seconds in Retry-After, then send the message again.",
            ),
            Self::ClaimNotEnabled => (
                "claim_not_enabled",
                StatusCode::BAD_REQUEST,
                "Claiming is not enabled",
                "A registration cannot be claimed: the service has no accounts to bind it to.",
                "Use the registration as it is; nothing here needs more.",
            ),
            Self::ConflictingCredentials => (
                "conflicting_credentials",
                StatusCode::BAD_REQUEST,
                "Two different credentials",
                "The request presents more than one credential, and they differ, so it is not \
                 clear who is asking.",
                "Send one credential, as Authorization: Bearer or as X-API-Key, or none.",
            ),
            Self::HandlerTimeout => (
                "handler_timeout",
                StatusCode::SERVICE_UNAVAILABLE,
                "The answer took too long",
                "The service gave up waiting for its own answer. The request may still take \
                 effect.",
                "Try again later.",
            ),
            Self::IdentityAssertionNotEnabled => (
                "identity_assertion_not_enabled",
                StatusCode::BAD_REQUEST,
                "Registration method not enabled",
                "Agents register anonymously here; identity assertions are not accepted. The \
                 assertion was not read.",
                "Send {\"type\":\"anonymous\"} instead.",
            ),
            Self::InternalError => (
                "internal_error",
                StatusCode::INTERNAL_SERVER_ERROR,
                "Internal error",
                "The service has a fault. The request's id, in instance and in X-Request-Id, \
                 leads the operator to the log line.",
                "Try again later; if it happens again, tell the operator the request's id.",
            ),
            Self::InvalidClient => (
                "invalid_client",
                StatusCode::UNAUTHORIZED,
                "Client not valid",
                "The client id or the client secret is missing, wrong, expired or revoked.",
                "Send the client_id and client_secret of one registration, or register again with \
                 POST /agent/auth.",
            ),
            Self::InvalidScope => (
                "invalid_scope",
                StatusCode::BAD_REQUEST,
                "Scope not valid",
                "A scope was asked for that does not exist here. There is one: public.",
                "Ask for the scope public, or leave scope out.",
            ),
            Self::InvalidToken => (
                "invalid_token",
                StatusCode::UNAUTHORIZED,
                "Credential not valid",
                "A credential was presented, but it is malformed, unknown, expired or revoked. \
                 No endpoint needs one.",
                "Leave the credential out, mint a new key with POST /api/v1/keys, or register \
                 again with POST /agent/auth.",
            ),
            Self::IssuerNotEnabled => (
                "issuer_not_enabled",
                StatusCode::BAD_REQUEST,
                "Issuer not enabled",
                "No identity provider is trusted here, so none can revoke anything. The logout \
                 token was not read.",
                "Whoever holds a credential revokes it: send it as token in a form.",
            ),
            Self::LimiterUnavailable => (
                "limiter_unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "Rate limiter unavailable",
                "The service cannot count requests at the moment, so it serves none.",
                "Try again later.",
            ),
            Self::MalformedBody => (
                "malformed_body",
                StatusCode::BAD_REQUEST,
                "Body not readable",
                "The request's body broke off or its framing is wrong.",
                "Send the whole body with a right Content-Length or chunked encoding.",
            ),
            Self::MalformedForm => (
                "malformed_form",
                StatusCode::BAD_REQUEST,
                "Body is not a form",
                "The request's body has a broken percent-encoding, or is not UTF-8 once it is \
                 decoded.",
                "Send a form such as grant_type=client_credentials, percent-encoded in UTF-8.",
            ),
            Self::MalformedJson => (
                "malformed_json",
                StatusCode::BAD_REQUEST,
                "Body is not JSON",
                "The request's body is missing, is not UTF-8, or is not one JSON value.",
                "Send one JSON object, encoded in UTF-8.",
            ),
            Self::MethodNotAllowed => (
                "method_not_allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "Method not allowed",
                "The path exists, but not with this method.",
                "Use one of the methods in the Allow header.",
            ),
            Self::ModelUnavailable => (
                "model_unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "Assistant unavailable",
                "The model behind the assistant gave no answer. The rate-limit headers show \
                 whether the message was given back.",
                "Try again later.",
            ),
            Self::NewsletterUnavailable => (
                "newsletter_unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "Newsletter unavailable",
                "The sign-up could not be kept safely, or the newsletter's provider did not confirm \
                 it, so it does not count as done.",
                "Try again later.",
            ),
            Self::NotFound => (
                "not_found",
                StatusCode::NOT_FOUND,
                "Not found",
                "There is nothing at this path. Paths match exactly: letter case and trailing \
                 slashes count.",
                "Look the path up in the documentation.",
            ),
            Self::OriginNotAllowed => (
                "origin_not_allowed",
                StatusCode::FORBIDDEN,
                "Origin not allowed",
                "The request comes from a page of an origin that may not call this endpoint, as \
                 its Origin header says.",
                "Call it from a program, or ask the operator to allow the page's origin.",
            ),
            Self::Overloaded => (
                "overloaded",
                StatusCode::SERVICE_UNAVAILABLE,
                "Too much at once",
                "The service has as much in hand as it can hold, or as much of one network as that \
                 may have.",
                "Try again later.",
            ),
            Self::PayloadTooLarge => (
                "payload_too_large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "Body too large",
                "The request's body is larger than any valid one for this endpoint.",
                "Send a smaller body.",
            ),
            Self::RateLimited => (
                "rate_limited",
                StatusCode::TOO_MANY_REQUESTS,
                "Quota exceeded",
                "Too many requests in a sliding window. violated-policies names the policies \
                 that refused; RateLimit-Policy tells their quotas.",
                "Wait for the number of seconds in Retry-After, then send the request again.",
            ),
            Self::RequestTimeout => (
                "request_timeout",
                StatusCode::REQUEST_TIMEOUT,
                "Body came too slowly",
                "The request's body did not arrive in time.",
                "Send the request again over a better connection.",
            ),
            Self::StoreUnavailable => (
                "store_unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "Store unavailable",
                "The service cannot keep or look up data at the moment.",
                "Try again later.",
            ),
            Self::UnsupportedApiVersion => (
                "unsupported_api_version",
                StatusCode::BAD_REQUEST,
                "Unknown version of the API",
                "The request asks for a version of the API in Service-API-Version, but not once for \
                 v1, the only one there is.",
                "Send Service-API-Version: v1, or leave the header out.",
            ),
            Self::UnsupportedCredentialType => (
                "unsupported_credential_type",
                StatusCode::BAD_REQUEST,
                "Credential type not supported",
                "A registered agent gets an access token. There is no other type of credential \
                 here.",
                "Ask for access_token, or leave requested_credential_type out. An API key can be \
                 had with POST /api/v1/keys.",
            ),
            Self::UnsupportedGrantType => (
                "unsupported_grant_type",
                StatusCode::BAD_REQUEST,
                "Grant type not supported",
                "The token endpoint knows one grant: client_credentials.",
                "Send grant_type=client_credentials with the client_id and client_secret of a \
                 registration.",
            ),
            Self::UnsupportedMediaType => (
                "unsupported_media_type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Media type not supported",
                "The request's Content-Type is not the one that the endpoint takes, or it is \
                 missing on a request from a page of another origin. The token and revocation \
                 endpoints take application/x-www-form-urlencoded, all others application/json.",
                "Send the body in the form that the endpoint takes, and say so in Content-Type.",
            ),
            Self::UnsupportedResponseType => (
                "unsupported_response_type",
                StatusCode::BAD_REQUEST,
                "Response type not supported",
                "Nobody can sign in here, so there is nothing to authorize, and nobody is sent \
                 anywhere.",
                "Register with POST /agent/auth: the answer holds an access token.",
            ),
            Self::ValidationFailed => (
                "validation_failed",
                StatusCode::BAD_REQUEST,
                "Request is not valid",
                "The body can be read, but some members of it, or parameters of a form, are \
                 wrong. errors names each of them by JSON Pointer (RFC 6901), says what is wrong, \
                 and gives a code: required, type, length, format, enum, unknown_member or \
                 duplicate_member.",
                "Correct the members listed in errors and send the request again.",
            ),
            Self::VerifiedEmailNotEnabled => (
                "verified_email_not_enabled",
                StatusCode::BAD_REQUEST,
                "Registration method not enabled",
                "Agents register anonymously here; e-mail addresses are not verified. No mail was \
                 sent.",
                "Send {\"type\":\"anonymous\"} instead.",
            ),
        };
        Kind {
            name,
            status,
            title,
            meaning,
            resolution,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_listed_once_and_in_order() {
        let names: Vec<_> = Code::ALL.iter().map(|code| code.kind().name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        for code in Code::ALL {
            assert!(code.kind().status.as_u16() >= 400);
        }
    }
}
