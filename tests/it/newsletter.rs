//! `POST /api/v1/newsletter` and its legacy alias.

use hyper::StatusCode;
use landing_api::domain::contact::RevealExisting;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::{ContactStore, StoreError};
use serde_json::{Value, json};

use crate::harness::{Call, NOW, Reply, Setup, TestApp, VISITOR};

const PATH: &str = "/api/v1/newsletter";
const ALIAS: &str = "/api/newsletter";

fn sign_up(email: &str) -> Call {
    Call::post(PATH, json!({ "email": email }).to_string())
}

async fn mint(app: &TestApp) -> String {
    let reply = app.send(Call::post("/api/v1/keys", "{}")).await;
    reply.json()["api_key"].as_str().unwrap().to_owned()
}

/// What the answer says of the address having been there.
fn already_exists(reply: &Reply) -> Option<bool> {
    assert_eq!(reply.status, StatusCode::OK);
    let mut body = reply.json();
    assert_eq!(body["ok"], true);
    assert_eq!(body["mode"], "contact");
    let members = body.as_object_mut().unwrap();
    let told = members.remove("alreadyExists");
    assert_eq!(members.len(), 2);
    told.map(|told| told.as_bool().unwrap())
}

#[tokio::test]
async fn an_address_is_kept_in_lower_case() {
    let app = TestApp::new();
    let reply = app.send(sign_up("Ada@Example.COM")).await;
    assert_eq!(already_exists(&reply), Some(false));
    assert_eq!(reply.policy(), "newsletter");
    assert_eq!(reply.remaining(), 7);
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let contact = app.contacts.find(&email).await.unwrap().unwrap();
    assert_eq!(contact.email.as_str(), "ada@example.com");
    assert_eq!(contact.subscribed_at, NOW);
}

#[tokio::test]
async fn a_repeat_updates_when_the_contact_was_last_seen() {
    let app = TestApp::new();
    app.send(sign_up("ada@example.com")).await;
    app.clock.advance_ms(5000);
    let reply = app.send(sign_up("ADA@example.com")).await;
    assert_eq!(already_exists(&reply), Some(true));
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let contact = app.contacts.find(&email).await.unwrap().unwrap();
    assert_eq!(contact.subscribed_at, NOW);
    assert_eq!(contact.last_seen_at, NOW.plus_ms(5000));
    assert_eq!(app.contacts.len(), 1);
}

#[tokio::test]
async fn only_the_client_that_signed_an_address_up_learns_that_it_is_there() {
    let app = TestApp::new();
    let key = mint(&app).await;
    let signed = sign_up("ada@example.com").bearer(&key);
    assert_eq!(already_exists(&app.send(signed.clone()).await), Some(false));
    for (call, told) in [
        (sign_up("ada@example.com"), Some(true)),
        (signed.clone().from("198.51.100.7"), Some(true)),
        (sign_up("ada@example.com").from("203.0.113.9"), Some(false)),
        (
            sign_up("ada@example.com")
                .from("203.0.113.10")
                .bearer(&mint(&app).await),
            Some(false),
        ),
        (signed.from("203.0.113.11"), Some(true)),
    ] {
        assert_eq!(already_exists(&app.send(call).await), told);
    }
}

#[tokio::test]
async fn neighbours_in_an_ipv6_network_are_one_client() {
    let app = TestApp::new();
    app.send(sign_up("ada@example.com").from("2001:db8::1"))
        .await;
    for (peer, told) in [
        ("2001:db8:0:ff::1", Some(true)),
        ("2001:db8:0:100::1", Some(false)),
    ] {
        let reply = app.send(sign_up("ada@example.com").from(peer)).await;
        assert_eq!(already_exists(&reply), told, "{peer}");
    }
}

