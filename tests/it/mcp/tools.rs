//! The tools: descriptions, arguments, results.

use jsonschema::Validator;

use crate::openapi_contract::contract;
use crate::prelude::*;

use super::{ask, call, listed, mint, plain, raw, subscribe};

const NAMES: &str =
    "check_health echo subscribe_newsletter ask_assistant get_assistant_quota create_api_key";

pub(super) fn validator(schema: &Value) -> Validator {
    assert!(jsonschema::meta::is_valid(schema), "{schema}");
    contract::validator(schema)
}

/// The input and output schemas of a tool.
async fn schemas(app: &TestApp, tool: &str) -> (Validator, Validator) {
    let listed = listed(app).await;
    let tool = listed.iter().find(|card| card["name"] == tool).unwrap();
    let [takes, gives] = ["inputSchema", "outputSchema"].map(|name| validator(&tool[name]));
    (takes, gives)
}

/// Every object schema inside a schema, at any depth.
fn objects(schema: &Value) -> Vec<&Value> {
    let mut found: Vec<_> = match schema {
        Value::Object(members) => members.values().flat_map(objects).collect(),
        Value::Array(items) => items.iter().flat_map(objects).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    if schema.get("type") == Some(&json!("object")) {
        found.push(schema);
    }
    found
}

#[tokio::test]
async fn every_tool_tells_what_it_is_takes_and_gives() {
    let listed = listed(&TestApp::new()).await;
    let names = listed.iter().map(|tool| tool["name"].as_str().unwrap());
    assert!(names.eq(NAMES.split(' ')), "{listed:?}");
    for tool in &listed {
        assert!(tool["title"].as_str().unwrap().len() > 5);
        assert!(tool["description"].as_str().unwrap().len() > 50);
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object");
            validator(schema);
            for object in objects(schema) {
                assert_eq!(object["additionalProperties"], false, "{object}");
            }
        }
    }
}

#[tokio::test]
async fn hints_say_what_a_tool_does_to_the_world() {
    let names = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ];
    let (reads, makes) = ([true, false, true, false], [false; 4]);
    for (provider, subscribes) in [
        (None, [false, false, true, false]),
        (
            Some(Arc::new(ScriptedWebhookSender::default()) as _),
            [false, false, false, true],
        ),
    ] {
        let setup = Setup {
            provider,
            ..Setup::default()
        };
        let told = listed(&setup.start()).await;
        let expected = [reads, reads, subscribes, makes, reads, makes];
        for (tool, expected) in told.iter().zip(expected) {
            let hints = names.map(|name| tool["annotations"][name] == true);
            assert_eq!(hints, expected, "{}", tool["name"]);
        }
    }
}

/// Tool, arguments, and members of what it gives.
const GIVEN: &str = r#"
check_health | {} | {"ok":true,"service":"Landing API","version":"v1"}
echo | {"message":"h\u00e9llo \ud83d\ude00\n"} | {"ok":true,"sandbox":true,"echo":"h\u00e9llo \ud83d\ude00\n"}
echo | {"message":"m","echo_headers":true} | {"request_accept":"a/b","request_user_agent":"test"}
subscribe_newsletter | {"email":"Ada@Example.com"} | {"ok":true,"mode":"contact","alreadyExists":false}
subscribe_newsletter | {"email":"ada@example.com"} | {"ok":true,"mode":"contact","alreadyExists":true}
ask_assistant | {"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"yes?"},{"role":"user","content":"hello"}]} | {"message":"Hello, I am the scripted assistant.","used":1,"max":10,"remaining":9}
get_assistant_quota | {} | {"used":1,"max":10,"remaining":9}
create_api_key | {} | {"tier":"free","rate_limit":{"limit":600,"window_seconds":60}}
create_api_key | {"label":"agent"} | {"label":"agent","tier":"free"}
"#;

#[tokio::test]
async fn every_tool_gives_what_it_says() {
    let app = TestApp::new();
    for [tool, arguments, expected] in rows(GIVEN) {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        let (takes, gives) = schemas(&app, tool).await;
        assert!(takes.is_valid(&arguments), "{tool} {arguments}");
        let call = call(tool, &arguments)
            .header("accept", "a/b")
            .header("user-agent", "test");
        let given = app.given(call).await;
        if let Err(error) = gives.validate(&given) {
            panic!("{tool} gives {given}: {error}");
        }
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&given[name], value, "{tool} {name}");
        }
    }
    // Another network is not told that the address is there.
    let stranger = app.given(subscribe().from("198.51.100.7")).await;
    assert_eq!(stranger["alreadyExists"], false);
    assert_eq!(app.contacts.len(), 1);
}

#[tokio::test]
async fn a_tool_that_needs_nothing_may_be_called_without_arguments() {
    let app = TestApp::new();
    for tool in ["check_health", "get_assistant_quota", "create_api_key"] {
        for params in [
            json!({ "name": tool }),
            json!({ "name": tool, "arguments": null }),
            json!({ "name": tool, "arguments": {} }),
        ] {
            app.given(plain("tools/call", &params)).await;
        }
    }
    let echo = plain("tools/call", &json!({ "name": "echo" }));
    let words = app.failure(echo).await;
    let problem: Value = serde_json::from_str(&words).unwrap();
    assert_eq!(problem["errors"][0]["pointer"], "#/message");
    assert_eq!(problem["errors"][0]["code"], "required");
}

#[tokio::test]
async fn arguments_are_found_wherever_they_stand() {
    let app = TestApp::new();
    for [params, echo] in rows(
        r#"
{"arguments":{"message":"first"},"name":"echo"} | first
{"name":"echo","arguments" : { "message" : "{}" } } | {}
{"_meta":{"x":{"message":"m"}},"name":"echo","arguments":{"message":"m"}} | m
{"name":"echo","arguments":{"message":"\"arguments\":{}"}} | "arguments":{}
"#,
    ) {
        for body in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#),
            format!(r#"  {{"params":{params},"method":"tools/call","id":1,"jsonrpc":"2.0"}}  "#),
        ] {
            assert_eq!(app.given(raw(&body)).await["echo"], echo, "{body}");
        }
    }
}

#[tokio::test]
async fn a_minted_key_is_good_over_http_and_shown_once() {
    let app = TestApp::new();
    let given = app.given(mint()).await;
    let key = given["api_key"].as_str().unwrap();
    app.expect("200", Call::health().bearer(key)).await;
    assert_eq!(app.given(ask().bearer(key)).await["used"], 1);
}

#[tokio::test]
async fn an_agent_that_signs_up_is_told_what_the_owner_has_to_do() {
    let app = Setup::with_mail(Arc::new(ScriptedMailSender::default()));
    let result = app.start().result(subscribe()).await;
    let answer = json!({ "ok": true, "mode": "contact", "alreadyExists": false });
    assert_eq!(result["structuredContent"], answer);
    let [value, note] = result["content"].as_array().unwrap().as_slice() else {
        panic!("{result}");
    };
    assert_eq!(value["text"], answer.to_string());
    let note = note["text"].as_str().unwrap();
    assert!(note.starts_with("The subscription is pending."), "{note}");
    assert!(note.contains("within 7 days"), "{note}");
    let plain = TestApp::new().result(subscribe()).await;
    assert_eq!(plain["content"].as_array().unwrap().len(), 1);
}
