//! Routing: a pure function from method and path to an [`Endpoint`], and what is true of each.
//!
//! Paths match exactly: a trailing slash, a doubled slash or another case is another path.

use std::time::Duration;

use hyper::Method;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `GET /api/v1/health`
    Health,
    /// `POST /api/v1/keys`
    IssueKey,
    /// `GET /api/v1/keys`
    DescribeKeys,
    /// `POST /api/v1/sandbox/echo`
    Echo,
    /// `GET /api/v1/sandbox/echo`
    DescribeEcho,
    /// `POST /api/v1/newsletter`, `POST /api/newsletter`
    Subscribe,
    /// `POST /api/v1/assistant/chat`, `POST /api/assistant/chat`
    Chat,
    /// `GET /api/v1/assistant/chat`, `GET /api/assistant/chat`
    Quota,
    /// `GET` of a document of the site
    Document,
}

/// Where a request leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To an operation.
    Found(Endpoint),
    /// To a path that has operations, but none of this method.
    WrongMethod {
        /// The value of the `Allow` header.
        allow: &'static str,
        /// Whether the path is a document's.
        is_document: bool,
    },
    /// Nowhere.
    Unknown,
}

impl Route {
    /// Whether the path is a document's, whatever the method.
    #[must_use]
    pub const fn is_document(self) -> bool {
        matches!(
            self,
            Self::Found(Endpoint::Document)
                | Self::WrongMethod {
                    is_document: true,
                    ..
                }
        )
    }
}

/// The operations of one path.
struct Operations {
    get: Option<Endpoint>,
    post: Option<Endpoint>,
}

/// Finds the operation for a method and a path; `is_document` knows the paths of the site.
#[must_use]
pub fn route(method: &Method, path: &str, is_document: impl Fn(&str) -> bool) -> Route {
    let Some(operations) = operations(path, is_document) else {
        return Route::Unknown;
    };
    let found = match *method {
        Method::GET | Method::HEAD => operations.get,
        Method::POST => operations.post,
        _ => None,
    };
    match found {
        Some(endpoint) => Route::Found(endpoint),
        None => Route::WrongMethod {
            allow: match (operations.get, operations.post) {
                (Some(_), Some(_)) => "GET, HEAD, POST",
                (None, Some(_)) => "POST",
                (Some(_) | None, None) => "GET, HEAD",
            },
            is_document: operations.get == Some(Endpoint::Document),
        },
    }
}

fn operations(path: &str, is_document: impl Fn(&str) -> bool) -> Option<Operations> {
    let (get, post) = match path {
        "/api/v1/health" => (Some(Endpoint::Health), None),
        "/api/v1/keys" => (Some(Endpoint::DescribeKeys), Some(Endpoint::IssueKey)),
        "/api/v1/sandbox/echo" => (Some(Endpoint::DescribeEcho), Some(Endpoint::Echo)),
        "/api/v1/newsletter" | "/api/newsletter" => (None, Some(Endpoint::Subscribe)),
        "/api/v1/assistant/chat" | "/api/assistant/chat" => {
            (Some(Endpoint::Quota), Some(Endpoint::Chat))
        }
        _ if is_document(path) => (Some(Endpoint::Document), None),
        _ => return None,
    };
    Some(Operations { get, post })
}

/// Whether answers under this path always show the rate limits and are problems when they fail.
#[must_use]
pub fn is_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

