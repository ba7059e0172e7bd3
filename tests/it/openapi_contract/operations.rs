//! Every route is described, and nothing else; every operation has the statuses and codes that the
//! way of a request allows.

use landing_api::http::endpoint::Endpoint;
use landing_api::http::request::head::Area;
use landing_api::http::router::{ENDPOINTS, Router};

use crate::harness::is_described;
use crate::prelude::*;

use super::contract::{CONTRACT, DOCUMENTS, Described, is_discovery, object};

fn is_api(path: &str) -> bool {
    Area::of(path) == Area::Api
}

fn endpoint(operation: &Described) -> &'static Endpoint {
    let router = Router::new(ENDPOINTS, DOCUMENTS.iter().map(String::as_str));
    let found = router.find(&operation.method, &operation.path).endpoint;
    found.unwrap_or_else(|| panic!("{}", operation.name()))
}

#[test]
fn what_is_described_is_what_there_is() {
    let mut expected = BTreeSet::new();
    for endpoint in ENDPOINTS.iter().filter(|endpoint| is_described(endpoint)) {
        let paths = endpoint.paths.iter();
        expected.extend(paths.map(|path| format!("{} {path}", endpoint.method.as_str())));
    }
    let documents = DOCUMENTS.iter().filter(|path| is_discovery(path));
    expected.extend(documents.map(|path| format!("GET {path}")));
    let described: BTreeSet<_> = CONTRACT.operations.iter().map(Described::name).collect();
    assert_eq!(
        described, expected,
        "data/openapi.yaml describes what http/router.rs and the documents answer"
    );
    for operation in &CONTRACT.operations {
        endpoint(operation);
    }
}

#[test]
fn an_operation_that_repeats_another_has_its_request_and_responses() {
    let pairs = CONTRACT.operations.iter().filter_map(|operation| {
        let path = operation.value.get("x-same-as")?.as_str()?;
        Some((operation, CONTRACT.find(&operation.method, path).unwrap()))
    });
    let pairs: Vec<_> = pairs.collect();
    assert!(!pairs.is_empty());
    for (operation, other) in pairs {
        for part in ["requestBody", "responses"] {
            let [own, others] = [operation, other].map(|described| described.value.get(part));
            assert_eq!(own, others, "{}", operation.name());
        }
    }
}

/// What any request can come to, by the way that every request takes (`http/pipeline.rs`).
const OF_ANY: &str = "handler_timeout internal_error limiter_unavailable malformed_head network_blocked rate_limited \
                      store_unavailable";
const OF_CREDENTIALS: &str = "conflicting_credentials invalid_token";
const OF_BODIES: &str =
    "malformed_body overloaded payload_too_large request_timeout unsupported_media_type";
/// What is wrong with a JSON body or a form.
const OF_MEMBERS: &str = "malformed_json validation_failed";
const OTHERS: &str = "not_found origin_not_allowed unsupported_api_version";

/// Those of them that can come of a request for `endpoint`. Its own codes are not among them: that each
/// of those comes, and no other, is seen in `answers.rs` and by the harness.
fn codes_of_the_way(path: &str, endpoint: &Endpoint) -> BTreeSet<&'static str> {
    // What is free asks nothing that could fail.
    let of_free = "malformed_head network_blocked";
    let mut codes = vec![if endpoint.is_free { of_free } else { OF_ANY }];
    if Area::of(path).refuses_bad_credentials() {
        codes.push(OF_CREDENTIALS);
    }
    if is_api(path) {
        codes.push("unsupported_api_version");
    }
    if endpoint.checks_origin {
        codes.push("origin_not_allowed");
    }
    if let Some(rule) = endpoint.body {
        codes.push(OF_BODIES);
        // What is wrong with a message of MCP is told by an error of its own protocol.
        if endpoint.name != "mcp" {
            // Every body is a form.
            let is_json = rule.media_types[0] == "application/json";
            codes.push(if is_json {
                OF_MEMBERS
            } else {
                "validation_failed"
            });
        }
        // A 404 stands wherever a 400 does: the path is not quite this one.
        if is_api(path) {
            codes.push("not_found");
        }
    }
    codes
        .into_iter()
        .flat_map(|codes| codes.split(' '))
        .collect()
}