#[tokio::test]
async fn the_operator_decides_who_is_told() {
    for (reveal_existing, new, same, other) in [
        (RevealExisting::Never, None, None, None),
        (
            RevealExisting::SameClient,
            Some(false),
            Some(true),
            Some(false),
        ),
        (RevealExisting::Always, Some(false), Some(true), Some(true)),
    ] {
        let app = Setup {
            reveal_existing,
            ..Setup::default()
        }
        .start();
        let call = sign_up("ada@example.com");
        assert_eq!(already_exists(&app.send(call.clone()).await), new);
        assert_eq!(already_exists(&app.send(call.clone()).await), same);
        let elsewhere = call.from("198.51.100.7");
        assert_eq!(already_exists(&app.send(elsewhere).await), other);
    }
}

#[tokio::test]
async fn nothing_is_told_behind_a_proxy_that_is_not_trusted() {
    for reveal_existing in [RevealExisting::SameClient, RevealExisting::Always] {
        let app = Setup {
            reveal_existing,
            ..Setup::default()
        }
        .start();
        for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
            let call = sign_up("ada@example.com").header(header, "198.51.100.7");
            assert_eq!(already_exists(&app.send(call.clone()).await), None);
            assert_eq!(already_exists(&app.send(call).await), None);
        }
    }
}

#[tokio::test]
async fn who_sits_beside_a_proxy_is_not_told_of_those_behind_it() {
    let app = TestApp::new();
    let behind = sign_up("ada@example.com").header("x-forwarded-for", "198.51.100.7");
    app.send(behind.clone()).await;
    for told in [Some(false), Some(true)] {
        let reply = app.send(sign_up("ada@example.com")).await;
        assert_eq!(already_exists(&reply), told);
    }
    // A key is its holder's wherever it is presented.
    let key = mint(&app).await;
    app.send(behind.bearer(&key)).await;
    let reply = app
        .send(sign_up("ada@example.com").from("203.0.113.9").bearer(&key))
        .await;
    assert_eq!(already_exists(&reply), Some(true));
}

#[tokio::test]
async fn behind_a_trusted_proxy_only_the_same_visitor_is_told() {
    let app = Setup {
        trusted_proxies: &["192.0.2.0/24"],
        ..Setup::default()
    }
    .start();
    let ada = sign_up("ada@example.com");
    for (header, value, told) in [
        ("x-forwarded-for", "198.51.100.1", Some(false)),
        ("x-forwarded-for", "198.51.100.1", Some(true)),
        ("x-forwarded-for", "198.51.100.2", Some(false)),
        // Who it is is not known.
        ("x-forwarded-for", "198.51.100.1, unknown", None),
        ("x-real-ip", "198.51.100.1", None),
        ("forwarded", "for=198.51.100.1", None),
    ] {
        let reply = app.send(ada.clone().header(header, value)).await;
        assert_eq!(already_exists(&reply), told, "{header}: {value}");
    }
    // A proxy that says nothing: all its visitors share its address.
    for email in ["bob@example.com", "bob@example.com"] {
        assert_eq!(already_exists(&app.send(sign_up(email)).await), None);
    }
}

/// The ways to sign `email` up: both paths, and the tool of both kinds of MCP.
fn ways(email: &str) -> [Call; 4] {
    let mut arguments = json!({ "name": "subscribe_newsletter", "arguments": { "email": email } });
    let mut tool = |meta: Option<Value>| {
        if let Some(meta) = meta {
            arguments["_meta"] = meta;
        }
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments });
        Call::post("/mcp", message.to_string())
    };
    let body = json!({ "email": email }).to_string();
    [
        sign_up(email),
        Call::post(ALIAS, body),
        tool(None),
        tool(Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        })))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "subscribe_newsletter"),
    ]
}

/// All of an answer that may not depend on whether the address is there.
fn whole(mut reply: Reply) -> String {
    for name in ["date", "x-request-id"] {
        reply.headers.remove(name);
    }
    format!("{reply:?}")
}

