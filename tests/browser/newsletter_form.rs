//! The newsletter's plain form: without script, and with the proof of work that its script brings.

use std::time::Duration;

use tokio::time::timeout;

use crate::browser::Browser;
use crate::{Visit, visit};

const SIGN_UP: &str = "form[action='/newsletter'] [type=submit]";

/// What the page says, if it is not just being left.
async fn main_text(page: &Browser) -> Option<String> {
    let main = page.client.find("main").await.ok()?;
    main.text().await.ok()
}

/// Sends the form until the page says `words`: one that is sent within two seconds comes back.
async fn send_until(page: &Browser, words: &str) {
    let sent = async {
        loop {
            let text = main_text(page).await;
            if text.is_some_and(|text| text.contains(words)) {
                return;
            }
            if let Ok(button) = page.client.find(SIGN_UP).await {
                // The page may be left meanwhile.
                let _ = button.click().await;
            }
        }
    };
    let sent = timeout(Duration::from_secs(30), sent).await;
    assert!(sent.is_ok(), "{words}: {:?}", main_text(page).await);
}

async fn path(visit: &Visit) -> String {
    let url = visit.browser.client.current_url().await.unwrap();
    url[url::Position::BeforePath..].to_owned()
}

async fn value(page: &Browser) -> String {
    let field = page.find("#email").await;
    field.property("value").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_script_a_visitor_signs_up_and_a_mistake_keeps_what_was_typed() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        page.stop_scripts().await;
        page.resize(390, 844).await;
        visit.goto("/newsletter").await;
        assert!(!page.text("main").await.contains("Leave this empty"));
        // Browsers take it for an address.
        page.fill("#email", "ada@example").await;
        send_until(page, "Please check the address.").await;
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
        send_until(page, "your browser will then solve").await;
        assert_eq!(value(page).await, "bob@example.com");
        page.click(SIGN_UP).await;
        page.until_text("h1", "Thank you").await;
        page.stop_scripts().await;
        visit.goto("/newsletter?lang=de").await;
        page.fill("#email", "eve@example.com").await;
        send_until(page, "Bitte versuchen Sie es in 15 Minuten").await;
        assert!(!page.text("main").await.contains("Browser löst"));
    })
    .await;
}
