//! The newsletter's plain form: without script, and with the proof of work that its script brings.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::{Visit, visit};

const SIGN_UP: &str = "form[action='/newsletter'] [type=submit]";

async fn without_script(page: &Browser) {
    let parameters = json!({ "value": true });
    page.devtools("Emulation.setScriptExecutionDisabled", parameters)
        .await;
}

/// Sends the form until the page has this title. One that is sent within two seconds comes back.
async fn send_until(page: &Browser, title: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while page.text("h1").await != title {
        assert!(Instant::now() < deadline, "{}", page.text("main").await);
        if page.text("main").await.contains("Sign up") {
            page.click(SIGN_UP).await;
        }
    }
}

async fn path(visit: &Visit) -> String {
    let url = visit.browser.client.current_url().await.unwrap();
    url[url::Position::BeforePath..].to_owned()
}

async fn value(page: &Browser) -> String {
    let field = page.find("#email").await;
    field.prop("value").await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_script_a_visitor_signs_up_and_a_mistake_keeps_what_was_typed() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        without_script(page).await;
        page.resize(390, 844).await;
        visit.goto("/newsletter").await;
        assert!(!page.text("main").await.contains("leave this field empty"));
        // Browsers take it for an address.
        page.fill("#email", "ada@example").await;
        let deadline = Instant::now() + Duration::from_secs(30);
        while !page
            .text("main")
            .await
            .contains("Please check the address.")
        {
            assert!(Instant::now() < deadline, "{}", page.text("main").await);
            page.click(SIGN_UP).await;
        }
        assert_eq!(value(page).await, "ada@example");
        assert_eq!(path(&visit).await, "/newsletter");
        page.fill("#email", "ada@example.com").await;
        send_until(page, "Thank you").await;
        assert_eq!(path(&visit).await, "/newsletter/thanks?lang=en");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_limit_the_script_brings_a_proof_and_without_it_a_time_is_told() {
    let flags = ["--limit", "newsletter-form=1/15m"];
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        visit.goto("/newsletter").await;
        page.fill("#email", "ada@example.com").await;
        send_until(page, "Thank you").await;
        visit.goto("/newsletter").await;
        page.fill("#email", "bob@example.com").await;
        let deadline = Instant::now() + Duration::from_secs(30);
        while !page.text("main").await.contains("your browser then works") {
            assert!(Instant::now() < deadline, "{}", page.text("main").await);
            page.click(SIGN_UP).await;
        }
        assert_eq!(value(page).await, "bob@example.com");
        page.click(SIGN_UP).await;
        page.until_text("h1", "Thank you").await;
        without_script(page).await;
        visit.goto("/newsletter?lang=de").await;
        page.fill("#email", "eve@example.com").await;
        let deadline = Instant::now() + Duration::from_secs(30);
        while !page
            .text("main")
            .await
            .contains("Bitte versuchen Sie es in 15 Minuten")
        {
            assert!(Instant::now() < deadline, "{}", page.text("main").await);
            page.click(SIGN_UP).await;
        }
        assert!(!page.text("main").await.contains("Browser rechnet"));
    })
    .await;
}
