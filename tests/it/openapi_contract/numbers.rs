//! The numbers and names in the description are those of the code, and of the configuration.

use landing_api::domain::AccessToken;
use landing_api::domain::chat::{Content, MESSAGES_MAX};
use landing_api::domain::email;
use landing_api::domain::policy::{Policies, Quota};
use landing_api::domain::text::{EchoMessage, Label};
use landing_api::site::SiteFacts;

use super::contract::{CONTRACT, document, object};
use crate::prelude::*;

fn schema(name: &str) -> &'static Value {
    let schema = &CONTRACT.document["components"]["schemas"][name];
    assert!(!schema.is_null(), "{name}");
    schema
}

#[test]
fn lengths_are_those_of_the_code() {
    for (of, member, min, max) in [
        ("CreateKeyRequest", "label", 1, Label::LENGTH_MAX),
        ("CreateKeyResponse", "label", 1, Label::LENGTH_MAX),
        ("AgentRegistrationRequest", "label", 1, Label::LENGTH_MAX),
        ("AgentRegistration", "label", 1, Label::LENGTH_MAX),
        ("SandboxEchoRequest", "message", 1, EchoMessage::LENGTH_MAX),
        ("SandboxEchoResponse", "echo", 1, EchoMessage::LENGTH_MAX),
        ("AssistantChatMessage", "content", 1, Content::LENGTH_MAX),
    ] {
        let text = &schema(of)["properties"][member];
        assert_eq!(text["minLength"], min, "{of}.{member}");
        assert_eq!(text["maxLength"], max, "{of}.{member}");
    }
    let email = &schema("NewsletterSubscribeRequest")["properties"]["email"];
    assert_eq!(email["maxLength"], email::LENGTH_MAX);
    let messages = &schema("AssistantChatRequest")["properties"]["messages"];
    assert_eq!(messages["minItems"], 1);
    assert_eq!(messages["maxItems"], MESSAGES_MAX);
}

#[test]
fn names_are_those_of_the_code() {
    let policies = PolicyName::ALL.map(PolicyName::as_str);
    assert_eq!(schema("PolicyName")["enum"], json!(policies));
    let codes = Code::ALL.map(Code::as_str);
    assert_eq!(schema("ProblemCode")["enum"], json!(&codes[..]));
}

#[test]
fn only_what_refuses_unknown_members_is_closed() {
    let schemas = object(&CONTRACT.document["components"]["schemas"]);
    let closed = schemas.filter(|(_, schema)| schema["additionalProperties"] == false);
    let closed: Vec<_> = closed.map(|(name, _)| name.as_str()).collect();
    let expected = "HealthResponse CreateKeyRequest SandboxEchoRequest NewsletterSubscribeRequest";
    assert_eq!(closed.join(" "), expected);
}

fn limits(facts: &SiteFacts) -> Vec<(String, String)> {
    let document = document(facts);
    let text = document["info"]["description"].as_str().unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| {
        let mut cells = row
            .split('|')
            .map(|cell| cell.trim().trim_end_matches('`').to_owned());
        (cells.next().unwrap(), cells.next().unwrap())
    });
    cells.collect()
}

#[test]
fn the_table_of_limits_is_the_configured_one() {
    let expected = |quota: fn(PolicyName) -> Quota| -> Vec<(String, String)> {
        let row = |policy: PolicyName| {
            let quota = quota(policy);
            let window = match quota.window_s() {
                60 => "minute",
                900 => "15 minutes",
                3600 => "hour",
                7200 => "2 hours",
                86_400 => "24 hours",
                other => panic!("{policy:?}: put the words for {other} s here"),
            };
            let quota = format!("{} in any {window}", quota.count());
            (policy.as_str().to_owned(), quota)
        };
        PolicyName::ALL.into_iter().map(row).collect()
    };
    assert_eq!(limits(&facts()), expected(PolicyName::default_quota));
    let seven = |_| "7/2h".parse().unwrap();
    let mut facts = facts();
    for policy in PolicyName::ALL {
        facts.settings.policies.set(policy, Some(seven(policy)));
    }
    assert_eq!(limits(&facts), expected(seven));
    for policy in PolicyName::ALL {
        facts.settings.policies.set(policy, None);
    }
    assert_eq!(limits(&facts), []);
    let document = document(&facts).to_string();
    assert!(document.contains("This site currently sets no limits"));
}

