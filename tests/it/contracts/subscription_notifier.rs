//! What every [`SubscriptionNotifier`] does: the provider has a sign-up exactly if it said so.

use landing_api::adapters::memory::ScriptedSubscriptionNotifier;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::webhook::WebhookNotifier;
use landing_api::domain::contact::Notice;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::{NotifyError, SubscriptionNotifier};
use tokio_util::sync::CancellationToken;

use crate::harness::NOW;
use crate::notify::webhook;
use crate::provider::{Provider, Script};

fn notices() -> Vec<Notice> {
    let notice = |(id, email): (u8, &str)| Notice {
        id: [id; 16],
        email: EmailAddress::parse(email).unwrap(),
        at: NOW,
    };
    // The same address again is another sign-up.
    [
        (1, "ada@example.com"),
        (2, "bob@example.com"),
        (3, "ada@example.com"),
    ]
    .into_iter()
    .map(notice)
    .collect()
}

/// `works` reaches its provider, which then says what it was told through `told`; `fails` does not.
async fn check(
    works: &dyn SubscriptionNotifier,
    told: impl Fn() -> Vec<String>,
    fails: &dyn SubscriptionNotifier,
) {
    for notice in notices() {
        assert_eq!(works.notify(&notice).await, Ok(()));
        let error = fails.notify(&notice).await.unwrap_err();
        assert!(!error.to_string().contains(notice.email.as_str()));
    }
    assert_eq!(
        told(),
        ["ada@example.com", "bob@example.com", "ada@example.com"]
    );
}

fn told(twin: &ScriptedSubscriptionNotifier) -> Vec<String> {
    let notices = twin.told().into_iter();
    notices
        .map(|notice| notice.email.as_str().to_owned())
        .collect()
}

#[tokio::test]
async fn the_twin_fulfils_it() {
    let works = ScriptedSubscriptionNotifier::default();
    let fails = ScriptedSubscriptionNotifier::default();
    fails.fail_with(Some(NotifyError::Overloaded));
    check(&works, || told(&works), &fails).await;
}

/// The addresses that `provider` was sent, oldest first.
fn posted(provider: &Provider) -> Vec<String> {
    let requests = provider.requests().into_iter();
    requests
        .map(|request| {
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            body["data"]["email"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[tokio::test]
async fn the_webhook_fulfils_it() {
    let good = Provider::start(Script::Answer(202)).await;
    let bad = Provider::start(Script::Answer(500)).await;
    let (works, fails) = (webhook(&good.url("/"), None), webhook(&bad.url("/"), None));
    check(&works, || posted(&good), &fails).await;
}

#[tokio::test]
async fn an_interrupted_webhook_fails_and_posts_nothing() {
    let provider = Provider::start(Script::Answer(202)).await;
    let (url, interrupt) = (provider.url("/"), CancellationToken::new());
    interrupt.cancel();
    let fails = WebhookNotifier::open(&url, None, Roots::of([]), interrupt).unwrap();
    // The check would see twice what the failing one posts.
    check(&webhook(&url, None), || posted(&provider), &fails).await;
}
