//! The newsletter's plain form, without script.

use crate::browser::Browser;
use crate::{Visit, visit};

const SIGN_UP: &str = "form[action='/newsletter'] [type=submit]";

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
        page.click(SIGN_UP).await;
        page.until_text("[role=alert]", "Please enter a valid email address")
            .await;
        assert_eq!(value(page).await, "ada@example");
        assert_eq!(path(&visit).await, "/newsletter");
        page.fill("#email", "ada@example.com").await;
        page.click(SIGN_UP).await;
        page.until_text("h1", "Thank you").await;
        assert_eq!(path(&visit).await, "/newsletter/thanks?lang=en");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_limit_the_page_tells_how_long_to_wait() {
    let flags = ["--limit", "newsletter-ip=1/15m"];
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        visit.goto("/newsletter").await;
        page.fill("#email", "ada@example.com").await;
        page.click(SIGN_UP).await;
        page.until_text("h1", "Thank you").await;
        visit.goto("/newsletter?lang=de").await;
        page.fill("#email", "eve@example.com").await;
        page.click(SIGN_UP).await;
        let wait = "Bitte versuchen Sie es in 15 Minuten noch einmal";
        page.until_text("[role=alert]", wait).await;
        assert_eq!(value(page).await, "eve@example.com");
    })
    .await;
}
