//! What is to be delivered.

use std::sync::Arc;

use landing_api::domain::delivery::{Channel, Failure};
use landing_api::ports::DeliveryQueue as _;
use landing_api::usecases::deliver::deliver_to_webhook;

use super::Desk;
use crate::harness::Setup;
use crate::twins::ScriptedWebhookSender;

#[tokio::test]
async fn deliveries_are_listed_retried_dropped_and_held() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let desk = Desk::over(Setup {
        webhook: Some(webhook.clone()),
        ..Setup::default()
    });
    let login = desk.sign_in().await;
    let empty = desk.get(&login, "/queue").await;
    assert!(empty.text.contains("No results."), "{}", empty.text);
    for name in ["ada", "bob"] {
        desk.sign_up(&format!("{name}@example.com")).await;
    }
    let gone = |error: &str| Failure::Final(error.to_owned());
    webhook.fail_with([gone("answered <b>"), gone("answered 500")]);
    let app = &desk.app.app;
    let delivered = deliver_to_webhook(app.deliveries(), &*webhook).await;
    assert_eq!(delivered.unwrap(), 2);
    let listed = desk.get(&login, "/queue?sort=state").await.text;
    for part in ["given up", "answered &lt;b&gt;", "ada@example.com"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let ids: Vec<_> = listed
        .split("/queue/drop?id=")
        .skip(1)
        .map(|it| it[..36].to_owned())
        .collect();
    assert_eq!(ids.len(), 2);
    let done = desk
        .confirm(&login, "/queue/retry", &format!("id={}", ids[0]))
        .await;
    assert!(done.text.contains("<h1>Due now</h1>"), "{}", done.text);
    let done = desk
        .confirm(&login, "/queue/drop", &format!("id={}", ids[1]))
        .await;
    assert!(done.text.contains("<h1>Dropped</h1>"), "{}", done.text);
    let standing = async || desk.app.contacts.standing(Channel::Webhook).await.unwrap();
    assert_eq!((standing().await.waiting, standing().await.dead), (1, 0));
    for (page, is_held, state) in [
        ("hold", true, "Webhook: <b>paused</b>, 1 pending."),
        ("release", false, "Webhook: <b>running</b>, 1 pending."),
    ] {
        let listed = desk.get(&login, "/queue").await.text;
        let link = format!("href=\"/queue/{page}?channel=webhook\"");
        assert!(listed.contains(&link), "{listed}");
        let path = format!("/queue/{page}");
        desk.confirm(&login, &path, "channel=webhook").await;
        assert_eq!(standing().await.is_held, is_held);
        let listed = desk.get(&login, "/queue").await.text;
        assert!(listed.contains(state), "{listed}");
    }
    for bad in ["id=x", "id=", "channel=webhook"] {
        let asked = desk.get(&login, &format!("/queue/drop?{bad}")).await;
        assert_eq!(asked.status, 400, "{bad}");
    }
}
