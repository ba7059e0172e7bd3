//! Double opt-in: a sign-up counts once whoever reads the address' mail has confirmed it.

use std::sync::Arc;

use hyper::StatusCode;
use landing_api::domain::consent::{ContactStatus, StatusCounts};
use landing_api::domain::contact::Contact;
use landing_api::domain::delivery::Channel;
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::DAY_MS;
use landing_api::ports::{ContactStore, DeliveryQueue, MailError, StoreError};
use landing_api::usecases::deliver::{DeliverError, Mailing, deliver_mail, deliver_to_webhook};
use landing_api::usecases::opt_in::expire_unconfirmed;
use serde_json::json;

use crate::fixtures::listed;
use crate::harness::{Call, Reply, Setup, TestApp};
use crate::operator::{ask, refused};
use crate::twins::{ScriptedMailSender, ScriptedWebhookSender};

const PATH: &str = "/api/v1/newsletter";
const WEEK_MS: u64 = 7 * DAY_MS;

fn start() -> (TestApp, Arc<ScriptedMailSender>) {
    let mail = Arc::new(ScriptedMailSender::default());
    let setup = Setup {
        mail: Some(mail.clone()),
        ..Setup::default()
    };
    (setup.start(), mail)
}

async fn sign_up(app: &TestApp, email: &str) -> Reply {
    sign_up_from(app, email, "192.0.2.1").await
}

async fn sign_up_from(app: &TestApp, email: &str, from: &str) -> Reply {
    let call = Call::post(PATH, json!({ "email": email }).to_string()).from(from);
    let reply = app.send(call).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.json()["mode"], "contact");
    reply
}

/// Sends everything that is due.
async fn deliver(app: &TestApp) -> usize {
    let (mut count, mut mailing) = (0, Mailing::default());
    loop {
        let mail = app.app.mail.as_deref().unwrap();
        let round = deliver_mail(app.app.deliveries(), mail, &*app.contacts, &mut mailing);
        match round.await {
            Ok(0) | Err(DeliverError::Limit(_)) => return count,
            sent => count += sent.unwrap(),
        }
    }
}

async fn expire(app: &TestApp) -> Result<u64, StoreError> {
    let contacts = &*app.contacts;
    expire_unconfirmed(contacts, contacts, WEEK_MS, app.app.clock.now()).await
}

async fn contact(app: &TestApp, email: &str) -> Option<Contact> {
    let email = EmailAddress::parse(email).unwrap();
    ContactStore::find(&*app.contacts, &email).await.unwrap()
}

async fn status(app: &TestApp, email: &str) -> Option<ContactStatus> {
    contact(app, email).await.map(|it| it.status())
}

/// The path of the link in a mail.
fn link(mail: &str) -> String {
    let (_, rest) = mail
        .split_once("http://landing.example/newsletter/confirm/")
        .unwrap();
    format!("/newsletter/confirm/{}", &rest[..32])
}

async fn answer(app: &TestApp, path: &str, answer: &str) -> Reply {
    let body = format!("answer={answer}");
    let call = Call::form(path, body);
    let reply = app.send(call).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    reply
}

