//! The description as a client reads it, and what it says of an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use hyper::{Method, StatusCode};
use jsonschema::{Draft, Validator};
use landing_api::http::endpoint::Endpoint;
use landing_api::http::router::ENDPOINTS;
use landing_api::site::SiteFacts;
use serde_json::{Map, Value};

use crate::harness::{Reply, is_described};
use crate::site::{self, facts};

/// The description of a service without flags.
pub(crate) static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::of(&facts()));

/// The paths of all documents: discovery, pages, and what pages load.
pub(super) static DOCUMENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let site = site::render(&facts());
    let paths = site.documents.iter().map(|document| document.path.clone());
    paths.collect()
});

/// Whether a document is for programs, which the description is for. Pages and what they load are not.
pub(super) fn is_discovery(path: &str) -> bool {
    let others = "/openapi.json /api/openapi.yaml /mcp/server-card /llms.txt";
    path.starts_with("/.well-known/") || others.split(' ').any(|other| other == path)
}

/// What any answer of any server may have, and what the description tells in words: whom CORS
/// serves, and the notice of a removal.
const HEADERS_OF_ANY_ANSWER: &str = "\
    access-control-allow-credentials access-control-allow-origin access-control-expose-headers allow connection \
    content-encoding content-language content-length content-type date deprecation strict-transport-security \
    sunset vary x-content-type-options";

/// The description, with every reference resolved.
pub(crate) struct Contract {
    pub(crate) document: Value,
    pub(crate) operations: Vec<Described>,
    problem: Validator,
    oauth_problem: Validator,
}

pub(crate) struct Described {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) value: Value,
    responses: BTreeMap<u16, Response>,
}

struct Response {
    headers: BTreeMap<String, Header>,
    /// By media type.
    bodies: BTreeMap<String, Validator>,
}

struct Header {
    is_required: bool,
    is_integer: bool,
    schema: Validator,
}

/// The document that a service with these facts serves as JSON.
pub(crate) fn document(facts: &SiteFacts) -> Value {
    serde_json::from_str(&site::document(facts, "/openapi.json")).unwrap()
}

impl Contract {
    pub(crate) fn of(facts: &SiteFacts) -> Self {
        let source = document(facts);
        let document = resolved(&source, &source);
        let mut operations = Vec::new();
        for (path, item) in object(&document["paths"]) {
            for (method, value) in object(item) {
                if method != "parameters" {
                    operations.push(Described::of(path, item, method, value));
                }
            }
        }
        Self {
            problem: closed_validator(&document["components"]["schemas"]["ProblemDetails"]),
            oauth_problem: closed_validator(&document["components"]["schemas"]["OAuthProblem"]),
            document,
            operations,
        }
    }

    /// The operation that a request is for, if it is for any.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<&Described> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            _ => method,
        };
        let mut operations = self.operations.iter();
        operations.find(|operation| operation.method == method && matches(&operation.path, path))
    }

    /// Fails unless `reply` is as the description says.
    pub(crate) fn check(&self, method: &Method, path: &str, reply: &Reply) {
        let path = path.split('?').next().unwrap();
        // Pages for people are no part of the API, and neither is what belongs to a form.
        let is_problem = reply.header("content-type") == Some("application/problem+json");
        let is_page =
            |endpoint: &Endpoint| !is_described(endpoint) && endpoint.paths.contains(&path);
        if reply.is_page_for_one_request() || !is_problem && ENDPOINTS.iter().copied().any(is_page)
        {
            return;
        }
        let is_read = *method == Method::GET || *method == Method::HEAD;
        let has_succeeded = reply.status.is_success() || reply.status.is_redirection();
        let is_document = || DOCUMENTS.iter().any(|known| known == path);
        if is_read && has_succeeded && !is_discovery(path) && is_document() {
            assert!(reply.headers.contains_key("etag"), "{path}");
            return;
        }
        let Some(operation) = self.find(method, path) else {
            let is_refused = reply.status.is_client_error() || reply.status.is_server_error();
            assert!(is_refused, "{method} {path} is not described");
            if *method != Method::HEAD {
                let schema = match reply.headers.contains_key("pragma") {
                    true => &self.oauth_problem,
                    false => &self.problem,
                };
                check_body(schema, &reply.json());
            }
            return;
        };
        let status = reply.status;
        let response = operation.responses.get(&status.as_u16());
        let response =
            response.unwrap_or_else(|| panic!("{method} {path} may not answer {status}"));
        response.check_headers(reply, &format!("{method} {path} {status}"));
        if status != StatusCode::NOT_MODIFIED {
            response.check_body(reply, *method == Method::HEAD);
        }
        let is_problem = reply.header("content-type") == Some("application/problem+json");
        if is_problem && *method != Method::HEAD {
            assert_eq!(reply.json()["status"], status.as_u16());
            let outcome = (status.as_u16(), Some(reply.code()));
            let outcomes = operation.outcomes();
            assert!(outcomes.contains(&outcome), "{method} {path}: {outcome:?}");
        }
    }
}

