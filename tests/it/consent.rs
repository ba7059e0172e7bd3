//! What is kept of a consent, and leaving the newsletter.

use landing_api::domain::consent::SignUpWay::{Api, Element, Form};
use landing_api::domain::consent::{Consent, ContactStatus, TextDigest};
use landing_api::domain::language::Language;
use landing_api::ports::ContactStore as _;

use crate::commands::{feed, run};
use crate::prelude::*;
use crate::transport::server;

const ADA: &str = "ada@example.com";

async fn kept(app: &TestApp, email: &str) -> Contact {
    app.contact(email).await.unwrap()
}

/// Where the contact leaves.
async fn way_out(app: &TestApp, email: &str) -> String {
    let token = kept(app, email).await.leave_token.unwrap();
    format!("/newsletter/leave/{token}")
}

async fn consent(app: &TestApp, call: Call) -> Consent {
    app.send(call).await;
    let consent = kept(app, ADA).await.consent.unwrap();
    let email = EmailAddress::parse(ADA).unwrap();
    app.contacts.forget(&[email], NOW).await.unwrap();
    consent
}

fn form(fields: &str) -> Call {
    Call::form("/newsletter", format!("email={ADA}&lang=de{fields}"))
}

fn source(consent: &Consent) -> Option<&str> {
    consent.source.as_ref().map(|source| source.as_str())
}

#[tokio::test]
async fn a_consent_tells_by_what_and_where_it_was_given() {
    let app = Setup::default()
        .allowing(&["https://shop.example"])
        .limit("newsletter", "100/1m")
        .start();
    let api = || Call::sign_up(ADA);
    let from_shop = |call: Call| call.header("Origin", "https://shop.example");
    let referer = |call: Call, page: &str| call.header("Referer", page);
    let long = format!("https://shop.example/{}", "p".repeat(80));
    let (german, danke) = (Some(Language::German), "https://shop.example/danke");
    let named = "https://user:word@shop.example/danke?mail=ada#top";
    let named = referer(form(""), named);
    let shop = Some("https://shop.example");
    let of_shop = from_shop(api()).header("Accept-Language", "fr");
    let of_footer = from_shop(api()).to("/api/v1/newsletter?source=footer");
    // What is no source is left out, and disturbs nobody.
    let nonsense = form("&source=a%20b%3Cscript%3E");
    let (french, english) = (Some(Language::French), Some(Language::English));
    let from_footer = form("&source=footer");
    let from_data = referer(form(""), "data:text/html,x");
    let from_long = referer(form(""), &long);
    for (call, way, language, expected) in [
        (api(), Api, None, None),
        (of_shop, Element, french, shop),
        (of_footer, Element, english, Some("footer")),
        (form(""), Form, german, None),
        (from_footer, Form, german, Some("footer")),
        (nonsense, Form, german, None),
        (named, Form, german, Some(danke)),
        (from_long, Form, german, shop),
        (from_data, Form, german, None),
    ] {
        let told = call.told();
        let consent = consent(&app, call).await;
        assert_eq!((consent.at, consent.way), (NOW, way), "{told}");
        assert_eq!(consent.language, language, "{told}");
        assert_eq!(source(&consent), expected, "{told}");
        // Other pages ask in their own words, and nobody's address is kept unasked.
        assert_eq!((consent.text, consent.ip), (None, None), "{told}");
    }
}

#[tokio::test]
async fn the_words_of_the_own_form_are_kept_once() {
    let app = TestApp::new();
    let page = format!("{}/newsletter?lang=de", app.base_url);
    // As browsers do with the policy of the page.
    let call = form("")
        .header("Origin", app.base_url)
        .header("Referer", &page);
    app.send(call).await;
    let consent = kept(&app, ADA).await.consent.unwrap();
    assert_eq!(source(&consent), page.split('?').next());
    let digest = consent.text.unwrap();
    let text = app.contacts.consent_text(&digest).await.unwrap().unwrap();
    assert_eq!(TextDigest::of(&text), digest);
    let page = app.send(Call::get("/newsletter?lang=de")).await;
    let sentence = text.split_inclusive('.').next().unwrap();
    assert!(page.text().contains(sentence.trim()), "{text}");
}

