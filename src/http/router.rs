//! The table of endpoints, and the router built from it.
//!
//! To add an endpoint, declare it next to its handler (a new file of handlers is listed in
//! `handlers/mod.rs`), list it here, and describe it in `data/openapi.yaml`.

use std::collections::HashMap;
use std::time::Duration;

use fnv::FnvBuildHasher;
use hyper::body::Bytes;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{HeaderMap, Method};

use crate::site::tools::Tool;

use crate::http::endpoint::{TOKEN, Verb, later};
use crate::http::handlers::{
    agent, assistant, health, keys, links, newsletter, newsletter_form, pages, sandbox,
};
use crate::http::mcp;
use crate::http::{Area, BodyRule, Code, Endpoint, Problem, Reply, RequestContext, whole};

/// Every endpoint. Paths match exactly: a trailing slash, a doubled slash or another case is another path.
pub const ENDPOINTS: &[&Endpoint] = &[
    &health::HEALTH,
    &health::LIVEZ,
    &keys::DESCRIBE_KEYS,
    &keys::ISSUE_KEY,
    &sandbox::DESCRIBE_ECHO,
    &sandbox::ECHO,
    &newsletter::SUBSCRIBE,
    &newsletter_form::SHOW,
    &newsletter_form::SUBMIT,
    &newsletter_form::THANKS,
    &links::ASK_CONFIRM,
    &links::CONFIRM,
    &links::ASK_LEAVE,
    &links::LEAVE,
    &assistant::QUOTA,
    &assistant::CHAT,
    &agent::REGISTER,
    &agent::CLAIM,
    &agent::REVOKE,
    &agent::TOKEN,
    &agent::AUTHORIZE,
    &MCP,
    &pages::DOCUMENT,
];

/// Names of requests in the log: those of the endpoints, and of requests that reach none.
pub fn names() -> impl Iterator<Item = &'static str> {
    let others = [Route::UNKNOWN, Route::WRONG_METHOD, Route::PREFLIGHT];
    ENDPOINTS.iter().map(|endpoint| endpoint.name).chain(others)
}

/// The tools of the Model Context Protocol. It is declared here because it calls the other endpoints.
const MCP: Endpoint = Endpoint {
    name: "mcp",
    paths: &["/mcp"],
    // The arguments of a tool are bodies of other endpoints; the message around them is small.
    body: Some(BodyRule::json(320)),
    // Longer than that of any tool, which handles its own timeout.
    deadline: Duration::from_secs(335),
    checks_origin: true,
    ..Endpoint::post(|context, body| later(answer_message(context.clone(), body)))
};

async fn answer_message(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let run = |tool, arguments| run_tool(tool, &context, Bytes::from(arguments));
    let (toolbox, headers) = (&context.state().toolbox, context.headers());
    Ok(mcp::answer(toolbox, headers, &body, run).await)
}

/// Runs `tool` like its endpoint. `arguments`, a JSON object, replace the body; the response is JSON, a problem's too.
async fn run_tool(tool: Tool, context: &RequestContext, arguments: Bytes) -> Reply {
    let mut tools = ENDPOINTS.iter().filter_map(|row| Some((row, row.tool?)));
    let outcome = match tools.find(|(_, (found, _))| *found == tool) {
        Some((endpoint, (_, handler))) => {
            let handled = endpoint.run(handler, context, arguments);
            handled.outcome_within(endpoint.deadline).await
        }
        None => Err(Problem::fault("a tool without an endpoint")),
    };
    outcome.unwrap_or_else(|problem| {
        let base_url = &context.app().settings.base_url;
        let body = problem.body(base_url, context.id, &problem.decision, Area::Api);
        let status = problem.code.status();
        Reply::new(status, HeaderMap::new(), whole(body)).about(problem)
    })
}

/// The route of a method and a path.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Its name in the log.
    pub name: &'static str,
    /// `None` if the path or the method is unknown.
    pub endpoint: Option<&'static Endpoint>,
    /// The path of the endpoint or of the document, as in its table.
    pub path: Option<&'static str>,
    /// The value of `Allow`; empty for an unknown path.
    pub allow: &'static str,
    /// True if the path is a document's, whatever the method.
    pub is_document: bool,
}

impl Route {
    /// OPTIONS of a known path.
    pub(crate) const PREFLIGHT: &str = "preflight";
    pub(crate) const WRONG_METHOD: &str = "wrong_method";
    pub(crate) const UNKNOWN: &str = "unknown";

    pub(crate) fn is_preflight(&self) -> bool {
        self.name == Self::PREFLIGHT
    }

    /// The endpoint.
    ///
    /// # Errors
    /// A problem when there is none.
    pub(crate) fn found(&self) -> Result<&'static Endpoint, Problem> {
        match (self.endpoint, self.allow) {
            (Some(endpoint), _) => Ok(endpoint),
            (None, "") => Err(Problem::of(Code::NotFound)),
            (None, allow) => {
                let allow = HeaderValue::from_static(allow);
                Err(Problem::of(Code::MethodNotAllowed).with_header(ALLOW, allow))
            }
        }
    }
}

/// The endpoints of each path, and the documents.
#[derive(Debug)]
pub struct Router(HashMap<&'static str, Methods, FnvBuildHasher>);

/// The endpoints of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Methods {
    get: Option<&'static Endpoint>,
    post: Option<&'static Endpoint>,
}