impl Described {
    fn of(path: &str, item: &Value, method: &str, value: &Value) -> Self {
        let mut value = value.clone();
        let mut parameters = item["parameters"].as_array().cloned().unwrap_or_default();
        parameters.extend(value["parameters"].as_array().cloned().unwrap_or_default());
        value["parameters"] = Value::from(parameters);
        let responses = object(&value["responses"]);
        Self {
            method: method.to_uppercase().parse().unwrap(),
            path: path.to_owned(),
            responses: responses
                .map(|(status, response)| (status.parse().unwrap(), Response::of(response)))
                .collect(),
            value,
        }
    }

    /// As `GET /path`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Every status with every code that it comes with; no code with what is no problem.
    pub(crate) fn outcomes(&self) -> Vec<(u16, Option<String>)> {
        let mut outcomes = Vec::new();
        let mut codes_left: BTreeSet<_> = self.problem_codes().collect();
        for (status, response) in object(&self.value["responses"]) {
            let status: u16 = status.parse().unwrap();
            let problem = &response["content"]["application/problem+json"];
            if problem.is_null() {
                outcomes.push((status, None));
            }
            for (code, example) in object(&problem["examples"]) {
                let problem = &example["value"];
                assert_eq!(problem["status"], status);
                assert_eq!(problem["code"], **code);
                if codes_left.remove(code.as_str()) {
                    outcomes.push((status, Some(code.clone())));
                }
            }
        }
        assert!(codes_left.is_empty(), "{}: {codes_left:?}", self.name());
        outcomes
    }

    /// The problem codes that it names as its own.
    pub(crate) fn problem_codes(&self) -> impl Iterator<Item = &str> {
        let codes = self.value["x-problem-codes"].as_array().unwrap();
        codes.iter().map(|code| code.as_str().unwrap())
    }

    /// The example of a problem.
    pub(crate) fn example(&self, status: u16, code: &str) -> &Value {
        let content = &self.value["responses"][status.to_string()]["content"];
        &content["application/problem+json"]["examples"][code]["value"]
    }

    pub(crate) fn headers(&self, status: u16) -> Vec<&str> {
        let response = self.responses.get(&status).into_iter();
        let names = response.flat_map(|response| response.headers.keys());
        names.map(String::as_str).collect()
    }

    /// The media types of its answers when nothing goes wrong.
    pub(crate) fn media_types(&self) -> Vec<&str> {
        let good = self.responses.range(..300);
        let media_types = good.flat_map(|(_, response)| response.bodies.keys());
        media_types.map(String::as_str).collect()
    }
}

impl Response {
    fn of(value: &Value) -> Self {
        let headers = object(&value["headers"]).map(|(name, header)| {
            let header = Header {
                is_required: header["required"] == true,
                is_integer: header["schema"]["type"] == "integer",
                schema: closed_validator(&header["schema"]),
            };
            (name.to_lowercase(), header)
        });
        let bodies = contents(value)
            .map(|(media_type, body)| (media_type.clone(), closed_validator(&body["schema"])));
        Self {
            headers: headers.collect(),
            bodies: bodies.collect(),
        }
    }