#[tokio::test]
async fn the_own_pages_have_browsers_name_them_and_no_other_sites_do() {
    let app = TestApp::new();
    for path in ["/", "/newsletter", "/embed", "/help"] {
        let page = app.send(Call::get(path)).await;
        // With `no-referrer` the form would be sent with `Origin: null`, and without the page.
        let policy = page.header("referrer-policy");
        assert_eq!(policy, Some("same-origin"), "{path}");
    }
    let wrong = app.expect("400", form("").body("email=ada&lang=de")).await;
    assert_eq!(wrong.header("referrer-policy"), Some("same-origin"));
    // The address of a page that fails may be an email's link.
    let failed = Call::get("/newsletter/confirmed").header("accept", "text/html");
    let failed = app.send(failed).await;
    assert!(failed.is_html());
    assert_eq!(failed.header("referrer-policy"), Some("no-referrer"));
}

#[test]
fn the_words_of_the_own_form_say_that_the_ip_address_is_stored() {
    let mut facts = facts();
    facts.settings.keeps_consent_ip = true;
    let site = render(&facts);
    let text = site.templates.consent_text(Language::English).unwrap();
    let told = "We also store your IP address as proof of your sign-up.";
    assert!(text.ends_with(told), "{text}");
}

#[tokio::test]
async fn only_the_button_changes_anything() {
    let app = TestApp::new();
    app.send(form("")).await;
    let path = way_out(&app, ADA).await;
    for number in 0..1000 {
        let method = [Method::GET, Method::HEAD][number % 2].clone();
        let call = Call::new(method, &path).header("Sec-Purpose", "prefetch");
        assert_eq!(app.send_unchecked(call).await.status, 200);
    }
    assert_eq!(kept(&app, ADA).await.status(), ContactStatus::Subscribed);
    let page = app.send_unchecked(Call::get(&path)).await;
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    // In the language of the sign-up, whatever the browser wants.
    assert_eq!(page.header("content-language"), Some("de"));
    page.check_shows(&["<form method=\"post\">"]);
    page.check_silent_on(path.rsplit('/').next().unwrap());

    let left = app.send_unchecked(Call::new(Method::POST, &path)).await;
    assert_eq!(left.status, 200);
    left.check_silent_on("<form method=\"post\">");
    assert_eq!(kept(&app, ADA).await.left_at, Some(NOW));
    // A look afterwards has no button.
    let page = app.send_unchecked(Call::get(&path)).await;
    page.check_shows(&["bereits abgemeldet"]);
    // Neither does a second press, and it says so.
    let again = app.send_unchecked(Call::new(Method::POST, &path)).await;
    assert_eq!(again.text(), page.text());
    assert_ne!(again.text(), left.text());
}

#[tokio::test]
async fn a_mailbox_provider_leaves_by_one_click() {
    let app = Setup::default()
        .limit("default", "5/1m")
        .limit("ip", "5/1m")
        .start();
    const MULTIPART: &str = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n\
                             One-Click\r\n--b--\r\n";
    const FORM: &str = "application/x-www-form-urlencoded";
    const IN_PARTS: &str = "multipart/form-data; boundary=b";
    for (name, media_type, body) in [
        ("a@example.com", FORM, "List-Unsubscribe=One-Click"),
        ("b@example.com", IN_PARTS, MULTIPART),
        ("c@example.com", "text/plain", "whatever"),
        ("d@example.com", "application/json", ""),
    ] {
        app.send(Call::sign_up(name)).await;
        let path = way_out(&app, name).await;
        for _ in 0..2 {
            let call = Call::post(&path, body.to_owned()).typed(media_type);
            let call = call.header("Origin", "https://mail.example");
            let reply = app.send_unchecked(call.header("Cookie", "a=b")).await;
            assert_eq!(reply.status, 200, "{media_type}");
            assert_eq!(reply.header("set-cookie"), None);
        }
        assert_eq!(kept(&app, name).await.status(), ContactStatus::Unsubscribed);
    }
    assert_eq!(app.metrics.leavings.get(), 4);
}