#[tokio::test]
async fn all_ways_in_say_that_an_email_has_to_be_confirmed() {
    let (app, _mail) = start();
    let single = TestApp::new();
    let asks = [
        (
            "en",
            "Check your inbox",
            "click the link",
            "to confirm your subscription",
        ),
        (
            "de",
            "Bitte schauen Sie in Ihr Postfach",
            "klicken Sie auf den Link",
            "Ihre Anmeldung zu bestätigen",
        ),
        (
            "fr",
            "Consultez votre boîte de réception",
            "cliquez sur le lien",
            "confirmer votre inscription",
        ),
        (
            "es",
            "Revise su bandeja de entrada",
            "haga clic en el enlace",
            "confirmar su suscripción",
        ),
    ];
    for (language, title, click, confirm) in asks {
        let path = format!("/newsletter/thanks?lang={language}");
        let page = app.send(Call::get(&path)).await;
        let words = [
            &format!("<h1>{title}</h1>"),
            &format!("<title>{title}"),
            confirm,
        ];
        for words in words {
            assert!(page.text().contains(words), "{words}: {}", page.text());
        }
        let plain = single.send(Call::get(&path)).await;
        assert!(!plain.text().contains(title), "{title}");
        // Scripts have these words for their own form.
        let script = app.send(Call::get("/embed.js")).await;
        let said = |words: &str| script.text().to_lowercase().contains(&words.to_lowercase());
        assert!(said(title) && said(click), "{language}");
    }
    for (app, confirms) in [(&app, true), (&single, false)] {
        let script = app.send(Call::get("/embed.js")).await;
        let told = format!("CONFIRMS={confirms}");
        assert!(script.text().contains(&told), "{told}");
    }
    // Programs and agents.
    let skill = "/.well-known/agent-skills/public-landing-api/SKILL.md";
    for path in ["/docs.md", "/openapi.json", "/api/openapi.yaml", skill] {
        let said = "subscription is pending until";
        assert!(
            app.send(Call::get(path)).await.text().contains(said),
            "{path}"
        );
        assert!(
            !single.send(Call::get(path)).await.text().contains(said),
            "{path}"
        );
    }
    // The answer is that of any sign-up.
    let answer = sign_up(&app, "ada@example.com").await.json();
    assert_eq!(
        answer,
        json!({ "ok": true, "mode": "contact", "alreadyExists": false })
    );
}

#[tokio::test]
async fn a_sign_up_counts_once_the_mails_link_was_confirmed() {
    let (app, mail) = start();
    sign_up(&app, "ada@example.com").await;
    assert_eq!(
        status(&app, "ada@example.com").await,
        Some(ContactStatus::Pending)
    );
    assert_eq!(deliver(&app).await, 1);
    let [(to, text)] = mail.taken().try_into().unwrap();
    assert_eq!(to, "ada@example.com");
    let path = link(&text);
    let token = path.rsplit('/').next().unwrap();
    assert!(
        text.ends_with(&format!("http://landing.example/newsletter/leave/{token}")),
        "{text}"
    );
    // A thousand looks change nothing.
    for method in ["GET", "HEAD"] {
        for _ in 0..500 {
            let reply = app.send(Call::new(method.parse().unwrap(), &path)).await;
            assert_eq!(reply.status, StatusCode::OK);
        }
    }
    let page = app.send(Call::get(&path)).await;
    assert!(page.text().contains("value=\"confirm\""), "{}", page.text());
    assert!(
        page.text().contains(">a***@example.com<"),
        "{}",
        page.text()
    );
    assert!(!page.text().contains("ada@"), "{}", page.text());
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    // Neither does a form of somebody else's.
    answer(&app, &path, "maybe").await;
    assert_eq!(
        status(&app, "ada@example.com").await,
        Some(ContactStatus::Pending)
    );
    let back = "href=\"/?lang=en\">Back to Landing API</a>";
    for title in ["You’re subscribed", "You’re already subscribed"] {
        let reply = answer(&app, &path, "confirm").await;
        for part in [
            title,
            "the Landing API newsletter",
            ">a***@example.com<",
            back,
        ] {
            assert!(reply.text().contains(part), "{part}: {}", reply.text());
        }
        assert_eq!(
            status(&app, "ada@example.com").await,
            Some(ContactStatus::Subscribed)
        );
    }
    let kept = contact(&app, "ada@example.com").await.unwrap();
    let confirmation = kept.confirmation.unwrap();
    assert!(confirmation.mailed_at.is_some() && confirmation.confirmed_at.is_some());
    assert_eq!(confirmation.ip, None);
    // Who has confirmed gets no further mail.
    sign_up(&app, "ada@example.com").await;
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(app.metrics.confirmations.given.get(), 1);
}

#[tokio::test]
async fn a_mail_that_waits_for_a_confirmed_contact_is_not_sent() {
    let (app, mail) = start();
    let name = "ada@example.com";
    sign_up(&app, name).await;
    assert_eq!(deliver(&app).await, 1);
    sign_up(&app, name).await;
    let [(_, text)] = mail.taken().try_into().unwrap();
    answer(&app, &link(&text), "confirm").await;
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(mail.taken().len(), 1);
    let standing = app.contacts.standing(Channel::Mail).await.unwrap();
    assert_eq!((standing.waiting, standing.dead), (0, 0));
}

