//! The table of problem codes. It makes the answers and the pages under `/problems/`.

use hyper::StatusCode;

/// The texts and status that all problems with one code share.
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
    /// The explanation, in Markdown.
    pub meaning: &'static str,
    /// Advice for the client, in Markdown.
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
        meaning: "This visitor has used all free messages. The quota is a sliding window: each \
         message stops counting one window after it was sent.",
        resolution: "Wait the number of seconds in `Retry-After`, then send the message again.",
    }
    ClaimNotEnabled "claim_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Claiming is not enabled",
        meaning: "A registration cannot be claimed: the service has no accounts to link it to.",
        resolution: "Keep using the registration. It does not need to be claimed.",
    }
    ConflictingCredentials "conflicting_credentials" BAD_REQUEST {
        title: "Conflicting credentials",
        meaning: "The request has more than one credential, and they differ, so the service \
         cannot tell who is calling.",
        resolution: "Send one credential, as `Authorization: Bearer` or as `X-API-Key`, or none.",
    }
    HandlerTimeout "handler_timeout" SERVICE_UNAVAILABLE {
        title: "Response took too long",
        meaning: "The service did not finish the request in time. The request may still take \
         effect.",
        resolution: "Try again later.",
    }
    IdentityAssertionNotEnabled "identity_assertion_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Registration method not enabled",
        meaning: "Agents register anonymously here; identity assertions are not accepted. The \
         assertion was not read.",
        resolution: "Send `{\"type\":\"anonymous\"}` instead.",
    }
    InternalError "internal_error" INTERNAL_SERVER_ERROR {
        title: "Internal error",
        meaning: "Something went wrong inside the service. The request ID, in `instance` and in \
         `X-Request-Id`, leads the operator to the log line.",
        resolution: "Try again later. If it happens again, send the operator the request ID.",
    }
    InvalidClient "invalid_client" UNAUTHORIZED, own_oauth_error {
        title: "Invalid client",
        meaning: "The client ID or the client secret is missing, wrong, expired or revoked.",
        resolution: "Send the `client_id` and `client_secret` of one registration, or register again \
         with `POST /agent/auth`.",
    }
    InvalidScope "invalid_scope" BAD_REQUEST, own_oauth_error {
        title: "Invalid scope",
        meaning: "The requested scope does not exist. The only scope is `public`.",
        resolution: "Request the scope `public`, or omit `scope`.",
    }
    InvalidToken "invalid_token" UNAUTHORIZED, own_oauth_error {
        title: "Invalid credential",
        meaning: "The credential in the request is malformed, unknown, expired or revoked. No \
         endpoint requires one.",
        resolution: "Omit the credential, create a new key with `POST /api/v1/keys`, or register again \
         with `POST /agent/auth`.",
    }
    IssuerNotEnabled "issuer_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Issuer not enabled",
        meaning: "The service trusts no identity provider, so none can revoke a credential. The \
         logout token was not read.",
        resolution: "Revoke the credential itself: send it as `token` in a form.",
    }
    LimiterUnavailable "limiter_unavailable" SERVICE_UNAVAILABLE {
        title: "Rate limiter unavailable",
        meaning: "The service cannot count requests at the moment, so it does not serve any.",
        resolution: "Try again later.",
    }
    MalformedBody "malformed_body" BAD_REQUEST {
        title: "Unreadable body",
        meaning: "The request body ended early, or its framing is invalid.",
        resolution: "Send the complete body, with the correct `Content-Length` or chunked encoding.",
    }
    MalformedHead "malformed_head" BAD_REQUEST {
        title: "Invalid request head",
        meaning: "The `Host` header is missing, repeated or not a host name, or differs from HTTP/2's \
         `:authority`; or the transfer coding is not `chunked`; or there are more than 100 headers.",
        resolution: "Send one `Host`, such as `example.com` or `example.com:8080`, send the body with \
         `Content-Length` or as `chunked`, and send at most 100 headers.",
    }
    MalformedJson "malformed_json" BAD_REQUEST {
        title: "Body is not JSON",
        meaning: "The request body is missing, is not UTF-8, or is not a single JSON value.",
        resolution: "Send one JSON object, encoded in UTF-8.",
    }
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED {
        title: "Method not allowed",
        meaning: "The path exists, but does not support this method.",
        resolution: "Use one of the methods in the `Allow` header.",
    }
    ModelUnavailable "model_unavailable" SERVICE_UNAVAILABLE {
        title: "Assistant unavailable",
        meaning: "The model behind the assistant did not respond. The rate-limit headers show \
         whether the message still counts.",
        resolution: "Try again later.",
    }
    NetworkBlocked "network_blocked" FORBIDDEN {
        title: "Network blocked",
        meaning: "The operator has blocked the network this request comes from. Nothing was done, and \
         nothing was counted.",
        resolution: "If you think this is a mistake, contact the operator outside this API.",
    }
    NewsletterUnavailable "newsletter_unavailable" SERVICE_UNAVAILABLE {
        title: "Newsletter unavailable",
        meaning: "The sign-up could not be stored safely, or the newsletter's provider did not confirm \
         it, so it is not complete.",
        resolution: "Try again later.",
    }
    NotFound "not_found" NOT_FOUND {
        title: "Not found",
        meaning: "This path does not exist. Paths must match exactly, including letter case and \
         trailing slashes.",
        resolution: "Check the path in the documentation.",
    }
    OriginNotAllowed "origin_not_allowed" FORBIDDEN {
        title: "Origin not allowed",
        meaning: "The request comes from a web page whose origin, according to the `Origin` header, \
         may not call this endpoint.",
        resolution: "Call it from a program, or ask the operator to allow the page's origin.",
    }
    Overloaded "overloaded" SERVICE_UNAVAILABLE {
        title: "Overloaded",
        meaning: "The memory for request bodies is full, overall or for your network.",
        resolution: "Try again later.",
    }
    PayloadTooLarge "payload_too_large" PAYLOAD_TOO_LARGE {
        title: "Body too large",
        meaning: "The request body is larger than any valid body for this endpoint.",
        resolution: "Send a smaller body.",
    }
    RateLimited "rate_limited" TOO_MANY_REQUESTS {
        title: "Quota exceeded",
        meaning: "Too many requests in a sliding window. `violated-policies` lists the policies \
         that refused the request; `RateLimit-Policy` shows their quotas.",
        resolution: "Wait the number of seconds in `Retry-After`, then send the request again.",
    }
    RequestTimeout "request_timeout" REQUEST_TIMEOUT {
        title: "Body sent too slowly",
        meaning: "The request body did not arrive in time.",
        resolution: "Send the request again over a better connection.",
    }
    Stopping "stopping" SERVICE_UNAVAILABLE {
        title: "Shutting down",
        meaning: "The service is shutting down. It still responds to requests.",
        resolution: "Send further requests to another node, or try again later.",
    }
    StoreUnavailable "store_unavailable" SERVICE_UNAVAILABLE {
        title: "Store unavailable",
        meaning: "The service cannot store or look up data at the moment.",
        resolution: "Try again later.",
    }
    UnsupportedApiVersion "unsupported_api_version" BAD_REQUEST {
        title: "Unsupported API version",
        meaning: "The `Service-API-Version` header is repeated, or its value is not `v1`, the only \
         version.",
        resolution: "Send `Service-API-Version: v1`, or omit the header.",
    }
    UnsupportedCredentialType "unsupported_credential_type" BAD_REQUEST, own_oauth_error {
        title: "Credential type not supported",
        meaning: "Registered agents get an access token. No other type of credential is available.",
        resolution: "Request `access_token`, or omit `requested_credential_type`. For an API key, use \
         `POST /api/v1/keys`.",
    }
    UnsupportedGrantType "unsupported_grant_type" BAD_REQUEST, own_oauth_error {
        title: "Grant type not supported",
        meaning: "The token endpoint supports one grant: `client_credentials`.",
        resolution: "Send `grant_type=client_credentials` with the `client_id` and `client_secret` of \
         a registration.",
    }
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE {
        title: "Media type not supported",
        meaning: "The `Content-Type` is not the one this endpoint expects, or it is missing on a \
         request from a page of another origin. The token and revocation endpoints expect \
         `application/x-www-form-urlencoded`, all others `application/json`.",
        resolution: "Send the body in the format the endpoint expects, with a matching `Content-Type`.",
    }
    UnsupportedResponseType "unsupported_response_type" BAD_REQUEST, own_oauth_error {
        title: "Response type not supported",
        meaning: "Nobody can sign in here, so there is nothing to authorize. This endpoint never \
         redirects.",
        resolution: "Register with `POST /agent/auth`; the response contains an access token.",
    }
    ValidationFailed "validation_failed" BAD_REQUEST {
        title: "Invalid request",
        meaning: "The request was understood, but some fields are invalid. `errors` lists each of them \
         by JSON Pointer (RFC 6901), with an explanation and a code: `required`, `type`, `length`, \
         `format`, `enum`, `unknown_member` or `duplicate_member`.",
        resolution: "Correct the fields listed in `errors` and send the request again.",
    }
    VerifiedEmailNotEnabled "verified_email_not_enabled" BAD_REQUEST, own_oauth_error {
        title: "Registration method not enabled",
        meaning: "Agents register anonymously here; email addresses are not verified. No email was \
         sent.",
        resolution: "Send `{\"type\":\"anonymous\"}` instead.",
    }
    WorkerFailing "worker_failing" SERVICE_UNAVAILABLE {
        title: "Background work is failing",
        meaning: "Background work, such as sending confirmation emails or erasing contacts, has been \
         failing for ten minutes. Requests are still served.",
        resolution: "Operators: check the log. Clients do not need to do anything.",
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