    fn check_headers(&self, reply: &Reply, answer: &str) {
        for (name, header) in &self.headers {
            let is_there = reply.headers.contains_key(name);
            assert!(is_there || !header.is_required, "{answer} lacks {name}");
        }
        for name in reply.headers.keys().map(hyper::header::HeaderName::as_str) {
            if HEADERS_OF_ANY_ANSWER.split(' ').any(|any| any == name) {
                continue;
            }
            let Some(header) = self.headers.get(name) else {
                panic!("{answer} has {name}, which is not described");
            };
            let text = reply.header(name).unwrap();
            let value = if header.is_integer {
                Value::from(text.parse::<u64>().unwrap())
            } else {
                Value::from(text)
            };
            check_body(&header.schema, &value);
        }
    }

    fn check_body(&self, reply: &Reply, is_head: bool) {
        let Some(media_type) = reply.header("content-type") else {
            assert!(self.bodies.is_empty() && reply.body.is_empty());
            return;
        };
        let essence = media_type.split(';').next().unwrap();
        let Some(schema) = self.bodies.get(essence) else {
            panic!("{media_type} is not described");
        };
        if is_head || reply.headers.contains_key("content-encoding") || essence == "image/png" {
            return;
        }
        let text = std::str::from_utf8(&reply.body).unwrap();
        let value = if essence.ends_with("json") {
            reply.json()
        } else if essence.ends_with("yaml") {
            serde_saphyr::from_str(text).unwrap()
        } else {
            Value::from(text)
        };
        check_body(schema, &value);
    }
}

/// `value` as a request has it.
pub(crate) fn written(value: &Value, media_type: &str) -> String {
    if media_type == "application/json" {
        return value.to_string();
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pairs = object(value).map(|(name, value)| format!("{name}={}", text(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Whether `path` is what the template `described` stands for: what is in braces there is a name.
fn matches(described: &str, path: &str) -> bool {
    let Some((before, rest)) = described.split_once('{') else {
        return described == path;
    };
    let (_, after) = rest.split_once('}').unwrap();
    let rest = path.strip_prefix(before);
    let name = rest.and_then(|rest| rest.strip_suffix(after));
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}

/// The media types of an answer: those of any request, then those that `Accept` has to name.
pub(crate) fn contents(response: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object(&response["content"]).chain(object(&response["x-content"]))
}

/// The members of an object; none if it is absent.
pub(crate) fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// `value` with what its references lead to in their places.
fn resolved(document: &Value, value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let target = document.pointer(&reference[1..]);
                resolved(document, target.unwrap_or_else(|| panic!("{reference}")))
            }
            None => members
                .iter()
                .map(|(name, member)| (name.clone(), resolved(document, member)))
                .collect::<Map<_, _>>()
                .into(),
        },
        Value::Array(items) => items.iter().map(|item| resolved(document, item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Reads `schema` so that objects have no members but those it names, unless it says that they may.
pub(crate) fn closed_validator(schema: &Value) -> Validator {
    let mut schema = schema.clone();
    close(&mut schema, false);
    validator(&schema)
}

pub(crate) fn validator(schema: &Value) -> Validator {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

fn close(schema: &mut Value, is_branch: bool) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for property in properties.values_mut() {
                    close(property, false);
                }
            }
            ("allOf" | "oneOf" | "anyOf", Value::Array(branches)) => {
                for branch in branches {
                    close(branch, is_branch || keyword == "allOf");
                }
            }
            ("items", items) => close(items, false),
            _ => {}
        }
    }
    let is_open = members.contains_key("additionalProperties");
    let has_members = members.contains_key("properties") || members.contains_key("allOf");
    if has_members && !is_open && !is_branch {
        members.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

/// Fails unless `value` is as `schema` says.
pub(crate) fn check_body(schema: &Validator, value: &Value) {
    let errors: Vec<_> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?} in {value:#}");
}