#[tokio::test]
async fn a_link_that_nobody_has_confirms_nothing() {
    let (app, _mail) = start();
    let unknown = format!("/newsletter/confirm/{}", "0".repeat(32));
    for path in [&unknown, "/newsletter/confirm/x"] {
        let page = app.send(Call::get(path)).await;
        assert_eq!(page.status, StatusCode::OK);
        for word in ["confirm", "refuse"] {
            answer(&app, path, word).await;
        }
    }
    assert!(app.contacts.is_empty());
}

#[tokio::test]
async fn a_mailbox_gets_two_mails_a_day_whoever_asks_and_however_it_is_spelt() {
    let (app, _mail) = start();
    for (number, name) in ["a.da", "ada+news", "ada", "AD.A+x"].iter().enumerate() {
        let from = format!("198.51.100.{number}");
        sign_up_from(&app, &format!("{name}@gmail.com"), &from).await;
    }
    assert_eq!(app.contacts.len(), 4);
    assert_eq!(deliver(&app).await, 2);
    // Another mailbox has its own.
    sign_up(&app, "bob@example.com").await;
    assert_eq!(deliver(&app).await, 1);
    // The next day there is another one, with the link of the first: an earlier mail's stays good.
    app.clock.advance_ms(DAY_MS);
    let before = contact(&app, "bob@example.com").await.unwrap().leave_token;
    sign_up(&app, "bob@example.com").await;
    assert_eq!(
        contact(&app, "bob@example.com").await.unwrap().leave_token,
        before
    );
    assert_eq!(deliver(&app).await, 1);
}

#[tokio::test]
async fn past_all_mails_of_an_hour_sign_ups_are_taken_and_their_mails_wait() {
    let mail = Arc::new(ScriptedMailSender::default());
    let setup = Setup {
        mail: Some(mail.clone()),
        ..Setup::default()
    };
    let app = setup.limit("mail-all", "3/1h").start();
    for number in 0..8 {
        // A network alone would get a quarter.
        let from = format!("192.0.{number}.1");
        sign_up_from(&app, &format!("user{number}@example.com"), &from).await;
    }
    assert_eq!(app.contacts.len(), 8);
    // What has waited does not leave all at once.
    for sent in [3, 3, 2, 0] {
        assert_eq!(deliver(&app).await, sent);
        app.clock.advance_ms(3_600_000);
    }
    let waited = listed(DeliveryQueue::list(&*app.contacts).await).await;
    assert!(waited.is_empty());
}

