//! What the process counts.

use landing_api::domain::credential::Fingerprint;
use landing_api::domain::hourly_counts::Counted;
use landing_api::http::router;
use landing_api::metrics::Histogram;
use landing_api::ports::KeyIssuer;

use crate::prelude::*;

fn requests(metrics: &Metrics, name: &str) -> [u64; 5] {
    let endpoint = &metrics.endpoints[name];
    let requests: Vec<_> = endpoint.by_outcome().map(|(_class, count)| count).collect();
    assert_eq!(count(&endpoint.durations), requests.iter().sum::<u64>());
    requests.try_into().unwrap()
}

fn count(durations: &Histogram) -> u64 {
    durations.buckets().map(|(_bound, count)| count).sum()
}

/// Chat turns in the order of their outcomes.
fn turns(metrics: &Metrics) -> Vec<u64> {
    let turns = metrics.model.by_outcome();
    turns.map(|(_outcome, count)| count).collect()
}

/// What a policy admitted, refused and refunded.
fn charges(metrics: &Metrics, policy: PolicyName) -> (u64, u64, u64) {
    let mut policies = metrics.policies();
    let (_, of) = policies.find(|(name, _)| *name == policy).unwrap();
    (of.admitted.get(), of.refused.get(), of.refunded.get())
}

#[tokio::test]
async fn every_request_counts_once_by_endpoint_and_status() {
    let app = TestApp::new();
    let metrics = &app.metrics;
    app.send(Call::health()).await;
    app.send(Call::head("/api/v1/health")).await;
    app.send(Call::health().bearer("unknown")).await;
    assert_eq!(requests(metrics, "health"), [2, 0, 1, 0, 0]);
    app.send(Call::sign_up("nothing")).await;
    assert_eq!(requests(metrics, "newsletter.subscribe"), [0, 0, 1, 0, 0]);
    app.send(Call::post("/api/v1/health", "")).await;
    assert_eq!(requests(metrics, "wrong_method"), [0, 0, 1, 0, 0]);
    let preflight = Call::preflight("/api/v1/newsletter", "https://shop.example");
    app.send(preflight.clone().without("host")).await;
    assert_eq!(requests(metrics, "wrong_method"), [0, 0, 2, 0, 0]);
    assert_eq!(requests(metrics, "preflight"), [0; 5]);
    app.send(preflight).await;
    assert_eq!(requests(metrics, "preflight"), [1, 0, 0, 0, 0]);
    app.send(Call::get("/secret/path")).await;
    assert_eq!(requests(metrics, "unknown"), [0, 0, 1, 0, 0]);
    let home = app.send(Call::get("/")).await;
    let etag = home.header("etag").unwrap();
    app.send(Call::get("/").header("if-none-match", etag)).await;
    assert_eq!(requests(metrics, "document"), [1, 1, 0, 0, 0]);
    app.keys.fail_with(Some(StoreError::Overloaded));
    app.send(Call::health()).await;
    assert_eq!(requests(metrics, "health"), [2, 0, 1, 1, 0]);
    let totals = metrics.totals();
    assert_eq!(totals.get(Counted::Requests), 11);
    assert_eq!(totals.get(Counted::ClientErrors), 5);
    assert_eq!(totals.get(Counted::ServerErrors), 1);
}

#[tokio::test]
async fn every_endpoint_and_what_is_none_has_its_numbers() {
    let metrics = TestApp::new().metrics;
    for endpoint in router::ENDPOINTS {
        assert!(metrics.endpoints.contains_key(endpoint.name));
    }
    for other in ["unknown", "wrong_method", "preflight"] {
        assert!(metrics.endpoints.contains_key(other));
    }
}

#[tokio::test]
async fn a_panic_is_a_request_that_failed() {
    let app = Setup::with_model(Arc::new(PanickingModelClient)).start();
    app.send(Call::chat()).await;
    assert_eq!(requests(&app.metrics, "assistant.chat"), [0, 0, 0, 1, 0]);
    assert_eq!(turns(&app.metrics), [0, 0, 0, 0, 0, 1]);
}

#[tokio::test]
async fn charges_refusals_and_refunds_count_by_policy() {
    let app = Setup::default().limit("newsletter", "1/60s").start();
    app.send(Call::sign_up("ada@example.com")).await;
    app.send(Call::sign_up("ada@example.com")).await;
    app.contacts.fail_with(Some(StoreError::Overloaded));
    app.send(Call::sign_up("bob@example.com")).await;
    let metrics = &app.metrics;
    assert_eq!(charges(metrics, PolicyName::Newsletter), (2, 1, 1));
    // A refusal charges nothing.
    assert_eq!(charges(metrics, PolicyName::NewsletterIp), (2, 0, 1));
    assert_eq!(charges(metrics, PolicyName::NewsletterAll), (2, 0, 1));
    assert_eq!(charges(metrics, PolicyName::Default), (3, 0, 0));
    assert_eq!(charges(metrics, PolicyName::Assistant), (0, 0, 0));
    let totals = metrics.totals();
    assert_eq!(totals.get(Counted::Refusals), 1);
    // Under the pair, the prefix and all together, and under the network's.
    assert_eq!(totals.get(Counted::Refunds), 4);
}

