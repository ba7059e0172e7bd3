//! Double opt-in: a sign-up counts once whoever reads the address' mail has confirmed it.

use landing_api::domain::consent::{ContactStatus, StatusCounts};
use landing_api::ports::{ContactStore, DeliveryQueue, MailError};
use landing_api::usecases::deliver::{DeliverError, Mailing, deliver_mail, deliver_to_webhook};
use landing_api::usecases::opt_in::expire_unconfirmed;

use crate::operator::{ask, refused};
use crate::prelude::*;
use crate::site::file;

const ADA: &str = "ada@example.com";
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const WEEK_MS: u64 = 7 * DAY_MS;

fn asking() -> (Setup, Arc<ScriptedMailSender>) {
    let mail = Arc::new(ScriptedMailSender::default());
    (Setup::with_mail(mail.clone()), mail)
}

fn start() -> (TestApp, Arc<ScriptedMailSender>) {
    let (setup, mail) = asking();
    (setup.start(), mail)
}

/// Ada has signed up and was sent this link.
async fn asked() -> (TestApp, Arc<ScriptedMailSender>, String) {
    let (app, mail) = start();
    sign_up(&app, ADA).await;
    deliver(&app).await;
    let path = link(&mail.taken()[0].1);
    (app, mail, path)
}

async fn sign_up(app: &TestApp, email: &str) -> Reply {
    sign_up_from(app, email, "192.0.2.1").await
}