#[tokio::test]
async fn a_store_that_fails_uses_up_no_mails_of_an_address() {
    let (app, _mail) = start();
    let name = "ada@example.com";
    for _ in 0..3 {
        app.contacts
            .fail_to_keep(Some(StoreError::Unavailable("away".to_owned())));
        let call = Call::post(PATH, json!({ "email": name }).to_string());
        assert_eq!(app.send(call).await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    app.contacts.fail_to_keep(None);
    for _ in 0..3 {
        sign_up(&app, name).await;
        app.clock.advance_ms(1);
    }
    assert_eq!(deliver(&app).await, 2);
}

#[tokio::test]
async fn while_no_mail_can_leave_nobody_expires_who_has_none() {
    let (app, mail) = start();
    sign_up(&app, "ada@example.com").await;
    deliver(&app).await;
    app.contacts.hold(Channel::Mail, true).await.unwrap();
    sign_up(&app, "bob@example.com").await;
    app.clock.advance_ms(60 * DAY_MS);
    assert_eq!(expire(&app).await, Ok(1));
    assert!(contact(&app, "bob@example.com").await.is_some());
    app.contacts.hold(Channel::Mail, false).await.unwrap();
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(mail.taken().len(), 2);
    assert_eq!(expire(&app).await, Ok(0));
    app.clock.advance_ms(WEEK_MS);
    assert_eq!(expire(&app).await, Ok(1));
}

#[tokio::test]
async fn who_has_confirmed_and_says_it_was_not_them_leaves() {
    let (app, mail) = start();
    sign_up(&app, "ada@example.com").await;
    deliver(&app).await;
    let path = link(&mail.taken()[0].1);
    answer(&app, &path, "confirm").await;
    let reply = answer(&app, &path, "refuse").await;
    assert!(
        reply.text().contains("You’re unsubscribed"),
        "{}",
        reply.text()
    );
    assert_eq!(
        status(&app, "ada@example.com").await,
        Some(ContactStatus::Unsubscribed)
    );
}

#[tokio::test]
async fn of_two_answers_at_once_the_second_is_told_what_the_first_has_done() {
    for (first, told) in [
        ("confirm", "You’re already subscribed"),
        ("refuse", "This link has expired"),
    ] {
        let (app, mail) = start();
        sign_up(&app, "ada@example.com").await;
        deliver(&app).await;
        let path = link(&mail.taken()[0].1);
        app.contacts.answer_first(first);
        let reply = answer(&app, &path, "confirm").await;
        assert!(reply.text().contains(told), "{}", reply.text());
        assert_eq!(app.contacts.is_empty(), first == "refuse");
        assert_eq!(app.metrics.confirmations.given.get(), 0, "{first}");
    }
}

#[tokio::test]
async fn strangers_cannot_tell_a_new_address_from_any_other() {
    let (app, mail) = start();
    for name in ["confirmed", "left", "refused"] {
        sign_up(&app, &format!("{name}@example.com")).await;
    }
    deliver(&app).await;
    let links: Vec<_> = mail.taken().iter().map(|(_, text)| link(text)).collect();
    for path in &links[..2] {
        answer(&app, path, "confirm").await;
    }
    let leave = links[1].replace("/confirm/", "/leave/");
    app.send(Call::post(&leave, "List-Unsubscribe=One-Click"))
        .await;
    answer(&app, &links[2], "refuse").await;
    sign_up(&app, "pending@example.com").await;
    app.clock.advance_ms(DAY_MS);
    let mut replies = Vec::new();
    for (number, name) in ["new", "pending", "confirmed", "left", "refused"]
        .iter()
        .enumerate()
    {
        let from = format!("198.51.100.{number}");
        let reply = sign_up_from(&app, &format!("{name}@example.com"), &from).await;
        let headers = [
            "ratelimit",
            "ratelimit-limit",
            "ratelimit-remaining",
            "content-length",
        ];
        let headers = headers.map(|name| reply.header(name).map(str::to_owned));
        replies.push((reply.text().to_owned(), headers));
    }
    assert!(
        replies.windows(2).all(|pair| pair[0] == pair[1]),
        "{replies:?}"
    );
}

#[tokio::test]
async fn who_left_stays_so_until_the_new_sign_up_is_confirmed() {
    let (app, mail) = start();
    sign_up(&app, "ada@example.com").await;
    deliver(&app).await;
    let first = link(&mail.taken()[0].1);
    answer(&app, &first, "confirm").await;
    let leave = first.replace("/confirm/", "/leave/");
    app.send(Call::post(&leave, "List-Unsubscribe=One-Click"))
        .await;
    assert_eq!(
        status(&app, "ada@example.com").await,
        Some(ContactStatus::Unsubscribed)
    );
    // The link that was used confirms nothing any more.
    answer(&app, &first, "confirm").await;
    assert_eq!(
        status(&app, "ada@example.com").await,
        Some(ContactStatus::Unsubscribed)
    );
    app.clock.advance_ms(DAY_MS);
    sign_up(&app, "ada@example.com").await;
    let asked = contact(&app, "ada@example.com").await.unwrap();
    assert_eq!(asked.status(), ContactStatus::Pending);
    assert!(asked.left_at.is_some());
    deliver(&app).await;
    let second = link(&mail.taken()[1].1);
    assert_ne!(first, second);
    answer(&app, &second, "confirm").await;
    let back = contact(&app, "ada@example.com").await.unwrap();
    assert_eq!(
        (back.status(), back.left_at),
        (ContactStatus::Subscribed, None)
    );
}

#[tokio::test]
async fn who_refuses_is_forgotten_and_asked_no_more_for_thirty_days() {
    for is_by_leaving in [false, true] {
        let (app, mail) = start();
        sign_up(&app, "ada@example.com").await;
        deliver(&app).await;
        let path = link(&mail.taken()[0].1);
        if is_by_leaving {
            let leave = path.replace("/confirm/", "/leave/");
            let one_click = Call::post(&leave, "List-Unsubscribe=One-Click");
            let reply = app.send(one_click).await;
            assert!(reply.text().contains("for 30 days"), "{}", reply.text());
        } else {
            let reply = answer(&app, &path, "refuse").await;
            assert!(reply.text().contains("Address removed"), "{}", reply.text());
            assert!(
                reply.text().contains(">a***@example.com<"),
                "{}",
                reply.text()
            );
            assert!(reply.text().contains("for 30 days"), "{}", reply.text());
            let again = answer(&app, &path, "refuse").await;
            assert!(again.text().contains("Address removed"), "{}", again.text());
        }
        assert!(app.contacts.is_empty());
        let shown = ask(&app, "contacts show", json!({"email": "ada@example.com"})).await;
        assert!(refused(shown).contains("it is suppressed until 20"));
        // The sign-up is taken as any other, and nobody is told.
        for days in [1, 28] {
            app.clock.advance_ms(days * DAY_MS);
            sign_up(&app, "ada@example.com").await;
            assert_eq!(deliver(&app).await, 0);
            let shown = ask(&app, "contacts show", json!({"email": "ada@example.com"})).await;
            assert!(shown.unwrap()["suppressed_until"].is_string());
        }
        app.clock.advance_ms(DAY_MS);
        sign_up(&app, "ada@example.com").await;
        assert_eq!(deliver(&app).await, 1);
        assert_eq!(app.metrics.confirmations.refused.get(), 1);
    }
}

#[tokio::test]
async fn an_address_that_the_operator_allows_is_asked_at_its_next_sign_up() {
    let (app, mail) = start();
    let (name, other) = ("ada@example.com", "bob@example.com");
    for email in [name, other] {
        sign_up(&app, email).await;
    }
    deliver(&app).await;
    for (_, text) in mail.taken() {
        answer(&app, &link(&text), "refuse").await;
    }
    // These use up its mails of a day, and none is sent.
    for _ in 0..3 {
        sign_up(&app, name).await;
    }
    let allow = |address: &str| ask(&app, "mail allow", json!({"address": address}));
    for (address, why) in [
        ("eve@example.com", "this address is not suppressed"),
        ("ada", "the address "),
        ("", "say which address"),
    ] {
        assert!(refused(allow(address).await).contains(why), "{address}");
    }
    let allowed = allow(name).await.unwrap();
    assert_eq!(allowed, json!({"address": name, "result": "allowed"}));
    assert!(refused(allow(name).await).contains("not suppressed"));
    let shown = ask(&app, "contacts show", json!({"email": name})).await;
    assert!(shown.unwrap()["suppressed_until"].is_null());
    assert_eq!(deliver(&app).await, 0);
    sign_up(&app, name).await;
    sign_up(&app, other).await;
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(mail.taken().last().unwrap().0, name);
}

#[tokio::test]
async fn who_does_not_confirm_is_erased_a_week_after_the_mail_was_taken() {
    let (app, mail) = start();
    let erase = || expire(&app);
    sign_up(&app, "ada@example.com").await;
    // The relay is away for three days.
    mail.fail_with((0..2).map(|_| MailError::Later("away".to_owned())));
    assert_eq!(deliver(&app).await, 1);
    app.clock.advance_ms(3 * DAY_MS);
    assert_eq!(deliver(&app).await, 1);
    app.clock.advance_ms(3_600_000);
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(mail.taken().len(), 1);
    app.clock.advance_ms(WEEK_MS - 1);
    assert_eq!(erase().await, Ok(0));
    let path = link(&mail.taken()[0].1);
    let page = app.send(Call::get(&path)).await;
    assert!(page.text().contains("value=\"confirm\""));
    app.clock.advance_ms(1);
    assert_eq!(erase().await, Ok(1));
    assert!(app.contacts.is_empty());
    let page = app.send(Call::get(&path)).await;
    assert!(!page.text().contains("value=\"confirm\""));
    // Whoever is sent no mail is not asked for ever.
    sign_up(&app, "bob@example.com").await;
    let queued = listed(DeliveryQueue::list(&*app.contacts).await).await;
    let dropped = app.contacts.drop_one(queued[0].id, app.app.clock.now());
    assert_eq!(dropped.await, Ok(true));
    app.clock.advance_ms(WEEK_MS + 4 * DAY_MS);
    assert_eq!(erase().await, Ok(1));
}

#[tokio::test]
async fn a_relay_that_refuses_one_mail_or_the_account_costs_no_other_mail() {
    let (app, mail) = start();
    for name in ["ada", "bob"] {
        sign_up(&app, &format!("{name}@example.com")).await;
    }
    mail.fail_with([MailError::Account("535".to_owned())]);
    let sender = app.app.mail.as_deref().unwrap();
    let round = deliver_mail(
        app.app.deliveries(),
        sender,
        &*app.contacts,
        &mut Mailing::default(),
    )
    .await;
    assert!(
        matches!(round, Err(DeliverError::Account { .. })),
        "{round:?}"
    );
    let queued = listed(DeliveryQueue::list(&*app.contacts).await).await;
    assert!(
        queued
            .iter()
            .all(|it| it.attempts == 0 && it.dead_at.is_none())
    );
    mail.fail_with([MailError::Refused("550 unknown".to_owned())]);
    assert_eq!(deliver(&app).await, 2);
    let standing = app.contacts.standing(Channel::Mail).await.unwrap();
    assert_eq!((standing.waiting, standing.dead), (0, 1));
    assert_eq!(mail.taken().len(), 1);
    let mut marked = 0;
    for name in ["ada", "bob"] {
        let found = contact(&app, &format!("{name}@example.com")).await;
        let noted = found.unwrap().confirmation.unwrap();
        assert_ne!(noted.mailed_at.is_some(), noted.undeliverable_at.is_some());
        marked += usize::from(noted.undeliverable_at.is_some());
    }
    assert_eq!(marked, 1);
}

#[tokio::test]
async fn the_program_is_told_of_who_has_confirmed_and_of_nobody_before() {
    let (mail, webhook) = (
        Arc::new(ScriptedMailSender::default()),
        Arc::new(ScriptedWebhookSender::default()),
    );
    let app = Setup {
        mail: Some(mail.clone()),
        webhook: Some(webhook.clone()),
        ..Setup::default()
    }
    .start();
    let call = Call::post(PATH, json!({"email": "ada@example.com"}).to_string());
    assert_eq!(app.send(call).await.json()["mode"], "notify");
    let told = || deliver_to_webhook(app.app.deliveries(), &*webhook);
    assert_eq!(told().await.unwrap(), 0);
    deliver(&app).await;
    answer(&app, &link(&mail.taken()[0].1), "confirm").await;
    assert_eq!(told().await.unwrap(), 1);
    let (_, body) = &webhook.taken()[0];
    assert!(
        body.starts_with("newsletter.confirmed ada@example.com"),
        "{body}"
    );
    let counts = StatusCounts::default();
    assert_eq!(app.contacts.status_counts().await, Ok(counts));
}

#[tokio::test]
async fn a_person_is_asked_in_the_language_of_the_form() {
    let (app, mail) = start();
    let call = Call::post(
        &format!("{PATH}?source=x"),
        json!({"email": "ada@example.com"}).to_string(),
    )
    .header("origin", "http://landing.example")
    .header("accept-language", "de");
    assert_eq!(app.send(call).await.status, StatusCode::OK);
    deliver(&app).await;
    let (_, text) = &mail.taken()[0];
    assert!(text.starts_with("Bitte bestätigen"), "{text}");
    let page = app.send(Call::get(&link(text))).await;
    assert!(page.text().contains("lang=\"de\""), "{}", page.text());
    assert!(page.text().contains("Das war ich nicht"));
}
