//! Failures as pages: for people outside the API, in their language, and for nobody else.

use crate::prelude::*;

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn page(app: &TestApp, status: &str, call: Call, language: &str) -> Reply {
    let call = call.header("accept", BROWSER);
    let reply = app
        .expect(status, call.header("accept-language", language))
        .await;
    assert!(reply.is_html());
    reply
}

#[tokio::test]
async fn a_mistyped_link_is_a_page_in_the_visitors_language() {
    let app = Setup::default().start();
    for (language, title) in [
        ("en", "Page not found"),
        ("de", "Seite nicht gefunden"),
        ("fr-CA", "Page introuvable"),
        ("es", "Página no encontrada"),
    ] {
        let reply = page(&app, "404", Call::get("/abuot"), language).await;
        let tag = language.split('-').next().unwrap();
        for part in [
            &*format!("<h1>{title}</h1>"),
            &format!("<html lang=\"{tag}\">"),
            "<meta name=\"robots\" content=\"noindex\">",
            "<a class=\"button\" href=\"/\">",
        ] {
            assert!(reply.text().contains(part), "{part}: {}", reply.text());
        }
        assert_eq!(reply.header("content-language"), Some(tag));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("vary"), Some("Accept, Accept-Language"));
        assert!(reply.header("content-security-policy").is_some());
    }
}

#[tokio::test]
async fn a_refusal_tells_people_when_to_try_again() {
    let app = Setup::default().limit("default", "1/14m").start();
    app.expect("200", Call::get("/docs")).await;
    let reply = page(&app, "429", Call::get("/docs"), "en").await;
    assert_eq!(reply.retry_after_s(), 840);
    let html = reply.text();
    assert!(html.contains("Please try again in 14 minutes."), "{html}");
    let (_, main) = html.split_once("<main").unwrap();
    assert!(!main.contains("840"));
}

#[tokio::test]
async fn a_wrong_method_is_a_page_with_the_methods_that_are_right() {
    let app = Setup::default().start();
    let call = Call::new(Method::POST, "/docs");
    let reply = page(&app, "405", call, "en").await;
    assert_eq!(reply.header("allow"), Some("GET, HEAD"));
    assert!(reply.text().contains("That does not work here"));
}

/// Where nothing is, and what is accepted there.
const NO_PAGES: &str = "
/abuot          | */*
/abuot          |
/abuot          | application/json
/abuot          | application/json, text/html;q=0.9
/abuot          | application/problem+json, text/html;q=0.1
/abuot          | text/html;q=0
/api/v1/nothing | as browsers
/api            | as browsers
/agent/nothing  | as browsers
/oauth2/nothing | as browsers
";

#[tokio::test]
async fn programs_and_the_api_get_problems_as_ever() {
    let app = Setup::default().start();
    for [path, accept] in rows(NO_PAGES) {
        let accept = accept.replace("as browsers", BROWSER);
        let call = Call::get(path).header("accept", &accept);
        let reply = app.expect("404", call).await;
        let media_type = reply.header("content-type").unwrap();
        assert_eq!(media_type, "application/problem+json", "{path} {accept}");
    }
}
