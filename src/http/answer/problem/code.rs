//! The table of problem codes. It makes the answers and the pages under `/problems/`.

use hyper::StatusCode;

/// What is true of every problem with one code.
#[derive(Clone, Copy, Debug)]
pub struct ProblemKind {
    /// The code on the wire and in the page's path.
    pub name: &'static str,
    /// The status it comes with.
    pub status: StatusCode,
    /// The code in the words of RFC 6749 and of the auth.md proposal (v0.1), which know fewer.
    /// `temporarily_unavailable` and `server_error` are RFC 6749's for another endpoint (section
    /// 4.1.2.1); `rate_limited` is auth.md's.
    pub oauth: &'static str,
    /// A short title that never varies.
    pub title: &'static str,
    /// What happened, for the page.
    pub meaning: &'static str,
    /// What the client can do.
    pub resolution: &'static str,
}

/// What OAuth's clients are told of a status whose code they do not know.
const fn oauth(status: StatusCode) -> &'static str {
    match status.as_u16() {
        503 => "temporarily_unavailable",
        500 => "server_error",
        429 => "rate_limited",
        _ => "invalid_request",
    }
}

macro_rules! codes {
    (@oauth $name:literal $status:ident own_oauth_error) => { $name };
    (@oauth $name:literal $status:ident) => { oauth(StatusCode::$status) };
    ($($code:ident $name:literal $status:ident $(, $own_oauth_error:ident)? {
        title: $title:literal,
        meaning: $meaning:literal,
        resolution: $resolution:literal,
    })*) => {
        /// The machine-readable name of a kind of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the table says what each means")]
        pub enum Code {
            $($code,)*
        }

        impl Code {
            /// Every code, in the order of their names.
            pub const ALL: [Self; [$(Self::$code),*].len()] = [$(Self::$code),*];

            /// What is true of every problem with this code.
            pub const fn kind(self) -> ProblemKind {
                match self {
                    $(Self::$code => ProblemKind {
                        name: $name,
                        status: StatusCode::$status,
                        oauth: codes!(@oauth $name $status $($own_oauth_error)?),
                        title: $title,
                        meaning: $meaning,
                        resolution: $resolution,
                    },)*
                }
            }
        }
    };
}

