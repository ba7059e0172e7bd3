//! `POST /api/v1/newsletter` and its legacy alias.

use crate::prelude::*;

const PATH: &str = "/api/v1/newsletter";
const ALIAS: &str = "/api/newsletter";

fn ada() -> Call {
    Call::sign_up("ada@example.com")
}

/// Fails unless the answer says so much of the address having been there.
async fn check_told(app: &TestApp, call: Call, expected: Option<bool>) {
    let what = call.told();
    let mut body = app.expect("200", call).await.json();
    assert_eq!(body["ok"], true);
    assert_eq!(body["mode"], "contact");
    let members = body.as_object_mut().unwrap();
    let told = members.remove("alreadyExists");
    assert_eq!(members.len(), 2);
    assert_eq!(told, expected.map(Value::Bool), "{what}");
}

#[tokio::test]
async fn an_address_is_kept_in_lower_case_with_the_times_of_its_first_and_last_sign_up() {
    let app = TestApp::new();
    check_told(&app, Call::sign_up("Ada@Example.COM"), Some(false)).await;
    app.clock.advance_ms(5000);
    check_told(&app, Call::sign_up("ADA@example.com"), Some(true)).await;
    let contact = app.contact("ada@example.com").await.unwrap();
    assert_eq!(contact.email.as_str(), "ada@example.com");
    assert_eq!(contact.subscribed_at, NOW);
    assert_eq!(contact.last_seen_at, NOW.plus_ms(5000));
    assert_eq!(app.contacts.len(), 1);
    // Nor does its spelling buy a second window.
    assert_eq!(app.send(ada()).await.shown(), "newsletter 5");
}

#[tokio::test]
async fn only_the_client_that_signed_an_address_up_learns_that_it_is_there() {
    let app = TestApp::new();
    let signed = ada().bearer(&app.mint().await);
    for (call, told) in [
        (signed.clone(), false),
        (ada(), true),
        (signed.clone().from("198.51.100.7"), true),
        (ada().from("203.0.113.9"), false),
        (ada().from("203.0.113.10").bearer(&app.mint().await), false),
        (signed.from("203.0.113.11"), true),
        // Neighbours in an IPv6 network are one client.
        (ada().from("2001:db8::1"), false),
        (ada().from("2001:db8:0:ff::1"), true),
        (ada().from("2001:db8:0:100::1"), false),
    ] {
        check_told(&app, call, Some(told)).await;
    }
}

#[tokio::test]
async fn where_nothing_is_told_a_known_address_has_the_headers_of_a_new_one() {
    // Others may sit behind a proxy that is not trusted.
    let proxied = |call: Call| call.header("x-forwarded-for", "198.51.100.7");
    let limits = async |address: &str, is_failing: bool| {
        let app = TestApp::new();
        app.expect("200", proxied(ada())).await;
        let failure = StoreError::Unavailable("gone".to_owned());
        app.contacts.fail_with(is_failing.then_some(failure));
        let reply = app.send(proxied(Call::sign_up(address))).await;
        let headers = ["", "-policy", "-limit", "-remaining", "-reset"];
        let headers =
            headers.map(|end| reply.header(&format!("ratelimit{end}")).unwrap().to_owned());
        (reply.status.as_u16(), headers)
    };
    for (is_failing, status) in [(false, 200), (true, 503)] {
        let known = limits("ada@example.com", is_failing).await;
        assert_eq!(known, limits("bob@example.com", is_failing).await);
        assert_eq!(known.0, status);
        assert!(known.1[0].starts_with("\"newsletter-ip\""), "{known:?}");
    }
    // The limit holds, and says so.
    let app = TestApp::new();
    for _ in 0..8 {
        app.expect("200", proxied(ada())).await;
    }
    let refused = app.expect("429", proxied(ada())).await;
    assert_eq!(refused.shown(), "newsletter 0");
}

#[tokio::test]
async fn nothing_is_told_behind_a_proxy_that_is_not_trusted() {
    let app = TestApp::new();
    for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        for _ in 0..2 {
            check_told(&app, ada().header(header, "198.51.100.7"), None).await;
        }
    }
}

#[tokio::test]
async fn who_sits_beside_a_proxy_is_not_told_of_those_behind_it() {
    let app = TestApp::new();
    let behind = ada().header("x-forwarded-for", "198.51.100.7");
    app.send(behind.clone()).await;
    for told in [Some(false), Some(true)] {
        check_told(&app, ada(), told).await;
    }
    // A key is its holder's wherever it is presented.
    let key = app.mint().await;
    app.send(behind.bearer(&key)).await;
    check_told(&app, ada().from("203.0.113.9").bearer(&key), Some(true)).await;
}

