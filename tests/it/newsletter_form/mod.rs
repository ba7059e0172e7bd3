//! The newsletter as a plain HTML form: it works without script, on any page.

mod checks;

use std::sync::Arc;

use hyper::{Method, StatusCode};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::policy::PolicyName;
use landing_api::ports::{ContactStore as _, StoreError};

use crate::harness::{Call, Reply, Setup, TestApp};
use crate::twins::ScriptedSignUps;

const PATH: &str = "/newsletter";
const THANKS: &str = "/newsletter/thanks?lang=en";

fn form(body: &str) -> Call {
    Call::form(PATH, body.to_owned())
}

/// Where a form led.
fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    assert!(reply.body.is_empty());
    reply.header("location").unwrap()
}

/// Fails unless the form came back with `status` and `words`.
fn assert_again(reply: &Reply, status: u16, words: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert!(reply.is_html());
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(reply.text().contains(words), "{words}: {}", reply.text());
    assert!(
        reply
            .text()
            .contains("<form method=\"post\" action=\"/newsletter\"")
    );
}

async fn is_kept(app: &TestApp, email: &str) -> bool {
    let email = EmailAddress::parse(email).unwrap();
    app.contacts.find(&email).await.unwrap().is_some()
}

/// What was charged to a policy, and not refunded.
fn charged(app: &TestApp, policy: PolicyName) -> u64 {
    let mut policies = app.metrics.policies();
    let (_, counted) = policies.find(|(name, _)| *name == policy).unwrap();
    counted.admitted.get() - counted.refunded.get()
}

/// How many forms each check has stopped: honeypot, stamp, proof.
fn stopped(app: &TestApp) -> [u64; 3] {
    let forms = &app.metrics.forms;
    [&forms.honeypot, &forms.stamp, &forms.proof].map(|counter| counter.get())
}

/// The value of an attribute.
fn unescaped(value: &str) -> String {
    let text = value.replace("&quot;", "\"").replace("&#x2f;", "/");
    text.replace("&amp;", "&")
}

/// The value of a hidden field of a page.
fn hidden(reply: &Reply, name: &str) -> String {
    let before = format!("name=\"{name}\" value=\"");
    let (_, rest) = reply.text().split_once(&before).unwrap();
    unescaped(rest.split('"').next().unwrap())
}

