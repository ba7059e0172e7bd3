//! Problem details (RFC 9457): what the client learns about a failure.

mod code;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;

use crate::domain::Decision;
use crate::ports::LimiterError;

use crate::http::{Area, RequestId};

pub use code::{Code, PAGES};

/// The type that draft-ietf-httpapi-ratelimit-headers-11, section 5, registers for 429.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// One thing wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Invalid {
    /// Where: a JSON Pointer as a URI fragment (RFC 6901, section 6), such as `#/messages/0/role`.
    pub pointer: String,
    /// What, in words.
    pub detail: String,
    /// What, for machines.
    pub code: &'static str,
}

/// A request that failed.
#[derive(Debug)]
pub struct Problem {
    pub(crate) code: Code,
    pub(crate) detail: String,
    pub(crate) errors: Vec<Invalid>,
    /// The standings of the policies that the handler asked.
    pub(crate) decision: Box<Decision>,
    /// Headers of its own.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The parameters of a 401's challenge after `resource_metadata`.
    pub(crate) further_challenge: Option<&'static str>,
    /// For the log only.
    pub(crate) cause: Option<Box<str>>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            decision: Box::default(),
            headers: Vec::new(),
            further_challenge: None,
            cause: None,
        }
    }

    /// A problem whose detail is the meaning of its code.
    pub(crate) fn of(code: Code) -> Self {
        Self::new(code, plain(code.page().meaning))
    }

    /// A fault of the service itself.
    pub(crate) fn fault(cause: impl ToString) -> Self {
        Self::of(Code::InternalError).because(cause)
    }

    pub(crate) fn invalid(errors: Vec<Invalid>) -> Self {
        let detail = match errors.len() {
            1 => "1 field is invalid.".to_owned(),
            n => format!("{n} fields are invalid."),
        };
        Self {
            errors,
            ..Self::new(Code::ValidationFailed, detail)
        }
    }

    /// A refusal by the violated policies of `decision`.
    pub(crate) fn refused(code: Code, decision: &Decision) -> Self {
        let detail = decision.binding().map_or_else(String::new, |standing| {
            format!(
                "The policy \"{}\" allows {} in {} seconds {}. Wait {} seconds.",
                standing.policy.as_str(),
                standing.quota.count(),
                standing.quota.window_s(),
                standing.policy.counted_by().as_str(),
                standing.reset_s()
            )
        });
        Self::new(code, detail)
    }

    /// A refusal by another policy than the assistant's own.
    pub(crate) fn rate_limited(decision: Decision) -> Self {
        Self::refused(Code::RateLimited, &decision).with_decision(decision)
    }

    pub(crate) fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = Box::new(decision);
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn with_challenge(mut self, challenge: &'static str) -> Self {
        self.further_challenge = Some(challenge);
        self
    }

    /// The challenge of a 401. The URL of the metadata comes first (RFC 9728, section 5.1).
    pub(crate) fn challenge(&self, base_url: &str) -> String {
        let metadata = format!("{base_url}/.well-known/oauth-protected-resource");
        let further = self.further_challenge.map(|further| format!(", {further}"));
        let further = further.unwrap_or_default();
        format!("Bearer resource_metadata=\"{metadata}\"{further}")
    }

    pub(crate) fn because(mut self, cause: impl ToString) -> Self {
        self.cause = Some(cause.to_string().into_boxed_str());
        self
    }

    /// The body on the wire, for the request `id` of a path in `area`.
    pub(crate) fn body(
        &self,
        base_url: &str,
        id: RequestId,
        decision: &Decision,
        area: Area,
    ) -> Vec<u8> {
        let (page, status) = (self.code.page(), self.code.status());
        let is_refusal = status == StatusCode::TOO_MANY_REQUESTS;
        let is_for_oauth = area == Area::OAuth;
        let details = ProblemDetails {
            r#type: if is_refusal {
                QUOTA_EXCEEDED.to_owned()
            } else {
                format!("{base_url}/problems/{}", page.code)
            },
            title: page.title,
            status: status.as_u16(),
            detail: &self.detail,
            code: page.code,
            resolution: plain(page.resolution),
            instance: format!("urn:uuid:{}", id.0),
            errors: &self.errors,
            violated_policies: decision
                .violated()
                .map(|standing| standing.policy.as_str())
                .collect(),
            error: is_for_oauth.then_some(page.oauth),
            error_description: is_for_oauth.then(|| self.detail.chars().map(describable).collect()),
        };
        serde_json::to_vec(&details).unwrap_or_default()
    }
}

impl From<LimiterError> for Problem {
    fn from(error: LimiterError) -> Self {
        Self::of(Code::LimiterUnavailable).because(error)
    }
}

#[derive(Serialize)]
struct ProblemDetails<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    resolution: String,
    instance: String,
    #[serde(skip_serializing_if = "<[Invalid]>::is_empty")]
    errors: &'a [Invalid],
    /// The draft's spelling, hyphen included.
    #[serde(rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    violated_policies: Vec<&'a str>,
    /// The members of RFC 6749, section 5.2, for OAuth clients and agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_description: Option<String>,
}

/// A text of the table without its only Markdown.
fn plain(markdown: &str) -> String {
    markdown.replace('`', "")
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
    use crate::http::request::request_id::RequestIds;

    fn id() -> RequestId {
        RequestIds::new([0; 16]).of_connection().next()
    }

    fn body(problem: &Problem) -> Vec<u8> {
        problem.body("", id(), &Decision::default(), Area::OAuth)
    }

    /// `error` and `error_description` of an answer.
    fn members(problem: &Problem) -> (String, String) {
        let body: serde_json::Value = serde_json::from_slice(&body(problem)).unwrap();
        let member = |name: &str| body[name].as_str().unwrap().to_owned();
        (member("error"), member("error_description"))
    }

    #[test]
    fn descriptions_have_the_characters_that_clients_expect() {
        let detail = "The \"agents\" policy: \\ é\n~";
        let (error, description) = members(&Problem::new(Code::RateLimited, detail));
        assert_eq!(error, "rate_limited");
        assert_eq!(description, "The 'agents' policy: ? ??~");
    }

    #[test]
    fn no_markdown_is_sent() {
        for code in Code::ALL {
            let problem = Problem::of(code);
            assert!(!body(&problem).contains(&b'`'), "{code:?}");
        }
    }

    #[test]
    fn every_code_has_an_error() {
        for code in Code::ALL {
            let (error, description) = members(&Problem::of(code));
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(error.chars().all(is_name), "{code:?}");
            assert!(!description.contains('?'), "{code:?}");
            if code.as_str().ends_with("_not_enabled") {
                assert_eq!(error, code.as_str());
            }
        }
    }
}