#[tokio::test]
async fn behind_a_trusted_proxy_only_the_same_visitor_is_told() {
    let app = Setup::default().behind(&["192.0.2.0/24"]).start();
    for (header, value, told) in [
        ("x-forwarded-for", "198.51.100.1", Some(false)),
        ("x-forwarded-for", "198.51.100.1", Some(true)),
        ("x-forwarded-for", "198.51.100.2", Some(false)),
        // Who it is is not known.
        ("x-forwarded-for", "198.51.100.1, unknown", None),
        ("x-real-ip", "198.51.100.1", None),
        ("forwarded", "for=198.51.100.1", None),
    ] {
        check_told(&app, ada().header(header, value), told).await;
    }
    // A proxy that says nothing: all its visitors share its address.
    for _ in 0..2 {
        check_told(&app, Call::sign_up("bob@example.com"), None).await;
    }
}

/// The ways to sign `email` up: both paths, and the tool of both kinds of MCP.
fn ways(email: &str) -> [Call; 4] {
    let params = json!({ "name": "subscribe_newsletter", "arguments": { "email": email } });
    [
        Call::sign_up(email),
        Call::sign_up(email).to(ALIAS),
        mcp::plain("tools/call", &params),
        mcp::modern("tools/call", params),
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
    let key = app.mint().await;
    let mut told = Vec::new();
    // Three times from one network, then from more than are remembered, by network and by key.
    for stranger in "1,1,1,2 key,3 key,3,4,1,5,6,2,7 key".split(',') {
        app.clock.advance_ms(1000);
        let call = ways("ada@example.com")[way].clone();
        let from = |host: &str| call.from(&format!("198.51.100.{host}"));
        let call = match stranger.strip_suffix(" key") {
            Some(host) => from(host).bearer(&key),
            None => from(stranger),
        };
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
                assert_present(&answer, &["200", &format!("\"alreadyExists\":{told}")]);
            }
        }
    }
}

#[tokio::test]
async fn every_document_says_who_is_told() {
    let app = TestApp::new();
    let docs = Call::get("/docs").header("accept", "text/html");
    let docs = app.send(docs).await;
    assert!(docs.text().contains("for known and new addresses alike"));
    let api = app.send(Call::get("/openapi.json")).await.json();
    let schema = &api["components"]["schemas"]["NewsletterSubscribeResponse"];
    let said = &schema["properties"]["alreadyExists"]["description"];
    let text = said.as_str().unwrap();
    assert!(text.contains("other clients get it for known"));
    let tool = &mcp::listed(&app).await[2];
    assert_eq!(tool["name"], "subscribe_newsletter");
    let told = &tool["outputSchema"]["properties"]["alreadyExists"];
    assert_eq!(told["description"], *said);
}

#[tokio::test]
async fn eight_requests_for_a_pair_pass_and_the_ninth_waits_exactly_as_told() {
    let app = TestApp::new();
    for remaining in (0..8).rev() {
        let path = if remaining % 2 == 0 { PATH } else { ALIAS };
        let reply = app.expect("200", ada().to(path)).await;
        assert_eq!(reply.remaining(), remaining, "both paths share a count");
        app.clock.advance_ms(1000);
    }
    let refused = app.expect("429 rate_limited", ada()).await;
    assert_eq!(refused.json()["violated-policies"], json!(["newsletter"]));
    assert_eq!(refused.retry_after_s(), 900 - 8);

    // Neither another address nor another network has to wait.
    app.expect("200", Call::sign_up("bob@example.com")).await;
    app.expect("200", ada().from("198.51.100.7")).await;
    app.clock.advance_ms((900 - 8) * 1000 - 1);
    assert_eq!(app.expect("429", ada()).await.retry_after_s(), 1);
    app.clock.advance_ms(1);
    app.expect("200", ada()).await;
}

#[tokio::test]
async fn a_contact_that_cannot_be_kept_is_503() {
    let app = TestApp::new();
    let on_fire = StoreError::Unavailable("disk on fire".to_owned());
    for failure in [StoreError::Overloaded, on_fire] {
        app.contacts.fail_with(Some(failure));
        let reply = app.expect("503 newsletter_unavailable", ada()).await;
        assert_eq!(reply.shown(), "newsletter 8");
    }
    app.contacts.fail_with(None);
    assert!(app.contacts.is_empty());
    check_told(&app, ada(), Some(false)).await;
}