/// Nothing was stored, and nothing counted beyond the door.
fn assert_nothing_done(app: &TestApp) {
    assert!(app.contacts.is_empty());
    for policy in [
        PolicyName::Newsletter,
        PolicyName::NewsletterIp,
        PolicyName::NewsletterAll,
        PolicyName::NewsletterForm,
    ] {
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
        let reply = app.send(call).await;
        assert_again(&reply, 200, &format!(">{button}</button>"));
        assert_eq!(reply.header("content-language"), Some(language));
        assert_eq!(reply.header("vary"), Some("Accept-Language"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action 'self';"), "{policy}");
        assert!(
            reply
                .text()
                .contains(&format!("<html lang=\"{language}\">"))
        );
    }
    let head = app.send(Call::new(Method::HEAD, PATH)).await;
    assert_eq!(head.status, StatusCode::OK);
    assert!(head.body.is_empty());
    let reply = app.send(Call::new(Method::PUT, PATH)).await;
    assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"));
}

#[tokio::test]
async fn a_form_of_any_page_signs_an_address_up() {
    let app = TestApp::new();
    for (body, email, led_to) in [
        ("email=Ada%40Example.com", "ada@example.com", THANKS),
        (
            "email=+bob%40example.com+&name=Bob",
            "bob@example.com",
            THANKS,
        ),
        (
            "email=eve@example.com&lang=de-CH",
            "eve@example.com",
            "/newsletter/thanks?lang=de",
        ),
    ] {
        let call = form(body).header("origin", "https://blog.example");
        let reply = app.send(call).await;
        assert_eq!(location(&reply), led_to);
        assert!(is_kept(&app, email).await, "{email}");
    }
    let thanks = app.send(Call::get("/newsletter/thanks?lang=de")).await;
    assert!(thanks.is_html());
    assert!(thanks.text().contains("Ihre Adresse steht auf der Liste."));
    // The language of the browser, where the form names none.
    let call = form("email=ann@example.com&lang=xx").header("accept-language", "fr");
    let reply = app.send(call.from("198.51.100.2")).await;
    assert_eq!(location(&reply), "/newsletter/thanks?lang=fr");
}

#[tokio::test]
async fn the_thanks_say_whether_a_provider_asks_for_more() {
    let app = Setup {
        provider: Some(Arc::new(ScriptedSignUps::default())),
        ..Setup::default()
    }
    .start();
    let reply = app.send(form("email=ada@example.com")).await;
    assert_eq!(location(&reply), THANKS);
    let thanks = app.send(Call::get(THANKS)).await;
    assert!(thanks.text().contains("asking you to confirm"));
    assert!(app.contacts.is_empty());
}

fn multipart(parts: &[(&str, &[u8])]) -> Call {
    let mut body = Vec::new();
    for (name, value) in parts {
        body.extend_from_slice(b"--edge\r\ncontent-disposition: form-data; name=\"");
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b"\"\r\n\r\n");
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--edge--\r\n");
    Call::post(PATH, body).typed("multipart/form-data; boundary=edge")
}

#[tokio::test]
async fn a_form_in_parts_is_read_like_any_other() {
    let app = TestApp::new();
    let call = multipart(&[
        ("email", b"ada@example.com"),
        ("lang", b"es"),
        ("photo", b"\xff\xd8\xff"),
    ]);
    assert_again(
        &app.send(call).await,
        400,
        "Please enter your address once more",
    );
    let call = multipart(&[("email", b"ada@example.com"), ("lang", b"es"), ("x", b"y")]);
    assert_eq!(
        location(&app.send(call).await),
        "/newsletter/thanks?lang=es"
    );
    assert!(is_kept(&app, "ada@example.com").await);
    let wrong = multipart(&[("email", b"<ada>"), ("lang", b"fr")]);
    let reply = app.send(wrong).await;
    assert_again(&reply, 400, "value=\"&lt;ada&gt;\"");
    assert!(reply.text().contains("Veuillez vérifier l’adresse"));
    for (boundary, body) in [
        ("multipart/form-data; boundary=edge", ""),
        ("multipart/form-data; boundary=edge", "--edge"),
        ("multipart/form-data; boundary=edge", "--other--\r\n"),
        (
            "multipart/form-data; boundary=edge",
            "--edge\r\ncontent-disposition: form-data; name=\"email\"\r\n\r\neve@example.com",
        ),
        ("multipart/form-data; boundary=", "--\r\n"),
        ("multipart/form-data", "--edge--\r\n"),
    ] {
        let reply = app.send(Call::post(PATH, body).typed(boundary)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{boundary} {body}");
        assert!(reply.is_html());
    }
    assert_eq!(app.contacts.len(), 1);
}

#[tokio::test]
async fn an_address_that_is_none_comes_back_with_what_to_do() {
    let app = TestApp::new();
    for (body, words) in [
        ("", "Please enter your e-mail address."),
        ("email=", "Please enter your e-mail address."),
        ("email=+", "Please enter your e-mail address."),
        ("name=Ada", "Please enter your e-mail address."),
        ("email=ada", "Please check the address."),
        ("email=ada&lang=de", "Bitte prüfen Sie die Adresse."),
        (
            "email=ada%40example.com%0d%0aBcc:+eve@example.com",
            "Please check",
        ),
        ("email=ada%00@example.com", "Please check"),
        ("email=%", "Please enter your address once more."),
        ("email=%ff", "Please enter your address once more."),
        (
            "email=a@example.com&email=b@example.com",
            "Please enter your address once more.",
        ),
        (
            "email=\u{e9}%zz@example.com",
            "Please enter your address once more.",
        ),
    ] {
        let reply = app.send(form(body)).await;
        assert_again(&reply, 400, words);
        assert_eq!(reply.header("ratelimit"), None);
    }
    // What was typed is text, whatever it is.
    let typed = "email=%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let reply = app.send(form(typed)).await;
    assert_again(&reply, 400, "value=\"&quot;&gt;&lt;script&gt;alert(1)");
    assert!(!reply.text().contains("<script>alert"));
    let reply = app
        .send(form("email=ada%40example&redirect=/danke%22"))
        .await;
    assert_again(&reply, 400, "value=\"ada@example\"");
    assert_eq!(hidden(&reply, "redirect"), "/danke%22");
    assert_nothing_done(&app);
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused_unread() {
    let app = TestApp::new();
    for (call, status) in [
        (Call::post(PATH, "{\"email\":\"ada@example.com\"}"), 415),
        (form("email=a@example.com").typed("text/plain"), 415),
        (form(&format!("email={}", "a".repeat(9000))), 413),
    ] {
        assert_eq!(app.send(call.clone()).await.status.as_u16(), status);
        // Browsers get a page.
        let reply = app.send(call.header("accept", "text/html,*/*;q=0.8")).await;
        assert_eq!(reply.status.as_u16(), status);
        assert!(reply.is_html());
    }
    // The API takes no form.
    let call = Call::form("/api/v1/newsletter", "email=ada@example.com");
    assert_eq!(app.send(call).await.status.as_u16(), 415);
    assert_nothing_done(&app);
}

#[tokio::test]
async fn a_form_leads_to_this_origin_or_an_allowed_one() {
    let app = Setup {
        allowed_origins: &["https://shop.example"],
        ..Setup::default()
    }
    .limit("newsletter-form", "off")
    .limit("newsletter", "off")
    .start();
    for (redirect, led_to) in [
        ("/docs", "/docs"),
        ("http://landing.example/docs?a=1", "/docs?a=1"),
        ("https://shop.example/danke", "https://shop.example/danke"),
        ("https://evil.example/", THANKS),
        ("//evil.example", THANKS),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("/\\evil.example", THANKS),
        ("javascript:alert(1)", THANKS),
        ("https://shop.example@evil.example/", THANKS),
        ("", THANKS),
    ] {
        let body = format!(
            "email=ada@example.com&redirect={}",
            redirect.replace('%', "%25")
        );
        let reply = app.send(form(&body)).await;
        assert_eq!(location(&reply), led_to, "{redirect}");
    }
    let twice = "email=bob@example.com&redirect=/a&redirect=/b";
    assert_again(
        &app.send(form(twice)).await,
        400,
        "Please enter your address once more.",
    );
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
    location(&app.send(call.clone()).await);
    let reply = app.send(call).await;
    assert_again(
        &reply,
        429,
        "Bitte versuchen Sie es in 14 Minuten noch einmal.",
    );
    assert_eq!(reply.retry_after_s(), 840);
    assert_eq!(reply.policy(), "newsletter");
    assert_eq!(charged(&app, PolicyName::NewsletterForm), 1);
    // The API counts in the same windows.
    let api = Call::post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#);
    let refused = app.send(api).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);

    let app = TestApp::new();
    app.contacts.fail_with(Some(StoreError::Overloaded));
    let reply = app.send(form("email=ada@example.com")).await;
    assert_again(&reply, 503, "Please try again in a few minutes.");
    assert!(reply.text().contains("value=\"ada@example.com\""));
    assert_eq!(reply.header("retry-after"), None);
    assert_nothing_done(&app);
}
