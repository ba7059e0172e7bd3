//! Sign-ups that are passed on to a provider: what the provider is sent, what it may do wrong, and
//! what the visitor is told then.

use landing_api::adapters::outbound::Roots;
use landing_api::adapters::outbound::webhook::{WebhookClient, WebhookSecrets};
use landing_api::ports::WebhookSender;

use crate::prelude::*;
use crate::provider::Script;

const PATH: &str = "/api/v1/newsletter";
const ALIAS: &str = "/api/newsletter";
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

fn app(provider: Arc<dyn WebhookSender>) -> TestApp {
    Setup::with_provider(provider).start()
}

/// Posts sign-ups while their visitors wait.
pub(crate) fn direct_webhook(url: &str, secrets: Option<WebhookSecrets>) -> WebhookClient {
    open(url, secrets, true)
}

/// Posts messages from the queue.
pub(crate) fn webhook_client(url: &str, secrets: Option<WebhookSecrets>) -> WebhookClient {
    open(url, secrets, false)
}

fn open(url: &str, secrets: Option<WebhookSecrets>, is_direct: bool) -> WebhookClient {
    let base_url = Some("https://landing.example".to_owned());
    WebhookClient::open(url, secrets, base_url, Roots::of([]), is_direct).unwrap()
}

fn app_before(provider: &Provider) -> TestApp {
    let secret = WebhookSecrets::parse(SECRET).unwrap();
    let webhook = direct_webhook(&provider.url("/hook?token=t"), Some(secret));
    app(Arc::new(webhook))
}

/// What a visitor is told whose address was not passed on: it may try again at once.
fn check_refunded(app: &TestApp, reply: &Reply) {
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.code(), "newsletter_unavailable");
    assert_eq!(reply.shown(), "newsletter 8", "the charge was given back");
    assert_eq!(reply.header("ratelimit-reset"), Some("900"));
    // Not "ada" alone, which may be a part of the request's id.
    reply.check_silent_on("ada@");
    assert!(app.contacts.is_empty());
}

#[tokio::test]
async fn a_sign_up_is_posted_and_signed_and_not_kept() {
    let provider = Provider::start([Script::answer(200)]).await;
    let app = app_before(&provider);
    let reply = app.expect("200", Call::sign_up("Ada@Example.com")).await;
    assert_eq!(reply.json(), json!({"ok": true, "mode": "notify"}));
    assert_eq!(reply.shown(), "newsletter 7");
    assert!(app.contacts.is_empty());

    let [request] = provider.requests().try_into().unwrap();
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, "/hook?token=t");
    assert_eq!(request.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let event = json!({
        "type": "newsletter.subscribed",
        "timestamp": "2026-11-21T12:00:00.000Z",
        "data": {"email": "ada@example.com"},
    });
    assert_eq!(body, event);
    let id = request.header("webhook-id").unwrap();
    assert!(id.starts_with("msg_") && id.len() == 36, "{id}");
    assert_eq!(request.header("webhook-timestamp"), Some("1795262400"));
    let secret = WebhookSecrets::parse(SECRET).unwrap();
    let signature = secret.sign(id, 1_795_262_400, &request.body);
    assert_eq!(request.header("webhook-signature"), Some(&*signature));
}

/// The secret is replaced at the provider while the service signs with the old and the new one.
#[tokio::test]
async fn while_a_secret_changes_a_sign_up_bears_both_signatures() {
    const NEXT: &str = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3";
    let provider = Provider::start([Script::answer(200)]).await;
    let secrets = WebhookSecrets::parse(&format!("{SECRET}\n{NEXT}")).unwrap();
    let app = app(Arc::new(direct_webhook(&provider.url("/"), Some(secrets))));
    app.expect("200", Call::sign_up("ada@example.com")).await;
    let [request] = provider.requests().try_into().unwrap();
    let id = request.header("webhook-id").unwrap();
    let by = |secret: &str| {
        let secret = WebhookSecrets::parse(secret).unwrap();
        secret.sign(id, 1_795_262_400, &request.body)
    };
    let sent = request.header("webhook-signature").unwrap();
    let sent: Vec<_> = sent.split(' ').collect();
    assert_eq!(sent, [by(SECRET), by(NEXT)]);
}

#[tokio::test]
async fn every_sign_up_has_a_name_of_its_own_and_without_a_secret_no_signature() {
    let provider = Provider::start([Script::answer(204)]).await;
    let app = app(Arc::new(direct_webhook(&provider.url("/"), None)));
    for path in [PATH, ALIAS] {
        app.expect("200", Call::sign_up("ada@example.com").to(path))
            .await;
    }
    let [first, second] = provider.requests().try_into().unwrap();
    assert_ne!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.header("webhook-signature"), None);
}

#[tokio::test(start_paused = true)]
async fn a_2xx_is_a_sign_up_however_its_body_ends() {
    const HALF: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let huge = Script::response("200 OK\r\n", "x".repeat(1_000_000));
    for script in [huge, Script::closing(HALF), Script::holding(HALF)] {
        let about = format!("{script:.200?}");
        let provider = Provider::start([script]).await;
        let app = app_before(&provider);
        let reply = app.expect("200", Call::sign_up("ada@example.com")).await;
        assert_eq!(reply.remaining(), 7, "{about}");
    }
}

