use serde_json::json;

use super::*;

fn description() -> Value {
    let error = json!({ "description": "No.", "headers": { "Retry-After": {} }, "content": { "application/problem+json": {
        "schema": { "$ref": "#/components/schemas/Problem" },
    } } });
    let post = json!({
        "operationId": "ask", "tags": ["talk"], "summary": "Ask",
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": { "properties": { "text": { "type": "string" } } },
            "examples": {
                "one": { "value": { "text": "What's up?" } },
                "two": { "value": { "text": "More" }, "summary": "More of it" },
            },
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
    let page = &group.documents[0];
    assert_eq!((page.answers.len(), page.errors.len()), (2, 1));
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
    assert_eq!(request.forms[0].members[0].name, "text");
    assert_eq!(
        request.forms[0].examples[0].text,
        "curl http://a/ask \\\n  -H 'Content-Type: application/json' \\\n  \
         -d '{\"text\":\"What'\\''s up?\"}'"
    );
    let more = &request.forms[0].examples[1];
    assert_eq!(more.summary, "More of it");
    assert!(more.text.ends_with(r#"-d '{"text":"More"}'"#), "{more:?}");
    assert_eq!(ask.answers[0].headers[0].name, "X");
    assert_eq!(ask.answers[0].forms[0].examples[0].text, "b");
    assert_eq!(ask.errors[0].status, "4XX");
    assert_eq!(ask.errors[0].codes, ["bad"]);
    assert_eq!(ask.errors[0].headers[0].name, "Retry-After");
    let form = &ask.errors[0].forms[0];
    assert_eq!(form.media_type, "application/problem+json");
    assert_eq!(form.schema.as_deref(), Some("Problem"));
    let token = reference.groups[0].operations[2].request.as_ref().unwrap();
    assert_eq!(
        token.forms[0].examples[0].text,
        "curl http://a/token \\\n  -d 'grant=x' \\\n  -d 'count=2'"
    );
    let headers: Vec<_> = reference.headers.iter().map(|one| &*one.name).collect();
    assert_eq!(headers, ["Retry-After", "X"]);
}

#[test]
fn a_form_for_trying_is_made_where_the_description_wants_one() {
    let mut description = description();
    let post = &mut description["paths"]["/ask"]["post"];
    post["x-try-it"] = json!(true);
    let schema = &mut post["requestBody"]["content"]["application/json"]["schema"];
    schema["required"] = json!(["text"]);
    schema["properties"]["loud"] = json!({ "type": "boolean" });
    schema["properties"]["parts"] = json!({ "items": { "properties": { "a": {} } } });
    let reference = Reference::of(&description, "http://a");
    let operations = &reference.groups[0].operations;
    let fields = operations[0].try_it.as_ref().unwrap();
    let fields: Vec<_> = fields
        .iter()
        .map(|one| (&*one.name, one.is_flag, one.is_required, &*one.value))
        .collect();
    assert_eq!(
        fields,
        [
            ("text", false, true, "What's up?"),
            ("loud", true, false, ""),
        ]
    );
    assert!(operations[1].try_it.is_none());
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
    description["paths"]["/page"]["parameters"] = json!([two[0]]);
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
