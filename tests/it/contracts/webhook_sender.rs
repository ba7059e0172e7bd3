//! What every [`WebhookSender`] does: the webhook has a message exactly if it said so.

use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{DeliveryId, DeliveryKind, Failure};
use landing_api::ports::WebhookSender;

use crate::notify::{direct_webhook, webhook_client};
use crate::prelude::*;
use crate::provider::Script;

/// `works` reaches its webhook, which then says what it was told through `told`; `fails` does not.
async fn check(
    works: &dyn WebhookSender,
    told: impl Fn() -> Vec<String>,
    fails: &dyn WebhookSender,
) {
    let kind = DeliveryKind::Subscribed;
    let mut sent = Vec::new();
    // The same address again is another message.
    for (seed, name) in [(1, "ada"), (2, "bob"), (3, "ada")] {
        let (token, email) = (LeaveToken::from_bytes([seed; 16]), address(name));
        let id = DeliveryId::new(kind, &token, NOW);
        let body = works.write(kind, Some(&email), &token, NOW);
        assert!(body.contains(email.as_str()), "{body}");
        assert_eq!(works.send(id, &body, NOW).await, Ok(()));
        let failed = fails.send(id, &body, NOW).await.unwrap_err();
        let (Failure::Later { error, .. } | Failure::Final(error)) = failed;
        assert!(!error.contains(email.as_str()), "{error}");
        sent.push(body);
    }
    assert_eq!(told(), sent);
}

#[tokio::test]
async fn the_twin_fulfils_it() {
    let works = ScriptedWebhookSender::default();
    let fails = ScriptedWebhookSender::default();
    fails.fail_with([(); 3].map(|()| failed("no")));
    let told = || works.taken().into_iter().map(|(_, body)| body).collect();
    check(&works, told, &fails).await;
}

/// The messages that `provider` was sent, oldest first.
fn posted(provider: &Provider) -> Vec<String> {
    let bodies = provider.requests().into_iter().map(|request| request.body);
    bodies
        .map(|body| String::from_utf8(body).unwrap())
        .collect()
}

#[tokio::test]
async fn the_webhook_fulfils_it() {
    for open in [direct_webhook, webhook_client] {
        let good = Provider::start([Script::answer(202)]).await;
        let bad = Provider::start([Script::answer(500)]).await;
        let (works, fails) = (open(&good.url("/"), None), open(&bad.url("/"), None));
        check(&works, || posted(&good), &fails).await;
    }
}
