//! The checks that keep bots out: the honeypot, the time that people need, and the proof of work.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landing_api::domain::policy::PolicyName;
use landing_api::ports::{Clock as _, StoreError, WindowSet};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    ONCE_MORE, PATH, THANKS, again, assert_nothing_done, charged, form, hidden, is_kept, leads_to,
    stopped, taken, unescaped,
};
use crate::harness::{Call, Reply, Setup, TestApp};

#[tokio::test]
async fn a_filled_honeypot_looks_like_a_success_and_keeps_nothing() {
    let app = TestApp::new();
    for body in [
        "email=ada@example.com&website=https://spam.example",
        "email=nonsense&website=x",
    ] {
        leads_to(&app, form(body), THANKS).await;
    }
    let body = "email=ada@example.com&website=x&redirect=/docs&lang=fr";
    leads_to(&app, form(body), "/docs").await;
    assert_eq!(stopped(&app), [3, 0, 0]);
    assert_nothing_done(&app);
    // People leave it empty.
    taken(&app, form("email=ada@example.com&website=")).await;
    assert!(is_kept(&app, "ada@example.com").await);
}

#[tokio::test]
async fn a_form_that_was_shown_has_to_be_filled_in_by_people() {
    let app = TestApp::new();
    let shown = app.send(Call::get(PATH)).await;
    let began = hidden(&shown, "began");
    let body = format!("email=ada@example.com&began={began}");
    app.clock.advance_ms(1999);
    let reply = again(&app, form(&body), ONCE_MORE).await;
    assert!(
        reply
            .text()
            .contains("takes nothing in the first two seconds")
    );
    assert!(reply.text().contains("value=\"ada@example.com\""));
    assert_eq!(hidden(&reply, "began"), began, "nobody has to wait anew");
    app.clock.advance_ms(1);
    for forged in [
        "x",
        "0",
        "1.2",
        &format!("{began}0"),
        &began.replace('.', "%2E1"),
    ] {
        let body = format!("email=ada@example.com&began={forged}");
        let reply = again(&app, form(&body), ONCE_MORE).await;
        assert_ne!(hidden(&reply, "began"), forged);
    }
    assert_eq!(stopped(&app), [0, 6, 0]);
    assert_nothing_done(&app);
    taken(&app, form(&body)).await;
    assert!(is_kept(&app, "ada@example.com").await);
    // A form that was left open overnight is shown anew.
    app.clock.advance_ms(86_400_000);
    let reply = again(&app, form(&body), ONCE_MORE).await;
    assert!(reply.text().contains("was open too long"));
    let body = body.replace(&began, &hidden(&reply, "began"));
    app.clock.advance_ms(2000);
    taken(&app, form(&body)).await;
}

async fn challenge(app: &TestApp) -> Value {
    let reply = app.expect("200", Call::get("/newsletter/challenge")).await;
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    reply.json()
}

/// The field that ALTCHA's widget sends for a challenge.
fn solved(challenge: &Value) -> Value {
    let [salt, wanted] = ["salt", "challenge"].map(|name| challenge[name].as_str().unwrap());
    let hash = |number: &u64| {
        let digest = Sha256::digest(format!("{salt}{number}"));
        data_encoding::HEXLOWER.encode(&digest)
    };
    let most = challenge["maxnumber"].as_u64().unwrap();
    let number = (0..=most).find(|number| hash(number) == wanted).unwrap();
    json!({
        "algorithm": challenge["algorithm"],
        "challenge": wanted,
        "number": number,
        "salt": salt,
        "signature": challenge["signature"],
        "took": 5,
    })
}

fn with_proof(email: &str, payload: &Value) -> Call {
    let altcha = STANDARD.encode(payload.to_string()).replace('+', "%2B");
    form(&format!("email={email}&altcha={altcha}"))
}

/// The challenge on the page that asks for a proof.
fn challenge_of(reply: &Reply) -> Value {
    let (_, rest) = reply.text().split_once("data-challenge=\"").unwrap();
    serde_json::from_str(&unescaped(rest.split('"').next().unwrap())).unwrap()
}

#[tokio::test]
async fn past_the_soft_limit_a_proof_of_work_is_wanted_and_enough() {
    let app = TestApp::new();
    for name in ["a", "b", "c"] {
        taken(&app, form(&format!("email={name}@example.com"))).await;
    }
    let reply = again(
        &app,
        form("email=d@example.com"),
        "403 Please try again in 15 minutes.",
    )
    .await;
    assert_eq!(reply.policy(), "newsletter-form");
    assert_eq!(reply.header("retry-after"), None);
    assert!(reply.text().contains("value=\"d@example.com\""));
    assert!(reply.text().contains("data-form=\"proof\""));
    assert!(!is_kept(&app, "d@example.com").await);
    // The page has a challenge of its own.
    let call = with_proof("d@example.com", &solved(&challenge_of(&reply)));
    taken(&app, call.clone()).await;
    assert!(is_kept(&app, "d@example.com").await);
    // It counts once, and no other sign-up is free of it.
    again(&app, call, ONCE_MORE).await;
    again(&app, form("email=e@example.com"), "403 15 minutes").await;
    assert_eq!(stopped(&app), [0, 0, 3]);
    // Neither the API nor anybody else is concerned.
    let api = app.expect("200", Call::sign_up("e@example.com")).await;
    assert!(!api.policies().contains("newsletter-form"));
    let elsewhere = form("email=f@example.com").from("198.51.100.2");
    taken(&app, elsewhere).await;
    // A place is free after the window.
    app.clock.advance_ms(15 * 60 * 1000);
    taken(&app, form("email=g@example.com")).await;
}

