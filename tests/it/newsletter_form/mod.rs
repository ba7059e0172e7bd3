//! The newsletter as a plain HTML form: it works without script, on any page.

mod trap;

use crate::pages::unescaped;
use crate::prelude::*;

const PATH: &str = "/newsletter";
const ENTER_AGAIN: &str = "400 Please enter your address again.";
const THANKS: &str = "/newsletter/thanks?lang=en";

fn form(body: &str) -> Call {
    Call::form(PATH, body.to_owned())
}

/// Fails unless a form is taken; where it leads.
async fn taken(app: &TestApp, call: Call) -> String {
    let reply = app.expect("303", call).await;
    assert!(reply.body.is_empty());
    reply.header("location").unwrap().to_owned()
}

/// Fails unless a form is taken and leads to `path`.
async fn leads_to(app: &TestApp, call: Call, path: &str) {
    let what = call.told();
    assert_eq!(taken(app, call).await, path, "{what}");
}

/// Fails unless the form comes back with this status and these words: `403 Please try again`.
async fn again(app: &TestApp, call: Call, expected: &str) -> Reply {
    let (status, words) = expected.split_once(' ').unwrap();
    let what = call.told();
    let reply = app.expect(status, call).await;
    assert!(reply.is_html());
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    for part in [words, "<form method=\"post\" action=\"/newsletter\""] {
        let html = reply.text();
        assert!(html.contains(part), "{part}: {what}: {html}");
    }
    reply
}

/// What was charged to a policy, and not refunded.
fn charged(app: &TestApp, policy: PolicyName) -> u64 {
    let mut policies = app.metrics.policies();
    let (_, counted) = policies.find(|(name, _)| *name == policy).unwrap();
    counted.admitted.get() - counted.refunded.get()
}

fn hidden(reply: &Reply, name: &str) -> String {
    let before = format!("name=\"{name}\" value=\"");
    let (_, rest) = reply.text().split_once(&before).unwrap();
    unescaped(rest.split('"').next().unwrap())
}

/// Nothing was stored, and nothing counted beyond the door.
fn assert_nothing_done(app: &TestApp) {
    assert!(app.contacts.is_empty());
    use PolicyName::{Newsletter, NewsletterAll, NewsletterIp};
    for policy in [Newsletter, NewsletterIp, NewsletterAll] {
        assert_eq!(charged(app, policy), 0, "{policy:?}");
    }
}