#[test]
fn rate_limit_headers_are_promised_where_a_policy_counts_every_request() {
    for (off, is_required) in [
        (&[][..], true),
        (&[PolicyName::Default], true),
        (&[PolicyName::Ip], true),
        (&[PolicyName::Default, PolicyName::Ip], false),
    ] {
        let mut facts = facts();
        for policy in off {
            facts.settings.policies.set(*policy, None);
        }
        let headers = &document(&facts)["components"]["headers"];
        for end in ["-Limit", "-Remaining", "-Reset", "", "-Policy"] {
            let header = &headers[format!("RateLimit{end}")];
            assert_eq!(header["required"] == true, is_required, "{end} {off:?}");
        }
    }
}

#[test]
fn examples_show_the_default_quotas() {
    let quota = |policy| Policies::default().quota(policy).unwrap();
    let (default, ip) = (quota(PolicyName::Default), quota(PolicyName::Ip));
    let headers = &CONTRACT.document["components"]["headers"];
    assert_eq!(headers["RateLimit-Limit"]["example"], default.count());
    let (limit, window) = (default.count(), default.window_s());
    let shown = format!("\"default\";r={};t={window}", limit - 1);
    assert_eq!(headers["RateLimit"]["example"], shown);
    let of_ip = format!("\"ip\";q={};w={}", ip.count(), ip.window_s());
    let shown = format!("\"default\";q={limit};w={window}, {of_ip}");
    assert_eq!(headers["RateLimit-Policy"]["example"], shown);
    let (count_max, window_max) = (u64::from(Quota::COUNT_MAX), Quota::WINDOW_MS_MAX / 1000);
    for (name, max) in [
        ("RateLimit-Limit", count_max),
        ("RateLimit-Remaining", count_max),
        ("RateLimit-Reset", window_max),
        ("Retry-After", window_max),
    ] {
        assert_eq!(headers[name]["schema"]["maximum"], max, "{name}");
    }
    let example = |path: &str, method: &str, status: &str, name: &str| {
        let content = &CONTRACT.document["paths"][path][method]["responses"][status]["content"];
        content["application/json"]["examples"][name]["value"].clone()
    };
    let key = example("/api/v1/keys", "post", "201", "labelled");
    let expected = json!({ "limit": limit, "window_seconds": window });
    assert_eq!(key["rate_limit"], expected);
    let assistant = quota(PolicyName::Assistant);
    let fresh = example("/api/v1/assistant/chat", "get", "200", "fresh");
    assert_eq!(fresh["max"], assistant.count());
    let reply = example("/api/v1/assistant/chat", "post", "200", "reply");
    assert_eq!(reply["quota"]["max"], assistant.count());
    let agent = example("/agent/auth", "post", "201", "anonymous");
    assert_eq!(agent["expires_in"], AccessToken::LIFETIME_MS / 1000);
    let cookie = headers["Set-Cookie"]["example"].as_str().unwrap();
    assert!(cookie.contains(&format!("Max-Age={};", assistant.window_s())));
}

#[tokio::test]
async fn an_answer_names_as_many_errors_as_are_described() {
    let members: Vec<_> = (0..100).map(|i| format!(r#""m{i}":0"#)).collect();
    let body = format!(r#"{{"message":"m",{}}}"#, members.join(","));
    let reply = TestApp::new().send(Call::echo().body(body)).await;
    let max = &schema("ProblemDetails")["properties"]["errors"]["maxItems"];
    assert_eq!(*max, reply.json()["errors"].as_array().unwrap().len());
}

#[test]
fn the_configured_values_stand_in_their_places() {
    let mut facts = facts();
    facts.settings.service_name = "A \"B\" \\ 'C': #d\u{2028}e".to_owned();
    facts.settings.base_url = "https://api.example.com".to_owned();
    let origins = ["https://a.example", "https://b.example"];
    facts.settings.allowed_origins = origins.map(str::to_owned).into();
    let document = document(&facts);
    assert_eq!(document["info"]["title"], facts.settings.service_name);
    assert_eq!(document["servers"][0]["url"], "https://api.example.com");
    let text = document["info"]["description"].as_str().unwrap();
    for origin in &facts.settings.allowed_origins {
        assert!(text.contains(&format!("`{origin}`")), "{text}");
    }
    let all = document.to_string();
    assert_present(&all, &["It is valid for 90 days.", "__Host-assistant"]);
    assert!(!all.contains("127.0.0.1"), "an address of another service");
}
