//! What is told of contacts from the queue: what a message has, who gets it when, and what becomes of it while the
//! other side does everything wrong.

use landing_api::adapters::outbound::webhook::WebhookSecrets;
use landing_api::domain::delivery::{Channel, Delivery, DeliveryId, QueueStanding};
use landing_api::ports::DeliveryQueue;
use landing_api::usecases::deliver::deliver_to_webhook;

use crate::notify::webhook_client;
use crate::operator::ask;
use crate::prelude::*;
use crate::provider::Script;

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

fn app(webhook: Arc<dyn landing_api::ports::WebhookSender>) -> TestApp {
    Setup::with_webhook(webhook).start()
}

async fn sign_up(app: &TestApp, email: &str) {
    let reply = app.expect("200", Call::sign_up(email)).await;
    assert_eq!(reply.json(), json!({"ok": true, "mode": "notify"}));
}

async fn deliver(app: &TestApp) -> usize {
    let webhook = app.app.webhook.as_deref().unwrap();
    let delivered = deliver_to_webhook(app.app.deliveries(), webhook).await;
    delivered.unwrap()
}

async fn queued(app: &TestApp) -> Vec<Delivery> {
    listed(DeliveryQueue::list(&*app.contacts).await).await
}

async fn standing(app: &TestApp) -> QueueStanding {
    app.contacts.standing(Channel::Webhook).await.unwrap()
}

async fn leave(app: &TestApp, url: &str) {
    let path = url.strip_prefix("https://landing.example").unwrap();
    let one_click = Call::post(path, "List-Unsubscribe=One-Click");
    app.expect("200", one_click).await;
}

async fn forget(app: &TestApp, email: &str) -> Value {
    let forgotten = ask(app, "contacts forget", json!({ "email": email })).await;
    forgotten.unwrap()
}

#[tokio::test]
async fn a_contact_is_kept_and_told_from_sign_up_to_erasure() {
    let provider = Provider::start([Script::answer(200)]).await;
    let secrets = WebhookSecrets::parse(SECRET).unwrap();
    let client = webhook_client(&provider.url("/hook?token=t"), Some(secrets.clone()));
    let app = app(Arc::new(client));
    sign_up(&app, "Ada@Example.com").await;
    // Who is signed up again says nothing new.
    sign_up(&app, "ada@example.com").await;
    assert_eq!(app.contacts.len(), 1);
    assert!(provider.requests().is_empty(), "the visitor does not wait");
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(deliver(&app).await, 0);

    let [request] = provider.requests().try_into().unwrap();
    assert_eq!(
        (&*request.method, &*request.target),
        ("POST", "/hook?token=t")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    let subscribed: Value = serde_json::from_slice(&request.body).unwrap();
    let [name, url] = ["contact", "unsubscribe_url"].map(|name| &subscribed["data"][name]);
    let told = json!({
        "type": "newsletter.subscribed",
        "timestamp": "2026-11-21T12:00:00.000Z",
        "data": {"contact": name, "email": "ada@example.com", "unsubscribe_url": url},
    });
    assert_eq!(subscribed, told);
    let id = request.header("webhook-id").unwrap();
    assert!(DeliveryId::parse(id).is_some(), "{id}");
    assert_eq!(request.header("webhook-timestamp"), Some("1795262400"));
    let signature = secrets.sign(id, 1_795_262_400, &request.body);
    assert_eq!(request.header("webhook-signature"), Some(&*signature));

    leave(&app, url.as_str().unwrap()).await;
    leave(&app, url.as_str().unwrap()).await;
    assert_eq!(deliver(&app).await, 1);
    let report = forget(&app, "ada@example.com").await;
    assert_eq!(report["in_flight"], 0);
    // What tells of the erasure has no address.
    let [erased] = queued(&app).await.try_into().unwrap();
    assert!(erased.email.is_none() && !erased.body.contains("ada"));
    assert_eq!(deliver(&app).await, 1);
    let requests = provider.requests().into_iter();
    let bodies = requests.map(|request| serde_json::from_slice(&request.body).unwrap());
    let bodies: Vec<Value> = bodies.collect();
    let kinds = ["subscribed", "unsubscribed", "erased"].map(|it| format!("newsletter.{it}"));
    assert!(bodies.iter().map(|body| &body["type"]).eq(&kinds));
    assert!(bodies.iter().all(|body| body["data"]["contact"] == *name));
    assert_eq!(bodies[2]["data"], json!({ "contact": name }));
    assert!(queued(&app).await.is_empty());
}

#[tokio::test]
async fn an_erasure_drops_what_waits_and_tells_only_of_itself() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let app = app(webhook.clone());
    sign_up(&app, "ada@example.com").await;
    forget(&app, "ada@example.com").await;
    // Nobody is told of who was never a contact.
    forget(&app, "bob@example.com").await;
    assert_eq!(deliver(&app).await, 1);
    let [(_, body)] = webhook.taken().try_into().unwrap();
    assert!(body.starts_with("newsletter.erased somebody"), "{body}");
}

