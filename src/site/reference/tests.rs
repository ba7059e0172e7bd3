use serde_json::json;

use super::*;

fn description() -> Value {
    let error = json!({ "description": "No.", "content": { "application/problem+json": {
        "schema": { "$ref": "#/components/schemas/Problem" },
    } } });
    let post = json!({
        "operationId": "ask", "tags": ["talk"], "summary": "Ask",
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": { "properties": { "text": { "type": "string" } } },
            "examples": { "one": { "value": { "text": "What's up?" } } },
        } } },
        "responses": {
            "200": { "description": "Yes.", "headers": { "X": {} }, "content": {
                "text/plain": { "examples": { "a": { "value": "b\n" } } },
            } },
            "4XX": { "$ref": "#/components/responses/No" },
        },
    });
    let mut alias = post.clone();
    alias["operationId"] = json!("askByAlias");
    let token = json!({
        "operationId": "token", "tags": ["nobody knows"],
        "requestBody": { "content": { "application/x-www-form-urlencoded": {
            "examples": { "a": { "value": { "grant": "x", "count": 2 } } },
        } } },
    });
    let page = json!({
        "operationId": "page", "tags": ["talk"],
        "responses": { "200": {}, "304": {}, "default": {} },
    });
    json!({
        "tags": [{ "name": "talk", "description": "Talking." }, { "name": "empty" }],
        "paths": {
            "/ask": { "parameters": [{ "name": "V", "in": "header", "schema": {} }], "post": post },
            "/alias": { "parameters": [{ "name": "V", "in": "header", "schema": {} }], "post": alias },
            "/token": { "post": token },
            "/page": { "get": page },
        },
        "components": {
            "responses": { "No": error },
            "schemas": { "Problem": { "properties": { "code": { "enum": ["bad"] } } } },
            "securitySchemes": { "key": { "type": "apiKey", "name": "X-Key" } },
        },
    })
}

#[test]
fn operations_stand_with_their_tags() {
    let reference = Reference::of(&description(), "http://a");
    let [group] = reference.groups.as_slice() else {
        panic!("{:?}", reference.groups);
    };
    let ids: Vec<_> = group.operations.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["ask", "askByAlias", "token"]);
    assert_eq!(group.documents.len(), 1);
    let statuses: Vec<_> = group.document_statuses.iter().map(String::as_str).collect();
    assert_eq!(statuses, ["200", "304", "default"]);
    assert_eq!(reference.error_bodies[0].name, "Problem");
    assert_eq!(reference.credentials[0].name, "X-Key");
}

#[test]
fn an_operation_is_told_with_what_it_takes_and_answers() {
    let reference = Reference::of(&description(), "http://a");
    let ask = &reference.groups[0].operations[0];
    assert_eq!((ask.method.as_str(), ask.path.as_str()), ("POST", "/ask"));
    assert_eq!(ask.parameters[0].kind, "header, any");
    let request = ask.request.as_ref().unwrap();
    assert_eq!(request.members[0].name, "text");
    assert_eq!(
        request.curl.as_deref(),
        Some(
            "curl http://a/ask \\\n  -H 'Content-Type: application/json' \\\n  \
             -d '{\"text\":\"What'\\''s up?\"}'"
        )
    );
    assert_eq!(ask.answers[0].headers, ["X"]);
    assert_eq!(ask.answers[0].forms[0].example.as_deref(), Some("b"));
    assert_eq!(ask.errors[0].status, "4XX");
    assert_eq!(ask.errors[0].codes, ["bad"]);
    let token = reference.groups[0].operations[2].request.as_ref().unwrap();
    assert_eq!(
        token.curl.as_deref(),
        Some("curl http://a/token \\\n  -d 'grant=x' \\\n  -d 'count=2'")
    );
}

#[test]
fn what_takes_and_answers_the_same_is_told_once() {
    let reference = Reference::of(&description(), "http://a");
    let alias = &reference.groups[0].operations[1];
    assert_eq!(
        alias.same_as.as_ref().map(|twin| twin.id.as_str()),
        Some("ask")
    );
    assert!(alias.request.is_none() && alias.answers.is_empty() && alias.errors.is_empty());
    assert!(reference.groups[0].operations[2].same_as.is_none());
}

#[test]
fn what_all_operations_of_a_tag_take_is_told_once() {
    let mut description = description();
    let two = json!([
        { "name": "V", "in": "header", "schema": {} },
        { "name": "W", "in": "query", "schema": {} },
    ]);
    description["paths"]["/token"]["parameters"] = two;
    let reference = Reference::of(&description, "http://a");
    let group = &reference.groups[0];
    let names = |members: &[Member]| -> Vec<String> {
        members.iter().map(|member| member.name.clone()).collect()
    };
    assert_eq!(names(&group.parameters), ["V"]);
    let own: Vec<_> = group
        .operations
        .iter()
        .map(|one| names(&one.parameters))
        .collect();
    assert_eq!(own, [vec![], vec![], vec!["W".to_owned()]]);
}

#[test]
fn what_is_no_description_has_no_operations() {
    for description in [
        json!(null),
        json!([1]),
        json!({ "tags": 7, "paths": [], "components": "x" }),
        json!({ "paths": { "/a": { "get": {} } } }),
        json!({ "tags": [{ "name": "a" }], "paths": { "/a": 7, "/b": { "get": 7 } } }),
    ] {
        let reference = Reference::of(&description, "http://a");
        let groups = reference.groups.iter();
        let described = groups
            .flat_map(|group| &group.operations)
            .filter(|one| !one.id.is_empty());
        assert_eq!(described.count(), 0, "{description}");
    }
}