impl Endpoint {
    /// Its name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::IssueKey => "keys.issue",
            Self::DescribeKeys => "keys.describe",
            Self::Echo => "sandbox.echo",
            Self::DescribeEcho => "sandbox.describe",
            Self::Subscribe => "newsletter.subscribe",
            Self::Chat => "assistant.chat",
            Self::Quota => "assistant.quota",
            Self::Document => "document",
        }
    }

    /// The largest request body, in bytes; nothing if a body means nothing here.
    ///
    /// A legal chat body is 12 times 2000 characters, each written as a pair of escapes: 288,000
    /// bytes before the braces.
    #[must_use]
    pub const fn body_bytes_max(self) -> Option<usize> {
        match self {
            Self::IssueKey | Self::Subscribe => Some(8 * 1024),
            Self::Echo => Some(64 * 1024),
            Self::Chat => Some(320 * 1024),
            Self::Health
            | Self::DescribeKeys
            | Self::DescribeEcho
            | Self::Quota
            | Self::Document => None,
        }
    }

    /// How long the operation may take once its body is there.
    #[must_use]
    pub const fn deadline(self) -> Duration {
        match self {
            // Longer than any model may take.
            Self::Chat => Duration::from_secs(330),
            Self::Health
            | Self::IssueKey
            | Self::DescribeKeys
            | Self::Echo
            | Self::DescribeEcho
            | Self::Subscribe
            | Self::Quota
            | Self::Document => Duration::from_secs(30),
        }
    }

    /// Whether every answer tells what is left of the chat quota.
    #[must_use]
    pub const fn shows_quota(self) -> bool {
        match self {
            Self::Chat | Self::Quota => true,
            Self::Health
            | Self::IssueKey
            | Self::DescribeKeys
            | Self::Echo
            | Self::DescribeEcho
            | Self::Subscribe
            | Self::Document => false,
        }
    }

    /// Whether the operation changes anything, so that it must finish once it has begun, even if
    /// the client has gone.
    #[must_use]
    pub const fn has_effects(self) -> bool {
        match self {
            Self::IssueKey | Self::Subscribe | Self::Chat => true,
            Self::Health
            | Self::DescribeKeys
            | Self::Echo
            | Self::DescribeEcho
            | Self::Quota
            | Self::Document => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, path: &str, expected: Route) {
        let is_document = |path: &str| path == "/docs";
        assert_eq!(
            route(&method, path, is_document),
            expected,
            "{method} {path}"
        );
    }

    #[test]
    fn every_operation_has_its_paths() {
        use Endpoint::{
            Chat, DescribeEcho, DescribeKeys, Document, Echo, Health, IssueKey, Quota, Subscribe,
        };
        for (method, path, endpoint) in [
            (Method::GET, "/api/v1/health", Health),
            (Method::HEAD, "/api/v1/health", Health),
            (Method::POST, "/api/v1/keys", IssueKey),
            (Method::GET, "/api/v1/keys", DescribeKeys),
            (Method::POST, "/api/v1/sandbox/echo", Echo),
            (Method::GET, "/api/v1/sandbox/echo", DescribeEcho),
            (Method::POST, "/api/v1/newsletter", Subscribe),
            (Method::POST, "/api/newsletter", Subscribe),
            (Method::POST, "/api/v1/assistant/chat", Chat),
            (Method::POST, "/api/assistant/chat", Chat),
            (Method::GET, "/api/v1/assistant/chat", Quota),
            (Method::GET, "/api/assistant/chat", Quota),
            (Method::GET, "/docs", Document),
        ] {
            check(method, path, Route::Found(endpoint));
        }
    }

    #[test]
    fn other_methods_are_told_what_is_allowed() {
        for (method, path, allow) in [
            (Method::POST, "/api/v1/health", "GET, HEAD"),
            (Method::DELETE, "/api/v1/keys", "GET, HEAD, POST"),
            (Method::GET, "/api/newsletter", "POST"),
            (Method::OPTIONS, "/api/v1/newsletter", "POST"),
            (Method::PUT, "/docs", "GET, HEAD"),
        ] {
            let is_document = path == "/docs";
            check(method, path, Route::WrongMethod { allow, is_document });
        }
    }

    #[test]
    fn other_spellings_lead_nowhere() {
        for path in [
            "",
            "*",
            "/api",
            "/api/",
            "/api/v1/health/",
            "/api//v1/health",
            "//api/v1/health",
            "/API/v1/health",
            "/api/v1/Health",
            "/api/v2/health",
            "/api/health",
            "/api/v1/%68ealth",
            "/docs/",
        ] {
            check(Method::GET, path, Route::Unknown);
        }
    }
}
