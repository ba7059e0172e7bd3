//! `POST /api/v1/newsletter` and its legacy alias.

use hyper::StatusCode;
use landing_api::domain::contact::RevealExisting;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::{ContactStore, StoreError};
use serde_json::{Value, json};

use crate::harness::{Call, NOW, Reply, Setup, TestApp};

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
        (sign_up("ada@example.com").from("198.51.100.7"), None),
        (
            sign_up("ada@example.com")
                .from("198.51.100.7")
                .bearer(&mint(&app).await),
            None,
        ),
    ] {
        assert_eq!(already_exists(&app.send(call).await), told);
    }
}

#[tokio::test]
async fn neighbours_in_an_ipv6_network_are_one_client() {
    let app = TestApp::new();
    app.send(sign_up("ada@example.com").from("2001:db8::1"))
        .await;
    for (peer, told) in [("2001:db8::ffff", Some(true)), ("2001:db8:0:1::1", None)] {
        let reply = app.send(sign_up("ada@example.com").from(peer)).await;
        assert_eq!(already_exists(&reply), told, "{peer}");
    }
}

#[tokio::test]
async fn the_operator_decides_who_is_told() {
    for (reveal_existing, new, same, other) in [
        (RevealExisting::Never, None, None, None),
        (RevealExisting::SameClient, Some(false), Some(true), None),
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
        ("x-forwarded-for", "198.51.100.2", None),
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

#[tokio::test]
async fn another_client_sees_the_same_bytes_for_two_addresses_that_are_there() {
    let app = TestApp::new();
    app.send(sign_up("ada@example.com")).await;
    app.send(sign_up("bob@example.com").from("203.0.113.9"))
        .await;
    let ask = async |email: &str| app.send(sign_up(email).from("198.51.100.7")).await.body;
    assert_eq!(ask("ada@example.com").await, ask("bob@example.com").await);
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
        assert_eq!(reply.policy(), "newsletter");
    }
    app.contacts.fail_with(None);
    assert!(app.contacts.is_empty());
    let reply = app.send(sign_up("ada@example.com")).await;
    assert_eq!(reply.json()["alreadyExists"], Value::Bool(false));
}
