//! Where requests lead: the table of paths, and the way through it.
//!
//! Paths match exactly: a trailing slash, a doubled slash or another case is another path.

use hyper::Method;
use hyper::header::{ALLOW, HeaderValue};

use crate::domain::deprecation::Deprecation;
use crate::site::Deprecated;

use super::problem::{Code, Problem};
use super::route::Endpoint;

/// Every path with operations of its own: what GET does there, and what POST does. HEAD follows GET.
const TABLE: [(&str, Option<Endpoint>, Option<Endpoint>); 14] = [
    ("/api/v1/health", Some(Endpoint::Health), None),
    (
        "/api/v1/keys",
        Some(Endpoint::DescribeKeys),
        Some(Endpoint::IssueKey),
    ),
    (
        "/api/v1/sandbox/echo",
        Some(Endpoint::DescribeEcho),
        Some(Endpoint::Echo),
    ),
    ("/api/v1/newsletter", None, Some(Endpoint::Subscribe)),
    ("/api/newsletter", None, Some(Endpoint::Subscribe)),
    (
        "/api/v1/assistant/chat",
        Some(Endpoint::Quota),
        Some(Endpoint::Chat),
    ),
    (
        "/api/assistant/chat",
        Some(Endpoint::Quota),
        Some(Endpoint::Chat),
    ),
    ("/agent/auth", None, Some(Endpoint::RegisterAgent)),
    ("/agent/auth/claim", None, Some(Endpoint::Claim)),
    ("/agent/auth/claim/complete", None, Some(Endpoint::Claim)),
    ("/agent/auth/revoke", None, Some(Endpoint::Revoke)),
    ("/oauth2/token", None, Some(Endpoint::Token)),
    ("/oauth2/authorize", Some(Endpoint::Authorize), None),
    ("/mcp", None, Some(Endpoint::Mcp)),
];

/// One operation as it is found under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub endpoint: Endpoint,
    /// The notice that it will be removed, if that was given.
    pub deprecation: Option<Deprecation>,
}

/// Where a request leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To an operation.
    Found(Operation),
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
    pub fn is_document(&self) -> bool {
        match self {
            Self::WrongMethod { is_document, .. } => *is_document,
            Self::Found(_) | Self::Unknown => self.leads_to(Endpoint::Document),
        }
    }

    /// Whether the request is one for `endpoint`.
    #[must_use]
    pub fn leads_to(&self, endpoint: Endpoint) -> bool {
        matches!(self, Self::Found(operation) if operation.endpoint == endpoint)
    }

    /// The endpoint.
    ///
    /// # Errors
    /// A problem when there is none.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, Problem> {
        match self {
            Self::Found(operation) => Ok(operation.endpoint),
            Self::WrongMethod { allow, .. } => {
                let allow = HeaderValue::from_static(allow);
                Err(Problem::of(Code::MethodNotAllowed).with_header(ALLOW, allow))
            }
            Self::Unknown => Err(Problem::of(Code::NotFound)),
        }
    }

    /// The notice that what the request leads to will be removed, if that was given.
    #[must_use]
    pub const fn deprecation(&self) -> Option<Deprecation> {
        match self {
            Self::Found(operation) => operation.deprecation,
            Self::WrongMethod { .. } | Self::Unknown => None,
        }
    }
}

/// The operations of one path.
#[derive(Clone, Copy, Debug)]
struct Operations {
    get: Option<Operation>,
    post: Option<Operation>,
}