#[tokio::test]
async fn whatever_the_program_does_wrong_the_contact_is_kept_and_told_later() {
    let statuses = [100, 301, 304, 307, 400, 401, 429, 500, 503];
    let others = [Script::closing(""), Script::greeting(), Script::refusing()];
    for script in statuses.into_iter().map(Script::answer).chain(others) {
        let about = format!("{script:?}");
        let provider = Provider::start([script]).await;
        let app = app(Arc::new(webhook_client(&provider.url("/"), None)));
        sign_up(&app, "ada@example.com").await;
        assert_eq!(deliver(&app).await, 1, "{about}");
        let [failed] = queued(&app).await.try_into().unwrap();
        assert_eq!((failed.attempts, failed.dead_at), (1, None), "{about}");
        let error = failed.last_error.unwrap();
        assert!(!error.contains("ada"), "{error}");
        assert_eq!(app.contacts.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_hangs_is_waited_for_fifteen_seconds() {
    let provider = Provider::start([Script::holding("")]).await;
    let app = app(Arc::new(webhook_client(&provider.url("/"), None)));
    sign_up(&app, "ada@example.com").await;
    let begun = Instant::now();
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(begun.elapsed().as_secs(), 15);
    let [failed] = queued(&app).await.try_into().unwrap();
    let told = "no response within 15 seconds";
    assert_eq!(failed.last_error.as_deref(), Some(told));
}

#[tokio::test]
async fn after_ten_attempts_a_message_is_given_up_and_tried_again_at_will() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let app = app(webhook.clone());
    sign_up(&app, "ada@example.com").await;
    let id = queued(&app).await[0].id;
    webhook.fail_with((0..10).map(|_| failed("responded with 503")));
    for attempt in 1..=10 {
        assert_eq!(deliver(&app).await, 1, "{attempt}");
        assert_eq!(deliver(&app).await, 0, "{attempt}");
        app.clock.advance_ms(27 * 3_600_000);
    }
    let standing = standing(&app).await;
    assert_eq!((standing.waiting, standing.dead), (0, 1));
    assert_eq!(app.contacts.retry(None, app.app.clock.now()).await, Ok(1));
    assert_eq!(deliver(&app).await, 1);
    // The eleventh attempt has the name of the first.
    assert_eq!(webhook.taken()[0].0, id);
    let counters = app.metrics.deliveries(Channel::Webhook);
    let counted = [&counters.made, &counters.failed, &counters.given_up];
    assert_eq!(counted.map(|counter| counter.get()), [1, 10, 1]);
}

#[tokio::test]
async fn only_a_queue_that_cannot_be_written_is_503() {
    let app = app(Arc::new(ScriptedWebhookSender::default()));
    let failure = StoreError::Unavailable("disk on fire".to_owned());
    app.contacts.fail_with(Some(failure));
    let reply = app.expect("503", Call::sign_up("ada@example.com")).await;
    assert_eq!(reply.remaining(), 8, "the charge was given back");
    app.contacts.fail_with(None);
    assert!(queued(&app).await.is_empty());
    assert!(app.contacts.is_empty());
}
