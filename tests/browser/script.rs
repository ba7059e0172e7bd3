//! What the pages do where not all of the script works.

use std::fs;

use serde_json::json;

use crate::browser::Browser;
use crate::{visit, visit_at};

/// Has `script` run in each page before anything of the page's own.
async fn before_all(page: &Browser, script: &str) {
    let parameters = json!({ "source": script });
    page.devtools("Page.addScriptToEvaluateOnNewDocument", parameters)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_takes_no_form_along() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    // As in a browser that does not know them.
    before_all(
        page,
        "delete window.matchMedia; window.matchMedia = undefined;
         HTMLPreElement.prototype.prepend = undefined;",
    )
    .await;
    visit.goto("/docs/reference").await;
    assert!(page.is_seen("[data-form=try-it]").await);
    visit.goto("/").await;
    page.sign_up("ada@example.com", "Thank you for signing up")
        .await;
    let complaints = page.complaints().await;
    let complaints = complaints.concat();
    assert!(complaints.contains("matchMedia"), "{complaints}");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_ends_early_leaves_the_page_as_without_one() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    before_all(page, "document.createElement = undefined").await;
    visit.goto("/").await;
    let scripted = "return document.documentElement.className";
    assert_eq!(page.run(scripted).await, "");
    assert!(page.is_seen("landing-newsletter [type=email]").await);
    assert!(page.text("landing-chat").await.contains("help page"));
    visit.goto("/developers").await;
    assert!(!page.is_seen("[data-form=key]").await);
    let card = page.text("[aria-labelledby=try-key]").await;
    assert!(card.contains("from a terminal:"), "{card}");
    assert!(!page.complaints().await.is_empty());
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_cannot_work_is_not_shown_and_the_others_are() {
    const HOME: &str = "{{ lead }}
        <section class='card' id='unknown'><form class='scripted-only' data-form='poll'></form>
        <p class='scripted-only'>With</p><p class='unscripted'>Without</p></section>
        <section class='card' id='broken'><form class='scripted-only' data-form='key'>
        <button type='submit'>Get</button></form><p class='unscripted'>Without</p></section>
        <section class='card' id='sound'><landing-newsletter>Without</landing-newsletter></section>";
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("home.html"), HOME).unwrap();
    let site_dir = site.path().to_str().unwrap().to_owned();
    let visit = visit_at("/", &["--site-dir", &site_dir]).await;
    let page = &visit.browser;
    for card in ["#unknown", "#broken"] {
        assert_eq!(page.text(card).await, "Without", "{card}");
    }
    page.sign_up("ada@example.com", "signing up with ada@example.com")
        .await;
    assert_eq!(page.complaints().await.len(), 2);
    visit.end().await;
}
