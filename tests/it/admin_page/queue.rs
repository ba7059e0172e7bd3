//! What is to be delivered.

use landing_api::domain::delivery::{Channel, ChannelPause, Failure};
use landing_api::ports::DeliveryQueue as _;
use landing_api::usecases::deliver::deliver_to_webhook;

use super::Desk;
use crate::operator::ask;
use crate::prelude::*;

#[tokio::test]
async fn deliveries_are_listed_retried_dropped_and_held() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let desk = Desk::over(Setup::with_webhook(webhook.clone()));
    let login = desk.sign_in().await;
    let empty = desk.get(&login, "/queue").await;
    empty.check(
        200,
        &[
            "No results.",
            "Webhook: <b>running</b>",
            "Email: not set up.<",
        ],
    );
    for name in ["ada", "bob"] {
        desk.sign_up(&format!("{name}@example.com")).await;
    }
    let gone = |error: &str| Failure::Final(error.to_owned());
    webhook.fail_with([gone("answered <b>"), gone("answered 500")]);
    let app = &desk.app.app;
    let delivered = deliver_to_webhook(app.deliveries(), &*webhook).await;
    assert_eq!(delivered.unwrap(), 2);
    let listed = desk.get(&login, "/queue?sort=state").await;
    listed.check(
        200,
        &[">failed</td>", "answered &lt;b&gt;", "ada@example.com"],
    );
    let links = listed.text.split("/queue/drop?id=").skip(1);
    let ids: Vec<_> = links.map(|link| format!("id={}", &link[..36])).collect();
    assert_eq!(ids.len(), 2);
    for (path, id, done) in [("retry", &ids[0], "Retrying"), ("drop", &ids[1], "Dropped")] {
        let shown = desk.confirm(&login, &format!("/queue/{path}"), id).await;
        shown.check(200, &[&format!("<h1>{done}</h1>")]);
    }
    let standing = async || desk.app.contacts.standing(Channel::Webhook).await.unwrap();
    assert_eq!((standing().await.waiting, standing().await.dead), (1, 0));
    for (page, is_held, state) in [
        ("hold", true, "Webhook: <b>paused</b>, 1 pending."),
        ("release", false, "Webhook: <b>running</b>, 1 pending."),
    ] {
        let link = format!("href=\"/queue/{page}?channel=webhook\"");
        desk.get(&login, "/queue").await.check(200, &[&link]);
        let path = format!("/queue/{page}");
        desk.confirm(&login, &path, "channel=webhook").await;
        assert_eq!(standing().await.is_held, is_held);
        desk.get(&login, "/queue").await.check(200, &[state]);
    }
    for bad in ["id=x", "id=", "channel=webhook"] {
        let asked = desk.get(&login, &format!("/queue/drop?{bad}")).await;
        assert_eq!(asked.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_pause_is_shown_with_its_reason_and_a_retry_ends_that_of_email() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let desk = Desk::over(Setup::with_webhook(webhook));
    let login = desk.sign_in().await;
    desk.sign_up("ada@example.com").await;
    let until = NOW.plus_ms(60_000);
    let reason = "454 4.7.0 <later>".to_owned();
    let counters = desk.app.app.metrics.deliveries(Channel::Mail);
    let pause = || ChannelPause {
        until,
        reason: reason.clone(),
    };
    *counters.pause.lock() = Some(pause());
    let minute = until.to_rfc3339()[..16].replace('T', " ");
    let listed = desk.get(&login, "/queue").await.text;
    let shown =
        format!("Email: <b>paused until {minute} UTC</b> (454 4.7.0 &lt;later&gt;), 0 pending.");
    assert!(listed.contains(&shown), "{listed}");
    let id = &listed.split("/queue/drop?id=").nth(1).unwrap()[..36];

    desk.confirm(&login, "/queue/hold", "channel=webhook").await;
    let note = "<p>Webhook deliveries are paused</p>";
    desk.get(&login, "/").await.check(200, &[note]);
    let row = ask(&desk.app, "queue show", json!({ "id": id })).await;
    let row = row.unwrap();
    let paused = json!("webhook deliveries are paused");
    assert_eq!((&row["state"], &row["halt"]), (&json!("paused"), &paused));
    assert_eq!(row["last_error"], json!(null));
    let done = desk
        .confirm(&login, "/queue/retry", &format!("id={id}"))
        .await;
    let told = "<h1>Retrying</h1>\n<p>The delivery will be sent within a second, unless deliveries are paused.</p>\n\n\
                <p>Email is no longer paused.</p>\n\n<p>Webhook deliveries are paused.</p>\n";
    done.check(200, &[told]);
    *counters.pause.lock() = Some(pause());
    let retried = ask(&desk.app, "queue retry", json!({ "id": id })).await;
    let told = "due now; email is no longer paused; webhook deliveries are paused";
    assert_eq!(retried.unwrap()["result"], told);
}
