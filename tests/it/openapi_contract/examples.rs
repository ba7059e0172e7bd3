//! Every example is what it is an example of.

use super::contract::{CONTRACT, check_body, closed_validator, object, written};
use crate::prelude::*;

/// The examples of each media type of `content`, at least one each, checked against its schema.
fn checked<'a>(content: &'a Value, of: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
    let mut all = Vec::new();
    for (media_type, body) in object(content) {
        let schema = closed_validator(&body["schema"]);
        let before = all.len();
        for (name, example) in object(&body["examples"]) {
            check_body(&schema, &example["value"]);
            all.push((media_type.as_str(), name.as_str(), &example["value"]));
        }
        assert!(all.len() > before, "no example of {media_type} in {of}");
    }
    all
}

#[test]
fn every_body_has_examples_and_they_are_valid() {
    let mut seen = 0;
    for operation in &CONTRACT.operations {
        let name = operation.name();
        seen += checked(&operation.value["requestBody"]["content"], &name).len();
        for (status, response) in object(&operation.value["responses"]) {
            let name = format!("{name} {status}");
            seen += checked(&response["content"], &name).len();
            seen += checked(&response["x-content"], &name).len();
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn every_header_and_parameter_has_a_valid_example() {
    let check = |name: &str, of: &Value| {
        check_body(&closed_validator(&of["schema"]), &of["example"]);
        assert!(of["description"].as_str().unwrap().len() > 5, "{name}");
    };
    for (name, header) in object(&CONTRACT.document["components"]["headers"]) {
        check(name, header);
    }
    for operation in &CONTRACT.operations {
        for parameter in operation.value["parameters"].as_array().unwrap() {
            check(parameter["name"].as_str().unwrap(), parameter);
        }
    }
}

#[test]
fn problems_are_shown_as_they_are_sent() {
    let examples = &CONTRACT.document["components"]["examples"];
    let base_url = facts().settings.base_url;
    let mut shown = BTreeSet::from([Code::MethodNotAllowed.as_str()]);
    for (full_name, example) in object(examples) {
        let name = full_name.strip_prefix("oauth_").unwrap_or(full_name);
        shown.insert(name);
        let is_oauth = name != full_name;
        let problem = &example["value"];
        for member in ["error", "error_description"] {
            assert_eq!(problem.get(member).is_some(), is_oauth, "{full_name}");
        }
        let code = Code::from_name(name).unwrap();
        assert_eq!(problem["code"], name);
        assert_eq!(problem["status"], code.status().as_u16(), "{name}");
        assert_eq!(problem["title"], code.page().title, "{name}");
        let resolution = code.page().resolution.replace('`', "");
        assert_eq!(problem["resolution"], resolution, "{name}");
        let is_refusal = code.status().as_u16() == 429;
        let expected = if is_refusal {
            "https://iana.org/assignments/http-problem-types#quota-exceeded".to_owned()
        } else {
            format!("{base_url}/problems/{name}")
        };
        assert_eq!(problem["type"], expected, "{name}");
        let has_policies = problem.get("violated-policies").is_some();
        assert_eq!(has_policies, is_refusal, "{name}");
    }
    // One code belongs to no operation.
    let codes = BTreeSet::from(Code::ALL.map(Code::as_str));
    assert_eq!(
        shown, codes,
        "each has one example in data/parts/openapi.yaml"
    );
}

#[tokio::test]
async fn the_service_takes_every_example_of_a_request() {
    let app = TestApp::new();
    for operation in &CONTRACT.operations {
        let content = &operation.value["requestBody"]["content"];
        for (media_type, name, example) in checked(content, &operation.name()) {
            assert_eq!(operation.method, Method::POST);
            let call = Call::post(&operation.path, written(example, media_type)).typed(media_type);
            let status = app.send(call).await.status.as_u16();
            // The client of the example is nobody's.
            let is_taken = (200..300).contains(&status) || operation.path == "/oauth2/token";
            assert!(is_taken, "{status} for {name} of {}", operation.name());
        }
    }
}