async fn sign_up_from(app: &TestApp, email: &str, from: &str) -> Reply {
    let reply = app.expect("200", Call::sign_up(email).from(from)).await;
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

/// Fails unless ada has this status.
async fn check_status(app: &TestApp, expected: ContactStatus) {
    let contact = app.contact(ADA).await.unwrap();
    assert_eq!(contact.status(), expected);
}

fn link(mail: &str) -> String {
    let path = "/newsletter/confirm/";
    let url = format!("http://landing.example{path}");
    let (_, rest) = mail.split_once(&url).unwrap();
    format!("{path}{}", &rest[..32])
}

async fn answer(app: &TestApp, path: &str, answer: &str) -> Reply {
    let call = Call::form(path, format!("answer={answer}"));
    let reply = app.expect("200", call).await;
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    reply
}

/// Language, title of the page, and words of the script and of the page.
const ASKS: &str = "
en | Check your inbox | click the link | to confirm your subscription
de | Bitte schauen Sie in Ihr Postfach | klicken Sie auf den Link | Ihre Anmeldung zu bestätigen
fr | Consultez votre boîte de réception | cliquez sur le lien | confirmer votre inscription
es | Revise su bandeja de entrada | haga clic en el enlace | confirmar su suscripción
";

#[tokio::test]
async fn all_ways_in_say_that_an_email_has_to_be_confirmed() {
    let (app, _mail) = start();
    let single = TestApp::new();
    for [language, title, click, confirm] in rows(ASKS) {
        let path = format!("/newsletter/thanks?lang={language}");
        let page = app.send(Call::get(&path)).await;
        let titles = [format!("<h1>{title}</h1>"), format!("<title>{title}")];
        page.check_shows(&[&titles[0], &titles[1], confirm]);
        let plain = single.send(Call::get(&path)).await;
        assert!(!plain.text().contains(title), "{title}");
        // Scripts have these words for their own form.
        let script = app.send(Call::get("/embed.js")).await;
        let said = |words: &str| script.text().to_lowercase().contains(&words.to_lowercase());
        assert!(said(title) && said(click), "{language}");
    }
    for (app, confirms) in [(&app, true), (&single, false)] {
        let script = app.send(Call::get("/embed.js")).await;
        assert_present(script.text(), &[&format!("CONFIRMS={confirms}")]);
    }
    // Programs and agents.
    let skill = "/.well-known/agent-skills/public-landing-api/SKILL.md";
    for path in ["/docs.md", "/openapi.json", "/api/openapi.yaml", skill] {
        let said = "subscription is pending until";
        for (app, is_said) in [(&app, true), (&single, false)] {
            let page = app.send(Call::get(path)).await;
            assert_eq!(page.text().contains(said), is_said, "{path}");
        }
    }
    // The answer is that of any sign-up.
    let answer = sign_up(&app, ADA).await.json();
    let expected = json!({ "ok": true, "mode": "contact", "alreadyExists": false });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_sign_up_counts_once_the_mails_link_was_confirmed() {
    let (app, mail) = start();
    sign_up(&app, ADA).await;
    check_status(&app, ContactStatus::Pending).await;
    assert_eq!(deliver(&app).await, 1);
    let [(to, text)] = mail.taken().try_into().unwrap();
    assert_eq!(to, ADA);
    let path = link(&text);
    let token = path.rsplit('/').next().unwrap();
    let leave = format!("http://landing.example/newsletter/leave/{token}");
    assert!(text.ends_with(&leave), "{text}");
    // A thousand looks change nothing.
    for method in ["GET", "HEAD"] {
        for _ in 0..500 {
            let look = Call::new(method.parse().unwrap(), &path);
            app.expect("200", look).await;
        }
    }
    let page = app.send(Call::get(&path)).await;
    page.check_shows(&["value=\"confirm\""]);
    page.check_shows(&[">a***@example.com<"]);
    page.check_silent_on("ada@");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    // Neither does a form of somebody else's.
    answer(&app, &path, "maybe").await;
    check_status(&app, ContactStatus::Pending).await;
    let back = "href=\"/?lang=en\">Back to Landing API</a>";
    for title in ["You’re subscribed", "You’re already subscribed"] {
        let reply = answer(&app, &path, "confirm").await;
        let newsletter = "the Landing API newsletter";
        reply.check_shows(&[title, newsletter, ">a***@example.com<", back]);
        check_status(&app, ContactStatus::Subscribed).await;
    }
    let kept = app.contact(ADA).await.unwrap();
    let confirmation = kept.confirmation.unwrap();
    assert!(confirmation.mailed_at.is_some() && confirmation.confirmed_at.is_some());
    assert_eq!(confirmation.ip, None);
    // Who has confirmed gets no further mail.
    sign_up(&app, ADA).await;
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(app.metrics.confirmations.given.get(), 1);
}

#[tokio::test]
async fn a_mail_that_waits_for_a_confirmed_contact_is_not_sent() {
    let (app, mail) = start();
    sign_up(&app, ADA).await;
    assert_eq!(deliver(&app).await, 1);
    sign_up(&app, ADA).await;
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
        app.expect("200", Call::get(path)).await;
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
    let token = async || app.contact("bob@example.com").await.unwrap().leave_token;
    let before = token().await;
    sign_up(&app, "bob@example.com").await;
    assert_eq!(token().await, before);
    assert_eq!(deliver(&app).await, 1);
}

#[tokio::test]
async fn past_all_mails_of_an_hour_sign_ups_are_taken_and_their_mails_wait() {
    let (setup, _mail) = asking();
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
    for _ in 0..3 {
        app.contacts
            .fail_to_sign_up(Some(StoreError::Unavailable("away".to_owned())));
        app.expect("503", Call::sign_up(ADA)).await;
    }
    app.contacts.fail_to_sign_up(None);
    for _ in 0..3 {
        sign_up(&app, ADA).await;
        app.clock.advance_ms(1);
    }
    assert_eq!(deliver(&app).await, 2);
}

#[tokio::test]
async fn while_no_mail_can_leave_nobody_expires_who_has_none() {
    let (app, mail) = start();
    sign_up(&app, ADA).await;
    deliver(&app).await;
    app.contacts.hold(Channel::Mail, true).await.unwrap();
    sign_up(&app, "bob@example.com").await;
    app.clock.advance_ms(60 * DAY_MS);
    assert_eq!(expire(&app).await, Ok(1));
    assert!(app.contact("bob@example.com").await.is_some());
    app.contacts.hold(Channel::Mail, false).await.unwrap();
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(mail.taken().len(), 2);
    assert_eq!(expire(&app).await, Ok(0));
    app.clock.advance_ms(WEEK_MS);
    assert_eq!(expire(&app).await, Ok(1));
}

#[tokio::test]
async fn who_has_confirmed_and_says_it_was_not_them_leaves() {
    let (app, _mail, path) = asked().await;
    answer(&app, &path, "confirm").await;
    let reply = answer(&app, &path, "refuse").await;
    reply.check_shows(&["You’re unsubscribed"]);
    check_status(&app, ContactStatus::Unsubscribed).await;
}

#[tokio::test]
async fn of_two_answers_at_once_the_second_is_told_what_the_first_has_done() {
    for (first, told) in [
        ("confirm", "You’re already subscribed"),
        ("refuse", "This link has expired"),
    ] {
        let (app, _mail, path) = asked().await;
        app.contacts.answer_first(first);
        let reply = answer(&app, &path, "confirm").await;
        reply.check_shows(&[told]);
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
    app.expect("200", Call::post(&leave, ONE_CLICK)).await;
    answer(&app, &links[2], "refuse").await;
    sign_up(&app, "pending@example.com").await;
    app.clock.advance_ms(DAY_MS);
    let mut replies = Vec::new();
    let names = ["new", "pending", "confirmed", "left", "refused"];
    for (number, name) in names.iter().enumerate() {
        let from = format!("198.51.100.{number}");
        let reply = sign_up_from(&app, &format!("{name}@example.com"), &from).await;
        let headers = ["ratelimit", "ratelimit-limit", "content-length"];
        let headers = headers.map(|name| reply.header(name).map(str::to_owned));
        replies.push((reply.text().to_owned(), reply.shown(), headers));
    }
    replies.dedup();
    assert_eq!(replies.len(), 1, "{replies:?}");
}

#[tokio::test]
async fn who_left_stays_so_until_the_new_sign_up_is_confirmed() {
    let (app, mail, first) = asked().await;
    answer(&app, &first, "confirm").await;
    let leave = first.replace("/confirm/", "/leave/");
    app.expect("200", Call::post(&leave, ONE_CLICK)).await;
    check_status(&app, ContactStatus::Unsubscribed).await;
    // The link that was used confirms nothing any more.
    answer(&app, &first, "confirm").await;
    check_status(&app, ContactStatus::Unsubscribed).await;
    app.clock.advance_ms(DAY_MS);
    sign_up(&app, ADA).await;
    let asked = app.contact(ADA).await.unwrap();
    assert_eq!(asked.status(), ContactStatus::Pending);
    assert!(asked.left_at.is_some());
    deliver(&app).await;
    let second = link(&mail.taken()[1].1);
    assert_ne!(first, second);
    answer(&app, &second, "confirm").await;
    let back = app.contact(ADA).await.unwrap();
    assert_eq!(back.status(), ContactStatus::Subscribed);
    assert_eq!(back.left_at, None);
}

#[tokio::test]
async fn who_refuses_is_forgotten_and_asked_no_more_for_thirty_days() {
    for is_by_leaving in [false, true] {
        let (app, _mail, path) = asked().await;
        if is_by_leaving {
            let leave = path.replace("/confirm/", "/leave/");
            let reply = app.send(Call::post(&leave, ONE_CLICK)).await;
            reply.check_shows(&["for 30 days"]);
        } else {
            let reply = answer(&app, &path, "refuse").await;
            reply.check_shows(&["Address removed", ">a***@example.com<", "for 30 days"]);
            let again = answer(&app, &path, "refuse").await;
            again.check_shows(&["Address removed"]);
        }
        assert!(app.contacts.is_empty());
        let shown = ask(&app, "contacts show", json!({"email": ADA})).await;
        assert!(refused(shown).contains("it is suppressed until 20"));
        // The sign-up is taken as any other, and nobody is told.
        for days in [1, 28] {
            app.clock.advance_ms(days * DAY_MS);
            sign_up(&app, ADA).await;
            assert_eq!(deliver(&app).await, 0);
            let shown = ask(&app, "contacts show", json!({"email": ADA})).await;
            assert!(shown.unwrap()["suppressed_until"].is_string());
        }
        app.clock.advance_ms(DAY_MS);
        sign_up(&app, ADA).await;
        assert_eq!(deliver(&app).await, 1);
        assert_eq!(app.metrics.confirmations.refused.get(), 1);
    }
}

#[tokio::test]
async fn an_address_that_the_operator_allows_is_asked_at_its_next_sign_up() {
    let (app, mail) = start();
    let (name, other) = (ADA, "bob@example.com");
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
    sign_up(&app, ADA).await;
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
async fn the_program_is_told_of_who_has_confirmed_and_of_nobody_before() {
    let webhook = Arc::new(ScriptedWebhookSender::default());
    let (mut setup, mail) = asking();
    setup.webhook = Some(webhook.clone());
    let app = setup.start();
    let reply = app.send(Call::sign_up(ADA)).await;
    assert_eq!(reply.json()["mode"], "notify");
    let told = || deliver_to_webhook(app.app.deliveries(), &*webhook);
    assert_eq!(told().await.unwrap(), 0);
    deliver(&app).await;
    answer(&app, &link(&mail.taken()[0].1), "confirm").await;
    assert_eq!(told().await.unwrap(), 1);
    let (_, body) = &webhook.taken()[0];
    let told = "newsletter.confirmed ada@example.com";
    assert!(body.starts_with(told), "{body}");
    let counts = StatusCounts::default();
    assert_eq!(app.contacts.status_counts().await, Ok(counts));
}

/// A call of the API shows its language only in a header, and a site may have only one.
#[tokio::test]
async fn a_person_is_asked_in_the_only_language_of_the_site() {
    for [page, begin, language] in rows(
        "
# Unser Laden, und wann wir für Sie da sind | Bitte bestätigen | de
# Notre boutique, et quand elle est ouverte pour vous | Confirmez votre | fr
",
    ) {
        let (mut setup, mail) = asking();
        setup.site_files = vec![file("about.md", page)];
        let app = setup.start();
        let call = Call::sign_up(ADA).header("accept-language", "en");
        app.expect("200", call).await;
        deliver(&app).await;
        let (_, text) = &mail.taken()[0];
        assert!(text.starts_with(begin), "{text}");
        let page = app.send(Call::get(&link(text))).await;
        page.check_shows(&[&format!("lang=\"{language}\"")]);
    }
}

#[tokio::test]
async fn a_person_is_asked_in_the_language_of_the_form() {
    let (app, mail) = start();
    let call = Call::sign_up(ADA)
        .to("/api/v1/newsletter?source=x")
        .header("origin", "http://landing.example")
        .header("accept-language", "de");
    app.expect("200", call).await;
    deliver(&app).await;
    let (_, text) = &mail.taken()[0];
    assert!(text.starts_with("Bitte bestätigen"), "{text}");
    let page = app.send(Call::get(&link(text))).await;
    page.check_shows(&["lang=\"de\""]);
    assert!(page.text().contains("Das war ich nicht"));
}