#[tokio::test]
async fn the_forms_of_a_home_count_together() {
    let app = TestApp::new();
    let from = |third: &str, name: &str| {
        form(&format!("email={name}@example.com")).from(&format!("2001:db8:1:{third}::1"))
    };
    for (third, name) in [("ff00", "a"), ("ff01", "b"), ("ff80", "c")] {
        taken(&app, from(third, name)).await;
    }
    again(&app, from("ffff", "d"), "403 15 minutes").await;
    taken(&app, from("fe00", "d")).await;
}

#[tokio::test]
async fn a_used_proof_stays_used_when_limits_are_reset() {
    let setup = Setup::default().limit("newsletter-form", "1/15m");
    let limiter = Arc::clone(&setup.limiter);
    let app = setup.start();
    taken(&app, form("email=a@example.com")).await;
    let reply = app.send(form("email=b@example.com")).await;
    let call = with_proof("b@example.com", &solved(&challenge_of(&reply)));
    taken(&app, call.clone()).await;
    for which in [
        WindowSet::Policy(PolicyName::NewsletterForm),
        WindowSet::All,
    ] {
        limiter.reset(which).await.unwrap();
        again(&app, call.clone(), ONCE_MORE).await;
    }
    // Nor is it one of the clients that the policy counts.
    let quota = "1/15m".parse().unwrap();
    let now = app.clock.now();
    let busiest = limiter.busiest(PolicyName::NewsletterForm, quota, 9, now);
    assert_eq!(busiest.await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_proof_is_not_used_up_by_a_sign_up_that_fails() {
    let app = TestApp::new();
    let payload = solved(&challenge(&app).await);
    again(
        &app,
        with_proof("nonsense", &payload),
        "400 Please check the address.",
    )
    .await;
    app.contacts.fail_with(Some(StoreError::Overloaded));
    let call = with_proof("ada@example.com", &payload);
    again(&app, call.clone(), "503 in a few minutes").await;
    app.contacts.fail_with(None);
    taken(&app, call).await;
    assert_eq!(stopped(&app), [0, 0, 0]);
}

#[tokio::test]
async fn a_proof_that_is_wrong_forged_or_late_is_none() {
    let app = TestApp::new();
    let right = solved(&challenge(&app).await);
    let number = right["number"].as_u64().unwrap();
    let changed = |name: &str, value: Value| {
        let mut payload = right.clone();
        payload[name] = value;
        payload
    };
    let mut lacking = right.clone();
    lacking.as_object_mut().unwrap().remove("salt");
    for wrong in [
        json!({}),
        json!([]),
        json!("proof"),
        json!({ "test": true }),
        lacking,
        changed("number", json!(number + 1)),
        changed("number", json!(-1)),
        changed("number", json!(number.to_string())),
        changed("algorithm", json!("SHA-1")),
        changed("signature", json!("")),
        changed("signature", json!("0".repeat(64))),
        changed("challenge", json!("0".repeat(64))),
        changed("salt", json!("")),
    ] {
        again(&app, with_proof("ada@example.com", &wrong), ONCE_MORE).await;
    }
    for text in ["x", "%FF", "====", "e30="] {
        let body = format!("email=a@example.com&altcha={text}");
        let reply = app.send(form(&body)).await;
        assert!(reply.status.is_client_error(), "{text}");
    }
    app.clock.advance_ms(10 * 60 * 1000);
    again(&app, with_proof("ada@example.com", &right), ONCE_MORE).await;
    assert_nothing_done(&app);
}

#[tokio::test]
async fn without_checks_every_form_is_taken() {
    let app = Setup {
        checks_forms: false,
        ..Setup::default()
    }
    .start();
    let shown = app.send(Call::get(PATH)).await;
    assert!(!shown.text().contains("began"));
    for name in ["a", "b", "c", "d", "e"] {
        let body = format!("email={name}@example.com&website=x&began=1&altcha=2");
        taken(&app, form(&body)).await;
    }
    assert_eq!(app.contacts.len(), 5);
    assert_eq!(stopped(&app), [0, 0, 0]);
    assert_eq!(charged(&app, PolicyName::NewsletterForm), 0);
}