#[tokio::test]
async fn the_form_is_a_page_in_the_visitors_language() {
    let app = TestApp::new();
    for (path, accept, language, button) in [
        (PATH, "", "en", "Sign up"),
        (PATH, "de-AT", "de", "Anmelden"),
        (PATH, "fr", "fr", "S’inscrire"),
        ("/newsletter?lang=es", "de", "es", "Suscribirse"),
    ] {
        let call = Call::get(path).header("accept-language", accept);
        let reply = again(&app, call, &format!("200 >{button}</button>")).await;
        assert_eq!(reply.header("content-language"), Some(language));
        assert_eq!(reply.header("vary"), Some("Accept-Language"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action 'self';"), "{policy}");
        assert_present(reply.text(), &[&format!("<html lang=\"{language}\">")]);
    }
    let head = app.expect("200", Call::head(PATH)).await;
    assert!(head.body.is_empty());
    let reply = app.expect("405", Call::new(Method::PUT, PATH)).await;
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"));
}

#[tokio::test]
async fn a_form_of_any_page_signs_an_address_up() {
    let app = TestApp::new();
    let german = "/newsletter/thanks?lang=de";
    for (body, email, led_to) in [
        ("email=Ada%40Example.com", "ada@example.com", THANKS),
        ("email=+bob%40a.example+&name=Bob", "bob@a.example", THANKS),
        ("email=eve@a.example&lang=de-CH", "eve@a.example", german),
    ] {
        let call = form(body).header("origin", "https://blog.example");
        leads_to(&app, call, led_to).await;
        assert!(app.contact(email).await.is_some(), "{email}");
    }
    let thanks = app.send(Call::get(german)).await;
    assert!(thanks.is_html());
    let words = "Sie sind jetzt für unseren Newsletter angemeldet.";
    assert!(thanks.text().contains(words));
    // The language of the browser, where the form names none.
    let call = form("email=ann@example.com&lang=xx").header("accept-language", "fr");
    let call = call.from("198.51.100.2");
    leads_to(&app, call, "/newsletter/thanks?lang=fr").await;
}

#[tokio::test]
async fn a_form_in_a_frame_leads_to_pages_that_are_shown_there() {
    let app = TestApp::new();
    for call in [Call::get(PATH), Call::get(THANKS), form("email=ada")] {
        let reply = app.send(call).await;
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(!policy.contains("frame-ancestors"), "{policy}");
        assert_eq!(reply.header("x-frame-options"), None);
    }
}

#[tokio::test]
async fn the_thanks_say_whether_a_provider_asks_for_more() {
    let app = Setup::with_provider(Arc::new(ScriptedWebhookSender::default())).start();
    leads_to(&app, form("email=ada@example.com"), THANKS).await;
    let thanks = app.send(Call::get(THANKS)).await;
    assert!(thanks.text().contains("If you get a confirmation email"));
    assert!(app.contacts.is_empty());
}

fn multipart(parts: &[(&str, &[u8])]) -> Call {
    let mut body = Vec::new();
    for (name, value) in parts {
        let head = format!(
            "--edge\r\ncontent-type: text/plain; name=\"other\"\r\n\
             content-disposition: form-data; name=\"{name}\"\r\n\r\n"
        );
        body.extend([head.as_bytes(), value, b"\r\n"].concat());
    }
    body.extend_from_slice(b"--edge--\r\n");
    Call::post(PATH, body).typed("multipart/form-data; boundary=edge")
}

#[tokio::test]
async fn a_form_in_parts_is_read_like_any_other() {
    let app = TestApp::new();
    let call = multipart(&[("email", b"ad\xe9@example.com"), ("lang", b"es")]);
    again(&app, call, ENTER_AGAIN).await;
    let photo = ("photo", &b"\xff\xd8\xff"[..]);
    let call = multipart(&[("email", b"ada@example.com"), ("lang", b"es"), photo]);
    leads_to(&app, call, "/newsletter/thanks?lang=es").await;
    assert!(app.contact("ada@example.com").await.is_some());
    let wrong = multipart(&[("email", b"<ada>"), ("lang", b"fr")]);
    let reply = again(&app, wrong, "400 value=\"&lt;ada&gt;\"").await;
    let words = "Veuillez saisir une adresse e-mail valide";
    assert!(reply.text().contains(words));
    let edge = "multipart/form-data; boundary=edge";
    let cut = "--edge\r\ncontent-disposition: form-data; name=\"email\"\r\n\r\neve@example.com";
    for (media_type, body) in [
        (edge, ""),
        (edge, "--edge"),
        (edge, "--other--\r\n"),
        (edge, cut),
        ("multipart/form-data; boundary=", "--\r\n"),
        ("multipart/form-data", "--edge--\r\n"),
    ] {
        let call = Call::post(PATH, body).typed(media_type);
        let reply = app.expect("400", call).await;
        assert!(reply.is_html());
    }
    assert_eq!(app.contacts.len(), 1);
}

#[tokio::test]
async fn an_address_that_is_none_comes_back_with_what_to_do() {
    let app = TestApp::new();
    let none = "400 Please enter your email address.";
    let wrong = "400 Please enter a valid email address";
    let german = "400 Bitte geben Sie eine gültige E-Mail-Adresse ein";
    for (body, told) in [
        ("", none),
        ("email=", none),
        ("email=+", none),
        ("name=Ada", none),
        ("email=ada", wrong),
        ("email=ada&lang=de", german),
        ("email=ada%40example.com%0d%0aBcc:+eve@example.com", wrong),
        ("email=ada%00@example.com", wrong),
        ("email=%", ENTER_AGAIN),
        ("email=%ff", ENTER_AGAIN),
        ("email=a@example.com&email=b@example.com", ENTER_AGAIN),
        ("email=\u{e9}%zz@example.com", ENTER_AGAIN),
    ] {
        let reply = again(&app, form(body), told).await;
        assert_eq!(reply.header("ratelimit"), None);
    }
    // What was typed is text, whatever it is.
    let typed = form("email=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    let reply = again(&app, typed, "400 value=\"&quot;&gt;&lt;script&gt;alert(1)").await;
    assert!(!reply.text().contains("<script>alert"));
    let wrong = form("email=ada%40example&redirect=/danke%22");
    let reply = again(&app, wrong, "400 value=\"ada@example\"").await;
    assert_eq!(hidden(&reply, "redirect"), "/danke%22");
    assert_nothing_done(&app);
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused_unread() {
    let app = TestApp::new();
    for (status, call) in [
        ("415", Call::sign_up("ada@example.com").to(PATH)),
        ("415", form("email=a@example.com").typed("text/plain")),
        ("413", form(&format!("email={}", "a".repeat(9000)))),
    ] {
        app.expect(status, call.clone()).await;
        // Browsers get a page.
        let call = call.header("accept", "text/html,*/*;q=0.8");
        assert!(app.expect(status, call).await.is_html());
    }
    assert_nothing_done(&app);
}

/// Which pages it may lead to, the tests of `redirect` say.
#[tokio::test]
async fn a_form_leads_to_this_origin_or_an_allowed_one() {
    let app = Setup::default()
        .allowing(&["https://shop.example"])
        .limit("newsletter", "off")
        .start();
    for (redirect, led_to) in [
        ("http://landing.example/docs?a=1", "/docs?a=1"),
        ("https://shop.example/danke", "https://shop.example/danke"),
        ("https://evil.example/", THANKS),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("", THANKS),
    ] {
        let redirect = redirect.replace('%', "%25");
        let body = format!("email=ada@example.com&redirect={redirect}");
        leads_to(&app, form(&body), led_to).await;
    }
    let twice = "email=bob@example.com&redirect=/a&redirect=/b";
    again(&app, form(twice), ENTER_AGAIN).await;
    // The page that comes back may lead there, too.
    let body = "email=ada&redirect=https://shop.example/danke";
    let reply = app.send(form(body)).await;
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' https://shop.example;"));
    assert_eq!(hidden(&reply, "redirect"), "https://shop.example/danke");
    let reply = app.send(form("email=ada&redirect=//evil.example")).await;
    assert!(!reply.text().contains("evil"));
}

#[tokio::test]
async fn limits_and_failures_are_told_in_words_and_cost_what_they_cost_elsewhere() {
    let app = Setup::default().limit("newsletter", "1/14m").start();
    let call = form("email=ada@example.com&lang=de");
    taken(&app, call.clone()).await;
    let wait = "429 Bitte versuchen Sie es in 14 Minuten noch einmal.";
    let reply = again(&app, call, wait).await;
    assert_eq!(reply.retry_after_s(), 840);
    assert_eq!(reply.policy(), "newsletter");
    assert_eq!(charged(&app, PolicyName::NewsletterIp), 1);
    // The API counts in the same windows.
    app.expect("429", Call::sign_up("ada@example.com")).await;

    let app = TestApp::new();
    app.contacts.fail_with(Some(StoreError::Overloaded));
    let wait = "503 Please try again in a few minutes.";
    let reply = again(&app, form("email=ada@example.com"), wait).await;
    assert!(reply.text().contains("value=\"ada@example.com\""));
    assert_eq!(reply.header("retry-after"), None);
    assert_nothing_done(&app);
}