/// The answers to strangers who sign ada@example.com up, one after the other, when as many others
/// as `owners` signed `address` up before.
async fn told_to_strangers(way: usize, owners: u8, address: &str) -> Vec<String> {
    let app = TestApp::new();
    for owner in 1..=owners {
        let owner = format!("203.0.113.{owner}");
        app.send(ways(address)[way].clone().from(&owner)).await;
    }
    let key = mint(&app).await;
    let mut told = Vec::new();
    // Three times from one network, then from more than are remembered, by network and by key.
    for (stranger, presents) in [
        (1, false),
        (1, false),
        (1, false),
        (2, true),
        (3, true),
        (3, false),
        (4, false),
        (1, false),
        (5, false),
        (6, false),
        (2, false),
        (7, true),
    ] {
        app.clock.advance_ms(1000);
        let mut call = ways("ada@example.com")[way].clone();
        call = call.from(&format!("198.51.100.{stranger}"));
        if presents {
            call = call.bearer(&key);
        }
        told.push(whole(app.send(call).await));
    }
    told
}

#[tokio::test]
async fn a_stranger_gets_the_same_answers_for_a_known_and_an_unknown_address() {
    for way in 0..ways("").len() {
        for owners in [1, 3, 4, 6] {
            let known = told_to_strangers(way, owners, "ada@example.com").await;
            let unknown = told_to_strangers(way, owners, "bob@example.com").await;
            assert_eq!(known, unknown, "way {way}, {owners} owners");
            // The first time it did not sign it up before, then it did.
            for (answer, told) in known.iter().zip(["false", "true", "true"]) {
                let answer = answer.replace('\\', "");
                assert!(answer.contains("200"), "{answer}");
                let member = format!("\"alreadyExists\":{told}");
                assert!(answer.contains(&member), "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn every_document_says_who_is_told() {
    let app = TestApp::new();
    let docs = app
        .send(Call::get("/docs").header("accept", "text/html"))
        .await;
    let docs = String::from_utf8(docs.body.to_vec()).unwrap();
    assert!(docs.contains("the same answer for a known address as for a new one"));
    let api = app.send(Call::get("/openapi.json")).await.json();
    let schema = &api["components"]["schemas"]["NewsletterSubscribeResponse"];
    let said = &schema["properties"]["alreadyExists"]["description"];
    assert!(
        said.as_str()
            .unwrap()
            .contains("others get the same answer")
    );
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let list = app.send(Call::post("/mcp", list.to_string())).await.json();
    let tool = &list["result"]["tools"][2];
    assert_eq!(tool["name"], "subscribe_newsletter");
    let told = &tool["outputSchema"]["properties"]["alreadyExists"];
    assert_eq!(told["description"], *said);
}

#[tokio::test]
async fn four_signers_are_remembered_and_the_oldest_leaves() {
    let app = TestApp::new();
    for (client, told) in [
        (1, false),
        (2, false),
        (3, false),
        (4, false),
        (1, true),
        (5, false),
        // Of 2, 3, 4, 1 and 5, it was the oldest.
        (2, false),
        (1, true),
        (5, true),
        (3, false),
    ] {
        let call = sign_up("ada@example.com").from(&format!("198.51.100.{client}"));
        assert_eq!(already_exists(&app.send(call).await), Some(told));
    }
}

#[tokio::test]
async fn of_two_at_once_by_one_client_one_is_told_and_by_two_neither() {
    for (other, mut told) in [
        (VISITOR, [Some(false), Some(true)]),
        ("198.51.100.7", [Some(false), Some(false)]),
    ] {
        let app = TestApp::new();
        let (one, two) = tokio::join!(
            app.send(sign_up("ada@example.com")),
            app.send(sign_up("ada@example.com").from(other))
        );
        let mut answers = [already_exists(&one), already_exists(&two)];
        answers.sort_unstable();
        told.sort_unstable();
        assert_eq!(answers, told, "{other}");
    }
}

#[tokio::test]
async fn eight_requests_for_a_pair_pass_and_the_ninth_waits_exactly_as_told() {
    let app = TestApp::new();
    for remaining in (0..8).rev() {
        let path = if remaining % 2 == 0 { PATH } else { ALIAS };
        let body = r#"{"email":"ada@example.com"}"#;
        let reply = app.send(Call::post(path, body)).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.remaining(), remaining, "both paths share a count");
        app.clock.advance_ms(1000);
    }
    let refused = app.send(sign_up("ada@example.com")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.code(), "rate_limited");
    assert_eq!(refused.json()["violated-policies"], json!(["newsletter"]));
    assert_eq!(refused.retry_after_s(), 900 - 8);

    // Neither another address nor another network has to wait.
    for call in [
        sign_up("bob@example.com"),
        sign_up("ada@example.com").from("198.51.100.7"),
    ] {
        assert_eq!(app.send(call).await.status, StatusCode::OK);
    }
    app.clock.advance_ms((900 - 8) * 1000 - 1);
    let early = app.send(sign_up("ada@example.com")).await;
    assert_eq!(early.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(early.retry_after_s(), 1);
    app.clock.advance_ms(1);
    let punctual = app.send(sign_up("ada@example.com")).await;
    assert_eq!(punctual.status, StatusCode::OK);
}

#[tokio::test]
async fn the_spelling_of_an_address_buys_no_second_window() {
    let app = TestApp::new();
    for email in ["ada@example.com", "ADA@example.com", "Ada@EXAMPLE.com"] {
        app.send(sign_up(email)).await;
    }
    assert_eq!(app.send(sign_up("ada@example.com")).await.remaining(), 4);
}

#[tokio::test]
async fn one_network_cannot_sign_up_endless_addresses() {
    let app = TestApp::new();
    let mut kept = 0;
    for number in 0..500 {
        let reply = app
            .send(sign_up(&format!("user{number}@example.com")))
            .await;
        if reply.status == StatusCode::OK {
            kept += 1;
        } else {
            assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(reply.policy(), "newsletter-ip");
        }
    }
    assert_eq!((kept, app.contacts.len()), (120, 120));
}

#[tokio::test]
async fn bad_requests_keep_nothing_and_charge_nothing() {
    let app = TestApp::new();
    let long = json!({"email": format!("{}@example.com", "x".repeat(250))}).to_string();
    for path in [PATH, ALIAS] {
        for (body, pointer, code) in [
            ("{}", "#/email", "required"),
            (r#"{"email":""}"#, "#/email", "format"),
            (r#"{"email":null}"#, "#/email", "type"),
            (r#"{"email":["a@b.com"]}"#, "#/email", "type"),
            (r#"{"email":" ada@example.com"}"#, "#/email", "format"),
            (r#"{"email":"ada@example.com "}"#, "#/email", "format"),
            (r#"{"email":"Ada <ada@example.com>"}"#, "#/email", "format"),
            (r#"{"email":"ada@localhost"}"#, "#/email", "format"),
            (&long, "#/email", "length"),
            (
                r#"{"email":"ada@example.com","name":"Ada"}"#,
                "#/name",
                "unknown_member",
            ),
            (
                r#"{"email":"ada@example.com","email":"bob@example.com"}"#,
                "#/email",
                "duplicate_member",
            ),
        ] {
            let reply = app.send(Call::post(path, body.to_owned())).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:.60}");
            assert_eq!(reply.errors(), [(pointer.to_owned(), code.to_owned())]);
            assert_eq!(reply.policy(), "default");
            let text = String::from_utf8(reply.body.to_vec()).unwrap();
            assert!(!text.contains("ada@"), "input is not repeated: {text}");
        }
    }
    assert!(app.contacts.is_empty());
    assert_eq!(app.send(sign_up("ada@example.com")).await.remaining(), 7);
}

#[tokio::test]
async fn a_contact_that_cannot_be_kept_is_503() {
    let app = TestApp::new();
    for failure in [
        StoreError::Overloaded,
        StoreError::Unavailable("disk on fire".to_owned()),
    ] {
        app.contacts.fail_with(Some(failure));
        let reply = app.send(sign_up("ada@example.com")).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.code(), "newsletter_unavailable");
        assert_eq!(
            (reply.policy(), reply.remaining()),
            ("newsletter".to_owned(), 8)
        );
    }
    app.contacts.fail_with(None);
    assert!(app.contacts.is_empty());
    let reply = app.send(sign_up("ada@example.com")).await;
    assert_eq!(reply.json()["alreadyExists"], Value::Bool(false));
}