#[tokio::test]
async fn whatever_the_provider_does_wrong_is_503_and_refunded() {
    let statuses = [100, 301, 304, 307, 400, 401, 410, 429, 500, 503];
    // Asked once for each sign-up: redirects are not followed, and nothing is tried again.
    let answers = statuses.map(|status| (Script::answer(status), 2));
    let others = [
        (Script::closing(""), 2),
        (Script::greeting(), 0),
        (Script::refusing(), 0),
    ];
    for (script, asked) in answers.into_iter().chain(others) {
        let about = format!("{script:?}");
        let provider = Provider::start([script]).await;
        let app = app_before(&provider);
        for path in [PATH, ALIAS] {
            let reply = app.send(Call::sign_up("ada@example.com").to(path)).await;
            check_refunded(&app, &reply);
        }
        assert_eq!(provider.requests().len(), asked, "{about}");
        // The network's charge stays: a provider that is down is not knocked at without end.
        let other = app.send(Call::sign_up("bob@example.com")).await;
        let listed = other.header("ratelimit-policy").unwrap();
        assert!(listed.contains("newsletter-ip"), "{listed}");
    }
}

#[tokio::test]
async fn a_provider_that_speaks_no_tls_is_503() {
    let provider = Provider::start([Script::greeting()]).await;
    let url = provider.url("/").replace("http://", "https://");
    let app = app(Arc::new(direct_webhook(&url, None)));
    let reply = app.send(Call::sign_up("ada@example.com")).await;
    check_refunded(&app, &reply);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_is_waited_for_five_seconds() {
    let provider = Provider::start([Script::holding("")]).await;
    let app = app_before(&provider);
    let begun = Instant::now();
    let reply = app.send(Call::sign_up("ada@example.com")).await;
    check_refunded(&app, &reply);
    // Timers are as coarse as a millisecond.
    let waited = begun.elapsed();
    let is_in_time = (Duration::from_secs(5)..Duration::from_millis(5010)).contains(&waited);
    assert!(is_in_time, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn past_64_on_their_way_sign_ups_are_refused_at_once() {
    let provider = Provider::start([Script::holding("")]).await;
    let app = Arc::new(app_before(&provider));
    let waiting: Vec<_> = (0..64)
        .map(|number| {
            let app = Arc::clone(&app);
            let call = Call::sign_up(&format!("user{number}@example.com"))
                .from(&format!("192.0.2.{number}"));
            tokio::spawn(async move { app.send(call).await })
        })
        .collect();
    // Everybody begins before anything has waited.
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    let late = Call::sign_up("ada@example.com").from("198.51.100.7");
    let reply = app.send(late).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    check_refunded(&app, &reply);
    for waiter in waiting {
        check_refunded(&app, &waiter.await.unwrap());
    }
    assert_eq!(provider.requests().len(), 64);
}

#[tokio::test]
async fn exactly_the_failed_entry_is_given_back() {
    let provider = Arc::new(ScriptedWebhookSender::default());
    let app = app(provider.clone());
    for remaining in [7, 6] {
        let reply = app.send(Call::sign_up("ada@example.com")).await;
        assert_eq!(reply.remaining(), remaining);
        app.clock.advance_ms(10_000);
    }
    provider.fail_with([(); 3].map(|()| failed("answered 500")));
    for path in [PATH, ALIAS, PATH] {
        let reply = app
            .expect("503", Call::sign_up("ada@example.com").to(path))
            .await;
        assert_eq!(reply.remaining(), 6);
        assert_eq!(reply.header("ratelimit-reset"), Some("880"));
    }
    for (path, remaining) in [(ALIAS, 5), (PATH, 4)] {
        let reply = app.send(Call::sign_up("ada@example.com").to(path)).await;
        assert_eq!(reply.remaining(), remaining, "both paths share a count");
    }
    assert_eq!(provider.taken().len(), 4);
    assert!(app.contacts.is_empty());
}

#[tokio::test]
async fn bad_requests_and_refusals_reach_no_provider() {
    let provider = Arc::new(ScriptedWebhookSender::default());
    let setup = Setup::with_provider(provider.clone());
    let app = setup.limit("newsletter", "1/15m").start();
    for path in [PATH, ALIAS] {
        app.expect("400", Call::post(path, r#"{"email":"x"}"#))
            .await;
    }
    app.send(Call::sign_up("ada@example.com")).await;
    app.expect("429", Call::sign_up("ada@example.com").to(ALIAS))
        .await;
    assert_eq!(provider.taken().len(), 1);
}

#[tokio::test]
async fn health_asks_the_store_of_keys_and_not_the_one_of_contacts() {
    let app = app(Arc::new(ScriptedWebhookSender::default()));
    let failure = || Some(StoreError::Unavailable("disk on fire".to_owned()));
    app.contacts.fail_with(failure());
    app.expect("200", Call::get("/api/v1/health")).await;
    app.expect("200", Call::sign_up("ada@example.com")).await;
    app.keys.fail_with(failure());
    let reply = app.expect("503", Call::get("/api/v1/health")).await;
    assert_eq!(reply.code(), "store_unavailable");
}