#[tokio::test]
async fn sign_ups_keys_and_agents_count_when_they_are_there() {
    let app = TestApp::new();
    app.send(Call::sign_up("ada@example.com")).await;
    app.send(Call::sign_up("ada@example.com")).await;
    app.contacts.fail_with(Some(StoreError::Overloaded));
    app.send(Call::sign_up("bob@example.com")).await;
    app.send(Call::mint()).await;
    app.keys.fail_with(Some(StoreError::Overloaded));
    app.send(Call::mint()).await;
    app.send(Call::register()).await;
    let totals = app.metrics.totals();
    assert_eq!(totals.get(Counted::SignUps), 1);
    assert_eq!(totals.get(Counted::Renewals), 1);
    assert_eq!(totals.get(Counted::Keys), 1);
    assert_eq!(totals.get(Counted::Agents), 1);
}

#[tokio::test]
async fn what_the_provider_says_is_counted() {
    let provider = Arc::new(ScriptedWebhookSender::default());
    let app = Setup::with_provider(provider.clone()).start();
    app.send(Call::sign_up("ada@example.com")).await;
    provider.fail_with([failed("no"), failed("no")]);
    app.send(Call::sign_up("bob@example.com")).await;
    app.send(Call::sign_up("bob@example.com")).await;
    let webhook = app.metrics.deliveries(Channel::Webhook);
    assert_eq!(webhook.made.get(), 1);
    assert_eq!(webhook.failed.get(), 2);
    assert_eq!(app.metrics.totals().get(Counted::SignUps), 1);
}

#[tokio::test]
async fn turns_count_by_how_they_ended() {
    let why = || "no".to_owned();
    let model = ScriptedModelClient::new([
        Ok("hello".to_owned()),
        Err(ModelError::NotStarted(why())),
        Err(ModelError::Unusable(why())),
        Err(ModelError::Started(why())),
    ]);
    let app = Setup::with_model(Arc::new(model)).start();
    for _ in 0..4 {
        app.send(Call::chat()).await;
    }
    assert_eq!(turns(&app.metrics), [1, 0, 1, 1, 1, 0]);
    let totals = app.metrics.totals();
    assert_eq!(totals.get(Counted::Chats), 1);
    assert_eq!(totals.get(Counted::FailedChats), 3);
    let error = app.metrics.model.last_error.lock().clone().unwrap();
    assert_eq!(error.text, "model failed after it started: no");
    assert_eq!(error.at, NOW);
}

/// The assistant of the pages says that it does not know; that is no answer, and no failure.
#[tokio::test]
async fn questions_that_the_assistant_knows_no_answer_to_count_apart() {
    let site = render(&facts());
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let app = Setup::with_model(Arc::new(model)).start();
    for (question, turns_then) in [
        ("How do I subscribe to the newsletter?", [1, 0, 0, 0, 0, 0]),
        ("Who won the world cup in 1974?", [1, 1, 0, 0, 0, 0]),
        ("Wer hat 1974 die WM gewonnen?", [1, 2, 0, 0, 0, 0]),
    ] {
        app.expect("200", Call::question(question)).await;
        assert_eq!(turns(&app.metrics), turns_then, "{question}");
    }
    let totals = app.metrics.totals();
    assert_eq!(totals.get(Counted::Chats), 1);
    assert_eq!(totals.get(Counted::UnansweredChats), 2);
    assert_eq!(totals.get(Counted::FailedChats), 0);
    assert_eq!(*app.metrics.model.last_error.lock(), None);
}

#[tokio::test]
async fn the_ledger_counts_batches_that_recorded_something() {
    let metrics = Arc::new(Metrics::new([]));
    let tuning = Tuning {
        metrics: Arc::clone(&metrics),
        ..Tuning::default()
    };
    let house = House::new();
    let opened = house.try_open(tuning).unwrap();
    opened.sign_up("ada").await.unwrap();
    opened.sign_up("ada").await.unwrap();
    // Changes nothing.
    let revoked = KeyIssuer::revoke(&*opened.store, &Fingerprint::from_bytes([9; 32]), START).await;
    assert_eq!(revoked, Ok(false));
    let ledger = &metrics.ledger;
    assert_eq!((count(&ledger.durations), ledger.changes.get()), (2, 2));
    assert!(ledger.durations.sum_us.get() > 0);
    assert_eq!(ledger.failed.get(), 0);
}