#[tokio::test]
async fn a_connection_outlives_who_leaves_by_it() {
    let server = server().await;
    let mut connection = server.connect().await;
    let body = "List-Unsubscribe=One-Click";
    for path in ["/newsletter/leave/x", "/newsletter/leave/y"] {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}");
        connection.send(format!("{head}\r\n\r\n{body}")).await;
        let (status, head, _page) = connection.receive().await;
        assert_eq!(status, 200);
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn whoever_is_unknown_or_gone_is_told_the_same() {
    let app = TestApp::new();
    let unknown = "f".repeat(32);
    for token in [&*unknown, "x", "%2e%2e", &"F".repeat(32), &"0".repeat(1000)] {
        let path = format!("/newsletter/leave/{token}");
        for method in [Method::GET, Method::POST] {
            let reply = app.send_unchecked(Call::new(method, &path)).await;
            assert_eq!(reply.status, 200, "{token}");
            assert!(!reply.text().contains(token) || token == "x", "{token}");
            assert!(reply.text().contains("This link has expired"), "{token}");
        }
    }
    let away = StoreError::Unavailable("away".to_owned());
    app.contacts.fail_with(Some(away));
    for method in [Method::GET, Method::POST] {
        let path = format!("/newsletter/leave/{unknown}");
        let reply = app.send_unchecked(Call::new(method, &path)).await;
        assert_eq!(reply.status, 503);
    }
}

#[test]
fn the_operator_sees_who_left_and_can_show_what_they_agreed_to() {
    let dir = private_dir();
    let flags = ["--base-url=http://landing.example", "--consent-ip=on"];
    let program = Program::start(command(dir.path()).args(flags));
    let (status, _) = program.post_form("/newsletter", "email=ada@example.com&source=footer");
    assert_eq!(status, 303);
    program.sign_up("bob@example.com");
    let show = |words: &str| run(words, dir.path()).done();
    let ada = show("contacts show ada@example.com --json").json();
    let url = ada["unsubscribe_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("http://landing.example").unwrap();
    assert_eq!(program.post_form(path, "List-Unsubscribe=One-Click").0, 200);

    let export = show("contacts export").out;
    assert!(!export.contains("ada@"), "{export}");
    assert!(export.contains("bob@"), "{export}");
    let all = show("contacts export --status all").out;
    let row = "unsubscribed,,footer,,http://landing.example/newsletter/leave/";
    assert!(all.contains(row), "{all}");
    assert_eq!(show("contacts count --status unsubscribed").out, "1\n");
    let proof = show("contacts show ada@example.com --json").json();
    let shown = ["status", "consent_by", "language", "source", "ip"].map(|name| &proof[name]);
    assert_eq!(shown, ["unsubscribed", "form", "en", "footer", "127.0.0.1"]);
    assert!(proof["left_at"].is_string(), "{proof}");
    assert!(proof["consent_at"].is_string(), "{proof}");
    check_proof_after_return(&program, dir.path(), &proof);
    let shown = show("contacts show bob@example.com").out;
    assert!(shown.contains("\nOrigin       api\n"), "{shown}");
    run("contacts list --status gone", dir.path()).refused(2, "--status");

    let log = program.stopped();
    assert_absent(&log, &[path.rsplit('/').next().unwrap(), "ada@"]);
    assert!(log.contains("newsletter.left"), "{log}");

    // Elsewhere they have left, too, and no file of before revives them.
    let house = House::stopped();
    let report = feed("contacts import -", &house.path, &all).done().out;
    assert!(report.contains("Added             2"), "{report}");
    feed("contacts import -", &house.path, "email\nada@example.com\n").done();
    let left = run("contacts list --status unsubscribed --json", &house.path).done();
    assert_eq!(left.json_lines()[0]["email"], json!("ada@example.com"));
    for status in ["gone", "pending"] {
        let wrong = format!("email,status\neve@example.com,{status}\n");
        let bad = feed("contacts import -", &house.path, &wrong);
        let told = "line 2: the status must be subscribed or unsubscribed";
        assert!(bad.status == Some(3) && bad.out.contains(told), "{bad:?}");
    }
}

/// Ada comes back, and what `before` proves is still shown.
fn check_proof_after_return(program: &Program, dir: &Path, before: &Value) {
    assert!(before["previous"].is_null(), "{before}");
    let form = "email=ada@example.com&source=header";
    assert_eq!(program.post_form("/newsletter", form).0, 303);
    let again = run("contacts show ada@example.com --json", dir).json();
    assert_eq!(again["status"], "subscribed");
    assert_eq!(again["source"], "header");
    assert!(again["left_at"].is_null(), "{again}");
    for name in "consent_at consent_by language source ip left_at".split(' ') {
        assert_eq!(again["previous"][name], before[name], "{name}");
    }
    let shown = run("contacts show ada@example.com", dir).done().out;
    let left_at = before["left_at"].as_str().unwrap();
    let source = "  Page            footer\n  IP address      127.0.0.1\n";
    let end = format!("{source}  Unsubscribed    {left_at}\n");
    assert!(shown.ends_with(&end), "{shown}");
}
