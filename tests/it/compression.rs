//! Documents in content codings, and what never is in one.

use crate::prelude::*;
use crate::site::file;

const BROWSER: &str = "gzip, deflate, br, zstd";

async fn get(app: &TestApp, path: &str, accept_encoding: &str) -> Reply {
    let call = Call::get(path).header("accept-encoding", accept_encoding);
    app.send(call).await
}

#[tokio::test]
async fn a_document_comes_compressed_if_that_is_liked_best() {
    let app = Setup::default().start();
    let plain = get(&app, "/docs", "identity").await;
    assert_eq!(plain.header("content-encoding"), None);
    for accept in [BROWSER, "gzip", "identity;q=0.1, gzip;q=0.2"] {
        let reply = get(&app, "/docs", accept).await;
        assert_eq!(reply.header("content-encoding"), Some("gzip"), "{accept}");
        assert_eq!(reply.header("vary"), Some("Accept, Accept-Encoding"));
        assert_eq!(reply.header("content-type"), plain.header("content-type"));
        assert!(reply.body.len() < plain.body.len() / 3, "{accept}");
        let tag = reply.header("etag").unwrap();
        assert_ne!(Some(tag), plain.header("etag"));
        let again = Call::get("/docs").header("accept-encoding", accept);
        let again = again.header("if-none-match", tag);
        let again = app.expect("304", again).await;
        assert_eq!(again.header("etag"), Some(tag));
        assert_eq!(again.header("content-encoding"), None);
        // Another coding is another representation.
        let other = Call::get("/docs").header("if-none-match", tag);
        app.expect("200", other).await;
    }
}

#[tokio::test]
async fn the_guide_and_the_reference_are_small_on_the_wire() {
    let app = Setup::default().start();
    for path in ["/docs", "/docs/reference", "/"] {
        let bytes = get(&app, path, BROWSER).await.body.len();
        assert!(bytes < 40_000, "{path} has {bytes} bytes");
    }
}

/// Titles of a shop's pages, which its chat offers.
const QUESTIONS: [&str; 3] = [
    "Kann ich meine Bestellung auch am Samstagnachmittag bei Ihnen im Laden abholen?",
    "Wie lange braucht ein Paket mit Geschirr nach Österreich, und was kostet es?",
    "Was mache ich, wenn eine der bestellten Tassen mit einem Sprung ankommt?",
];

#[tokio::test]
async fn the_elements_are_small_on_the_wire_even_with_long_questions() {
    let page = |title: &&str| {
        file(
            &format!("{}.md", title.len()),
            &format!("# {title}\n\nJa.\n"),
        )
    };
    let mut shop = Setup::with_mail(Arc::new(ScriptedMailSender::default()));
    shop.site_files = QUESTIONS.iter().map(page).collect();
    for setup in [Setup::default(), shop] {
        let has_questions = !setup.site_files.is_empty();
        let app = setup.start();
        let script = get(&app, "/embed.js", "identity").await;
        for title in QUESTIONS {
            assert_eq!(script.text().contains(title), has_questions, "{title}");
        }
        let bytes = get(&app, "/embed.js", BROWSER).await.body.len();
        assert!(bytes <= 12_800, "{bytes}");
    }
}

#[tokio::test]
async fn answers_of_the_api_are_never_compressed() {
    let app = Setup::default().start();
    let mint = Call::mint().header("accept-encoding", BROWSER);
    let reply = app.expect("201", mint).await;
    assert_eq!(reply.header("content-encoding"), None);
    for path in ["health", "nothing", "assistant/chat"] {
        let path = format!("/api/v1/{path}");
        let reply = get(&app, &path, BROWSER).await;
        assert_eq!(reply.header("content-encoding"), None, "{path}");
    }
    // Short documents would be no shorter.
    let robots = get(&app, "/robots.txt", BROWSER).await;
    assert_eq!(robots.header("content-encoding"), None);
    assert_eq!(robots.header("vary"), None);
}