#[test]
fn every_operation_has_the_statuses_and_codes_that_it_can_give() {
    let of_the_way = [OF_ANY, OF_CREDENTIALS, OF_BODIES, OF_MEMBERS, OTHERS].join(" ");
    for operation in &CONTRACT.operations {
        let name = operation.name();
        let outcomes = operation.outcomes();
        for (status, code) in &outcomes {
            let known = code.as_deref().map(|code| Code::from_name(code).unwrap());
            let is_of_mcp = *status == 404 && operation.path == "/mcp";
            let is_right = match known {
                Some(code) => code.status().as_u16() == *status,
                None => (200..400).contains(status) || is_of_mcp,
            };
            assert!(is_right, "{name}: {status} {code:?}");
        }
        let codes = outcomes.iter().filter_map(|(_, code)| code.as_deref());
        let is_of_the_way = |code: &&str| of_the_way.split(' ').any(|known| known == *code);
        let described: BTreeSet<_> = codes.filter(is_of_the_way).collect();
        let expected = codes_of_the_way(&operation.path, endpoint(operation));
        assert_eq!(
            described, expected,
            "errors(..) of {name} in data/openapi.yaml"
        );
    }
}

#[test]
fn parameters_stand_with_the_path_where_the_reference_finds_them() {
    for (path, item) in object(&CONTRACT.document["paths"]) {
        for (method, operation) in object(item).filter(|(name, _)| *name != "parameters") {
            let advice = "has parameters of its own, which src/site/reference.rs drops: move them to the path's";
            assert!(
                operation.get("parameters").is_none(),
                "{method} {path} {advice}"
            );
        }
    }
}

#[test]
fn every_code_is_named_but_only_a_405_has_no_operation() {
    let outcomes = CONTRACT.operations.iter().flat_map(Described::outcomes);
    let named: BTreeSet<_> = outcomes.filter_map(|(_, code)| code).collect();
    let mut unnamed = Code::ALL.to_vec();
    unnamed.retain(|code| !named.contains(code.as_str()));
    // It is what comes of a method that is no operation.
    let advice = "add them to the errors(..) of an operation in data/openapi.yaml";
    assert_eq!(unnamed, [Code::MethodNotAllowed], "{advice}");
}

#[test]
fn every_operation_is_told_in_words() {
    let tags = CONTRACT.document["tags"].as_array().unwrap().iter();
    let tags: Vec<_> = tags.map(|tag| &tag["name"]).collect();
    let mut ids = BTreeSet::new();
    for operation in &CONTRACT.operations {
        let text = |member: &str| operation.value[member].as_str().unwrap().to_owned();
        assert!(ids.insert(text("operationId")), "{}", operation.name());
        for member in ["summary", "description"] {
            assert!(text(member).len() > 5, "{member} of {}", operation.name());
        }
        for tag in operation.value["tags"].as_array().unwrap() {
            assert!(tags.contains(&tag), "{tag}");
        }
        let responses = object(&operation.value["responses"]);
        for (status, response) in responses {
            let words = response["description"].as_str().unwrap();
            assert!(!words.is_empty(), "{status} of {}", operation.name());
        }
    }
}

#[test]
fn the_version_may_be_asked_for_where_it_means_something() {
    for operation in &CONTRACT.operations {
        let parameters = operation.value["parameters"].as_array().unwrap();
        let is_version = |parameter: &&Value| parameter["name"] == "Service-API-Version";
        let found = parameters.iter().find(is_version);
        let is_expected = is_api(&operation.path);
        assert_eq!(found.is_some(), is_expected, "{}", operation.name());
        if let Some(version) = found {
            assert_eq!(version["schema"]["const"], "v1");
            assert_eq!(version["required"], false);
        }
    }
}

#[test]
fn bodies_are_described_where_they_are_read() {
    for operation in &CONTRACT.operations {
        let endpoint = endpoint(operation);
        let body = operation.value.get("requestBody");
        assert_eq!(body.is_some(), endpoint.body.is_some(), "{endpoint:?}");
        if let (Some(body), Some(rule)) = (body, endpoint.body) {
            let media_types: Vec<_> = object(&body["content"]).map(|(name, _)| name).collect();
            assert_eq!(media_types, rule.media_types, "{endpoint:?}");
            assert_eq!(operation.method, Method::POST);
            let is_required = endpoint.name != "keys.issue";
            assert_eq!(body["required"], is_required, "{endpoint:?}");
        }
    }
}

#[test]
fn credentials_are_welcome_everywhere_and_needed_nowhere() {
    let document = &CONTRACT.document;
    assert_eq!(
        document["security"],
        serde_json::json!([{}, { "bearer": [] }, { "apiKey": [] }])
    );
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(schemes["bearer"]["scheme"], "bearer");
    assert_eq!(schemes["apiKey"]["name"], "X-API-Key");
    assert_eq!(object(schemes).count(), 2);
    for operation in &CONTRACT.operations {
        assert!(operation.value.get("security").is_none());
    }
}