/// The table of paths. To give notice of an operation's removal, mark it in [`Routes::default`]:
/// its answers and its description follow.
#[derive(Clone, Debug)]
pub struct Routes(Vec<(&'static str, Operations)>);

impl Default for Routes {
    /// The table as it stands. Nothing in it is deprecated.
    fn default() -> Self {
        let rows = TABLE.into_iter().map(|(path, get, post)| {
            let get = get.map(Operation::from);
            let post = post.map(Operation::from);
            (path, Operations { get, post })
        });
        Self(rows.collect())
    }
}

impl Routes {
    /// The same table with one operation marked; nothing if it is not in it.
    #[must_use]
    pub fn deprecating(
        mut self,
        method: &Method,
        path: &str,
        deprecation: Deprecation,
    ) -> Option<Self> {
        let (_, operations) = self.0.iter_mut().find(|(known, _)| *known == path)?;
        let operation = match *method {
            Method::GET => operations.get.as_mut(),
            Method::POST => operations.post.as_mut(),
            _ => None,
        };
        operation?.deprecation = Some(deprecation);
        Some(self)
    }

    /// Every operation with its method and path, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Method, &'static str, Operation)> {
        self.0.iter().flat_map(|&(path, Operations { get, post })| {
            let get = get.map(|operation| (Method::GET, path, operation));
            let post = post.map(|operation| (Method::POST, path, operation));
            get.into_iter().chain(post)
        })
    }

    /// What the documents have to tell about operations that will be removed.
    #[must_use]
    pub fn deprecated(&self) -> Vec<Deprecated> {
        self.iter()
            .filter_map(|(method, path, operation)| {
                Some(Deprecated {
                    method: method.as_str().to_ascii_lowercase(),
                    path,
                    deprecation: operation.deprecation?,
                })
            })
            .collect()
    }

    /// Finds the operation for a method and a path; `is_document` knows the paths of the site.
    #[must_use]
    pub fn find(&self, method: &Method, path: &str, is_document: impl Fn(&str) -> bool) -> Route {
        let Some(operations) = self.operations(path, is_document) else {
            return Route::Unknown;
        };
        let found = match *method {
            Method::GET | Method::HEAD => operations.get,
            Method::POST => operations.post,
            _ => None,
        };
        match found {
            Some(operation) => Route::Found(operation),
            None => Route::WrongMethod {
                allow: match (operations.get, operations.post) {
                    (Some(_), Some(_)) => "GET, HEAD, POST",
                    (None, Some(_)) => "POST",
                    (Some(_) | None, None) => "GET, HEAD",
                },
                is_document: operations.get == Some(Operation::from(Endpoint::Document)),
            },
        }
    }

    fn operations(&self, path: &str, is_document: impl Fn(&str) -> bool) -> Option<Operations> {
        let row = self.0.iter().find(|(known, _)| *known == path);
        row.map(|(_, operations)| *operations).or_else(|| {
            is_document(path).then_some(Operations {
                get: Some(Operation::from(Endpoint::Document)),
                post: None,
            })
        })
    }
}

impl From<Endpoint> for Operation {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            deprecation: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    fn find(method: &Method, path: &str) -> Route {
        Routes::default().find(method, path, |path| path == "/docs")
    }

    #[test]
    fn every_operation_is_found_under_its_path() {
        let routes = Routes::default();
        for (method, path, operation) in routes.iter() {
            assert_eq!(find(&method, path), Route::Found(operation), "{path}");
            if method == Method::GET {
                assert_eq!(find(&Method::HEAD, path), Route::Found(operation), "{path}");
            }
            assert_eq!(operation.deprecation, None, "{path}");
        }
        assert_eq!(routes.iter().count(), 18);
    }

    #[test]
    fn documents_are_found_by_their_paths() {
        for method in [Method::GET, Method::HEAD] {
            let route = find(&method, "/docs");
            assert_eq!(route, Route::Found(Operation::from(Endpoint::Document)));
            assert!(route.is_document());
        }
        assert!(find(&Method::PUT, "/docs").is_document());
        assert!(!find(&Method::GET, "/api/v1/health").is_document());
        assert!(!find(&Method::PUT, "/api/v1/health").is_document());
        assert!(!find(&Method::GET, "/nothing").is_document());
    }

    #[test]
    fn other_methods_are_told_what_is_allowed() {
        for (method, path, allow) in [
            (Method::POST, "/api/v1/health", "GET, HEAD"),
            (Method::DELETE, "/api/v1/keys", "GET, HEAD, POST"),
            (Method::GET, "/api/newsletter", "POST"),
            (Method::OPTIONS, "/api/v1/newsletter", "POST"),
            (Method::GET, "/agent/auth", "POST"),
            (Method::POST, "/oauth2/authorize", "GET, HEAD"),
            (Method::GET, "/mcp", "POST"),
            (Method::DELETE, "/mcp", "POST"),
            (Method::PUT, "/docs", "GET, HEAD"),
        ] {
            let is_document = path == "/docs";
            assert_eq!(
                find(&method, path),
                Route::WrongMethod { allow, is_document }
            );
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
            "/agent",
            "/agent/auth/",
            "/oauth2",
            "/oauth2/Token",
            "/docs/",
            "/mcp/",
            "/MCP",
        ] {
            assert_eq!(find(&Method::GET, path), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn a_mark_is_on_one_method_of_one_path() {
        let deprecation = Deprecation::new(Timestamp::from_ms(0), 90, "/api/v1/assistant/chat");
        let path = "/api/assistant/chat";
        let marked = Routes::default()
            .deprecating(&Method::POST, path, deprecation)
            .unwrap();
        for (method, at, operation) in marked.iter() {
            let expected = (method == Method::POST && at == path).then_some(deprecation);
            assert_eq!(operation.deprecation, expected, "{method} {at}");
        }
        for (method, path) in [
            (Method::PUT, path),
            (Method::GET, "/api/newsletter"),
            (Method::GET, "/docs"),
        ] {
            let unmarked = Routes::default().deprecating(&method, path, deprecation);
            assert!(unmarked.is_none(), "{method} {path}");
        }
    }
}
