//! What every [`SignUps`] does: the provider has a sign-up exactly if it said so.

use landing_api::domain::contact::SignUp;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::{NotifyError, SignUps};
use tokio_util::sync::CancellationToken;

use crate::fixtures::{origin, sign_up_of};
use crate::harness::NOW;
use crate::notify::{webhook, webhook_client};
use crate::provider::{Provider, Script};
use crate::twins::ScriptedSignUps;

fn sign_ups() -> Vec<SignUp> {
    let sign_up = |(seed, email): (u8, &str)| {
        let email = EmailAddress::parse(email).unwrap();
        sign_up_of(email, origin(seed, None), NOW)
    };
    // The same address again is another sign-up.
    [
        (1, "ada@example.com"),
        (2, "bob@example.com"),
        (3, "ada@example.com"),
    ]
    .into_iter()
    .map(sign_up)
    .collect()
}

/// `works` reaches its provider, which then says what it was told through `told`; `fails` does not.
async fn check(works: &dyn SignUps, told: impl Fn() -> Vec<String>, fails: &dyn SignUps) {
    for sign_up in sign_ups() {
        assert_eq!(works.take(sign_up.clone()).await, Ok(()));
        let error = fails.take(sign_up.clone()).await.unwrap_err();
        assert!(!error.to_string().contains(sign_up.email.as_str()));
    }
    assert_eq!(
        told(),
        ["ada@example.com", "bob@example.com", "ada@example.com"]
    );
}

fn told(twin: &ScriptedSignUps) -> Vec<String> {
    let taken = twin.taken().into_iter();
    taken.map(|it| it.email.as_str().to_owned()).collect()
}

#[tokio::test]
async fn the_twin_fulfils_it() {
    let works = ScriptedSignUps::default();
    let fails = ScriptedSignUps::default();
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
    let fails = webhook_client(&url, None, interrupt);
    // The check would see twice what the failing one posts.
    check(&webhook(&url, None), || posted(&provider), &fails).await;
}