codes! {
    AssistantQuotaExhausted "assistant_quota_exhausted" TOO_MANY_REQUESTS {
        title: "Quota exceeded",
        meaning: "All free messages of this visitor are used up. The quota is a sliding window: \
         each message is given back one window after it was sent.",
        resolution: "Wait for the number of seconds in Retry-After, then send the message again.",
    }
    ClaimNotEnabled "claim_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Claiming is not enabled",
        meaning: "A registration cannot be claimed: the service has no accounts to bind it to.",
        resolution: "Use the registration as it is; nothing here needs more.",
    }
    ConflictingCredentials "conflicting_credentials" BAD_REQUEST {
        title: "Two different credentials",
        meaning: "The request presents more than one credential, and they differ, so it is not \
         clear who is asking.",
        resolution: "Send one credential, as Authorization: Bearer or as X-API-Key, or none.",
    }
    HandlerTimeout "handler_timeout" SERVICE_UNAVAILABLE {
        title: "The answer took too long",
        meaning: "The service gave up waiting for its own answer. The request may still take \
         effect.",
        resolution: "Try again later.",
    }
    IdentityAssertionNotEnabled "identity_assertion_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Registration method not enabled",
        meaning: "Agents register anonymously here; identity assertions are not accepted. The \
         assertion was not read.",
        resolution: "Send {\"type\":\"anonymous\"} instead.",
    }
    InternalError "internal_error" INTERNAL_SERVER_ERROR {
        title: "Internal error",
        meaning: "The service has a fault. The request's id, in instance and in X-Request-Id, \
         leads the operator to the log line.",
        resolution: "Try again later; if it happens again, tell the operator the request's id.",
    }
    InvalidClient "invalid_client" UNAUTHORIZED, own_oauth_error {
        title: "Client not valid",
        meaning: "The client id or the client secret is missing, wrong, expired or revoked.",
        resolution: "Send the client_id and client_secret of one registration, or register again with \
         POST /agent/auth.",
    }
    InvalidScope "invalid_scope" BAD_REQUEST, own_oauth_error {
        title: "Scope not valid",
        meaning: "A scope was asked for that does not exist here. There is one: public.",
        resolution: "Ask for the scope public, or leave scope out.",
    }
    InvalidToken "invalid_token" UNAUTHORIZED, own_oauth_error {
        title: "Credential not valid",
        meaning: "A credential was presented, but it is malformed, unknown, expired or revoked. \
         No endpoint needs one.",
        resolution: "Leave the credential out, mint a new key with POST /api/v1/keys, or register \
         again with POST /agent/auth.",
    }
    IssuerNotEnabled "issuer_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Issuer not enabled",
        meaning: "No identity provider is trusted here, so none can revoke anything. The logout \
         token was not read.",
        resolution: "Whoever holds a credential revokes it: send it as token in a form.",
    }
    LimiterUnavailable "limiter_unavailable" SERVICE_UNAVAILABLE {
        title: "Rate limiter unavailable",
        meaning: "The service cannot count requests at the moment, so it serves none.",
        resolution: "Try again later.",
    }
    MalformedBody "malformed_body" BAD_REQUEST {
        title: "Body not readable",
        meaning: "The request's body broke off or its framing is wrong.",
        resolution: "Send the whole body with a right Content-Length or chunked encoding.",
    }
    MalformedHead "malformed_head" BAD_REQUEST {
        title: "Head of the request not valid",
        meaning: "The Host of the request is missing, there twice or no name of a host, it differs \
         from HTTP/2's :authority, there is another transfer coding than chunked, or there are more than 100 \
         headers.",
        resolution: "Send one Host, such as example.com or example.com:8080, the body with \
         Content-Length or as chunked, and at most 100 headers.",
    }
    MalformedJson "malformed_json" BAD_REQUEST {
        title: "Body is not JSON",
        meaning: "The request's body is missing, is not UTF-8, or is not one JSON value.",
        resolution: "Send one JSON object, encoded in UTF-8.",
    }
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED {
        title: "Method not allowed",
        meaning: "The path exists, but not with this method.",
        resolution: "Use one of the methods in the Allow header.",
    }
    ModelUnavailable "model_unavailable" SERVICE_UNAVAILABLE {
        title: "Assistant unavailable",
        meaning: "The model behind the assistant gave no answer. The rate-limit headers show \
         whether the message was given back.",
        resolution: "Try again later.",
    }
    NetworkBlocked "network_blocked" FORBIDDEN {
        title: "Network blocked",
        meaning: "The operator has blocked the network that the request comes from. Nothing was done, and \
        nothing was counted.",
        resolution: "Ask the operator, by another way than this API, if that is a mistake.",
    }
    NewsletterUnavailable "newsletter_unavailable" SERVICE_UNAVAILABLE {
        title: "Newsletter unavailable",
        meaning: "The sign-up could not be kept safely, or the newsletter's provider did not confirm \
         it, so it does not count as done.",
        resolution: "Try again later.",
    }
    NotFound "not_found" NOT_FOUND {
        title: "Not found",
        meaning: "There is nothing at this path. Paths match exactly: letter case and trailing \
         slashes count.",
        resolution: "Look the path up in the documentation.",
    }
    OriginNotAllowed "origin_not_allowed" FORBIDDEN {
        title: "Origin not allowed",
        meaning: "The request comes from a page of an origin that may not call this endpoint, as \
         its Origin header says.",
        resolution: "Call it from a program, or ask the operator to allow the page's origin.",
    }
    Overloaded "overloaded" SERVICE_UNAVAILABLE {
        title: "Too much at once",
        meaning: "The memory for request bodies is used up, either in all or for your network.",
        resolution: "Try again later.",
    }
    PayloadTooLarge "payload_too_large" PAYLOAD_TOO_LARGE {
        title: "Body too large",
        meaning: "The request's body is larger than any valid one for this endpoint.",
        resolution: "Send a smaller body.",
    }
    RateLimited "rate_limited" TOO_MANY_REQUESTS {
        title: "Quota exceeded",
        meaning: "Too many requests in a sliding window. violated-policies names the policies \
         that refused; RateLimit-Policy tells their quotas.",
        resolution: "Wait for the number of seconds in Retry-After, then send the request again.",
    }
    RequestTimeout "request_timeout" REQUEST_TIMEOUT {
        title: "Body came too slowly",
        meaning: "The request's body did not arrive in time.",
        resolution: "Send the request again over a better connection.",
    }
    Stopping "stopping" SERVICE_UNAVAILABLE {
        title: "About to stop",
        meaning: "The service has been asked to stop. It still answers requests.",
        resolution: "Send further requests to another node, or try again later.",
    }
    StoreUnavailable "store_unavailable" SERVICE_UNAVAILABLE {
        title: "Store unavailable",
        meaning: "The service cannot keep or look up data at the moment.",
        resolution: "Try again later.",
    }
    UnsupportedApiVersion "unsupported_api_version" BAD_REQUEST {
        title: "Unknown version of the API",
        meaning: "The request asks for a version of the API in Service-API-Version, but not once for \
         v1, the only one there is.",
        resolution: "Send Service-API-Version: v1, or leave the header out.",
    }
    UnsupportedCredentialType "unsupported_credential_type" BAD_REQUEST, own_oauth_error {
        title: "Credential type not supported",
        meaning: "A registered agent gets an access token. There is no other type of credential \
         here.",
        resolution: "Ask for access_token, or leave requested_credential_type out. An API key can be \
         had with POST /api/v1/keys.",
    }
    UnsupportedGrantType "unsupported_grant_type" BAD_REQUEST, own_oauth_error {
        title: "Grant type not supported",
        meaning: "The token endpoint knows one grant: client_credentials.",
        resolution: "Send grant_type=client_credentials with the client_id and client_secret of a \
         registration.",
    }
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE {
        title: "Media type not supported",
        meaning: "The request's Content-Type is not the one that the endpoint takes, or it is \
         missing on a request from a page of another origin. The token and revocation \
         endpoints take application/x-www-form-urlencoded, all others application/json.",
        resolution: "Send the body in the form that the endpoint takes, and say so in Content-Type.",
    }
    UnsupportedResponseType "unsupported_response_type" BAD_REQUEST, own_oauth_error {
        title: "Response type not supported",
        meaning: "Nobody can sign in here, so there is nothing to authorize, and nobody is sent \
         anywhere.",
        resolution: "Register with POST /agent/auth: the answer holds an access token.",
    }
    ValidationFailed "validation_failed" BAD_REQUEST {
        title: "Request is not valid",
        meaning: "The body can be read, but some members of it, or parameters of a form, are \
         wrong. errors names each of them by JSON Pointer (RFC 6901), says what is wrong, \
         and gives a code: required, type, length, format, enum, unknown_member or \
         duplicate_member.",
        resolution: "Correct the members listed in errors and send the request again.",
    }
    VerifiedEmailNotEnabled "verified_email_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Registration method not enabled",
        meaning: "Agents register anonymously here; e-mail addresses are not verified. No mail was \
         sent.",
        resolution: "Send {\"type\":\"anonymous\"} instead.",
    }
    WorkerFailing "worker_failing" SERVICE_UNAVAILABLE {
        title: "Deliveries or erasures are not made",
        meaning: "A part of the service that works on what was promised before, such as confirmation emails, has \
        failed for ten minutes. Requests are still answered.",
        resolution: "Operators: see the log. Clients need not do anything.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_every_status_can_name_a_component_of_the_description() {
        for code in Code::ALL {
            let reason = code.kind().status.canonical_reason().unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == ' ';
            assert!(
                !reason.is_empty() && reason.chars().all(is_name),
                "{code:?}: data/parts/openapi.yaml calls a response by the words of its status, and \
                 {reason:?} has more than letters: name another status in \
                 src/http/answer/problem/code.rs"
            );
        }
    }

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