impl Router {
    /// A router to these endpoints and documents. It lives as long as the process, and so do its paths.
    pub fn new<'a>(
        endpoints: &[&'static Endpoint],
        documents: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut by_path: HashMap<&'static str, Methods, _> = HashMap::default();
        let documents = documents.into_iter();
        let documents = documents.map(|path| (&*path.to_owned().leak(), &pages::DOCUMENT));
        let paths = |endpoint: &&'static Endpoint| {
            let endpoint = *endpoint;
            endpoint.paths.iter().map(move |path| (*path, endpoint))
        };
        for (path, endpoint) in documents.chain(endpoints.iter().flat_map(paths)) {
            let methods = by_path.entry(path).or_default();
            match endpoint.method {
                Verb::Get => methods.get = Some(endpoint),
                Verb::Post => methods.post = Some(endpoint),
            }
        }
        Self(by_path)
    }

    /// The route of a method and a path.
    pub fn find(&self, method: &Method, path: &str) -> Route {
        let of_token = || {
            let (begin, _token) = path
                .rsplit_once('/')
                .filter(|(_, token)| !token.is_empty())?;
            self.0.get_key_value(&*format!("{begin}/{TOKEN}"))
        };
        let found = self.0.get_key_value(path).or_else(of_token);
        let Methods { get, post } = found.map_or_else(Methods::default, |(_, methods)| *methods);
        let endpoint = match *method {
            Method::GET | Method::HEAD => get,
            Method::POST => post,
            _ => None,
        };
        let allow = match (get, post) {
            // The server as a whole (RFC 9110, section 9.3.7).
            (None, None) if path == "*" && *method == Method::OPTIONS => "GET, HEAD, POST",
            (None, None) => "",
            (Some(_), Some(_)) => "GET, HEAD, POST",
            (None, Some(_)) => "POST",
            (Some(_), None) => "GET, HEAD",
        };
        Route {
            name: match endpoint {
                Some(endpoint) => endpoint.name,
                None if allow.is_empty() => Route::UNKNOWN,
                None if *method == Method::OPTIONS => Route::PREFLIGHT,
                None => Route::WRONG_METHOD,
            },
            endpoint,
            path: endpoint.and(found).map(|(path, _)| *path),
            allow,
            is_document: get.is_some_and(|endpoint| endpoint.is_document),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name of the endpoint found, and true if it is a document.
    fn found(method: &Method, path: &str) -> (&'static str, bool) {
        let route = Router::new(ENDPOINTS, ["/docs"]).find(method, path);
        (route.name, route.is_document)
    }

    #[test]
    fn every_endpoint_has_a_name_and_paths_unless_it_is_the_document() {
        for endpoint in ENDPOINTS {
            assert!(!endpoint.name.is_empty(), "{:?}", endpoint.paths);
            let has_no_paths = endpoint.paths.is_empty();
            assert_eq!(has_no_paths, endpoint.is_document, "{}", endpoint.name);
        }
        let documents = ENDPOINTS.iter().filter(|row| row.is_document);
        assert!(documents.map(|row| row.name).eq([pages::DOCUMENT.name]));
    }

    #[test]
    fn every_endpoint_is_found_under_its_paths() {
        for endpoint in ENDPOINTS {
            for path in endpoint.paths {
                let method = Method::try_from(endpoint.method.as_str()).unwrap();
                assert_eq!(found(&method, path), (endpoint.name, false), "{path}");
                if method == Method::GET {
                    assert_eq!(found(&Method::HEAD, path), (endpoint.name, false), "{path}");
                }
            }
        }
    }

    #[test]
    fn documents_are_found_by_their_paths() {
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(found(&method, "/docs"), ("document", true));
        }
        assert_eq!(found(&Method::PUT, "/docs"), ("wrong_method", true));
        for method in [Method::GET, Method::PUT] {
            assert!(!found(&method, "/api/v1/health").1);
        }
    }

    #[test]
    fn the_tools_are_those_that_the_documents_show() {
        let tools = ENDPOINTS.iter().filter_map(|row| row.tool);
        let mut names: Vec<_> = tools.map(|(tool, _)| tool.as_str()).collect();
        let mut shown = Tool::ALL.map(Tool::as_str);
        names.sort_unstable();
        shown.sort_unstable();
        assert_eq!(names, shown);
    }

    #[test]
    fn other_methods_are_told_what_is_allowed() {
        for (method, path, allow) in [
            (Method::POST, "/api/v1/health", "GET, HEAD"),
            (Method::DELETE, "/api/v1/keys", "GET, HEAD, POST"),
            (Method::GET, "/api/newsletter", "POST"),
            (Method::OPTIONS, "/api/v1/newsletter", "POST"),
            (Method::OPTIONS, "*", "GET, HEAD, POST"),
            (Method::GET, "/agent/auth", "POST"),
            (Method::POST, "/oauth2/authorize", "GET, HEAD"),
            (Method::GET, "/mcp", "POST"),
            (Method::DELETE, "/mcp", "POST"),
            (Method::PUT, "/docs", "GET, HEAD"),
            (Method::PUT, "/newsletter", "GET, HEAD, POST"),
            (Method::POST, "/newsletter/thanks", "GET, HEAD"),
            (Method::PUT, "/newsletter/leave/abc", "GET, HEAD, POST"),
        ] {
            let route = Router::new(ENDPOINTS, ["/docs"]).find(&method, path);
            assert!(route.endpoint.is_none(), "{path}");
            assert_eq!(route.allow, allow, "{path}");
        }
    }

    #[test]
    fn other_spellings_lead_nowhere() {
        let others = " * /api /api/ /api/v1/health/ /api//v1/health //api/v1/health /API/v1/health \
                      /api/v1/Health /api/v2/health /api/health /api/v1/%68ealth /agent /agent/auth/ \
                      /oauth2 /oauth2/Token /docs/ /mcp/ /MCP /newsletter/leave /newsletter/leave/ \
                      /newsletter/leave/a/b /newsletter/Leave/a";
        for path in others.split(' ') {
            assert_eq!(found(&Method::GET, path), ("unknown", false), "{path}");
        }
    }
}
