//! Signing up, minting a key, trying the sandbox, and what is said when it does not work.

use std::collections::HashSet;

use serde_json::json;

use crate::parts::{EMAIL, ENTER, KEY_STATUS, MINT, SIGN_UP, SIGN_UP_STATUS};
use crate::{Visit, visit, visit_at};

const NEWSLETTER: &str = "landing-newsletter >>> form";
const EMAIL_ERROR: &str = "landing-newsletter >>> #email-error";
/// What is typed as the address.
const ADDRESS: &str = "return find('landing-newsletter >>> #email').value";
const KEY: &str = "[data-form=key]";

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_signs_up_and_an_address_that_is_none_is_told_beside_its_field() {
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    page.fill(EMAIL, "not an address").await;
    page.click(SIGN_UP).await;
    page.until_text(EMAIL_ERROR, "Please enter a valid email address")
        .await;
    // It is said once.
    assert_eq!(page.text(SIGN_UP_STATUS).await, "");
    let has_focus = "return focused().id + focused().ariaInvalid";
    assert_eq!(page.run(has_focus).await, "emailtrue");
    // What was typed is still there, and once it is right the error goes.
    assert_eq!(page.run(ADDRESS).await, "not an address");
    page.sign_up("Ada@Example.com", "signing up with Ada@Example.com.")
        .await;
    assert!(!page.is_seen(EMAIL_ERROR).await);
    assert_eq!(page.run("return focused().ariaInvalid").await, json!(null));
    assert_eq!(page.run(ADDRESS).await, "");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_minted_copied_and_shown_once() {
    let visit = visit_at("/developers", &[]).await;
    let page = &visit.browser;
    assert!(!page.is_seen(".key").await);
    page.fill("#label", "my integration").await;
    page.click(MINT).await;
    page.until_text(".key code", "lak_").await;
    let key = page.text(".key code").await;
    assert_eq!(key.len(), 40);
    assert_eq!(visit.service.health(&key), 200);
    page.click(".key button").await;
    page.until_text(".key button", "Copied").await;
    assert_eq!(page.clipboard().await, key);
    page.until_text(".key button", "Copy the key").await;
    // The browser may keep the page as it is left, and show it again.
    for event in ["pagehide", "pageshow"] {
        let event = format!("new PageTransitionEvent('{event}', {{ persisted: true }})");
        page.run(&format!("dispatchEvent({event})")).await;
    }
    assert!(!page.is_seen(".key").await);
    for part in [".key code", ".key .hint", KEY_STATUS] {
        let text = format!("return document.querySelector('{part}').textContent");
        assert_eq!(page.run(&text).await, "", "{part}");
    }
    // Nor is it there for whoever comes back to a page that is loaded anew.
    page.click("footer [href='/developers.md']").await;
    page.client.back().await;
    page.until("document.querySelector('.key')").await;
    assert!(!page.is_seen(".key").await);
    let is_kept = "return document.body.textContent.includes('lak_')";
    assert_eq!(page.run(is_kept).await, false);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_too_fast_sees_when_to_try_again() {
    let visit = visit_at("/developers", &["--limit", "keys=1/5s"]).await;
    let page = &visit.browser;
    page.click(MINT).await;
    page.until_text(KEY, "Here is your key").await;
    page.click(MINT).await;
    page.until_text(KEY_STATUS, "Try again in ").await;
    let held = format!("document.querySelector('{MINT}').ariaDisabled === 'true'");
    assert_eq!(page.run(&format!("return {held}")).await, true);
    // Pressing it now asks nobody.
    page.click(MINT).await;
    page.until_text(KEY_STATUS, "Try again in ").await;
    // The key from before may not have been copied yet.
    assert!(page.is_seen(".key").await);
    page.until_text(KEY_STATUS, "You can try again now.").await;
    assert_eq!(page.run(&format!("return {held}")).await, false);
    page.click(MINT).await;
    page.until_text(KEY, "Here is your key").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_offline_is_told_and_can_try_again() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    for (path, field, button, status, done) in [
        ("/", EMAIL, SIGN_UP, NEWSLETTER, "Thank you for signing up"),
        ("/developers", "#label", MINT, KEY, "Here is your key"),
    ] {
        visit.goto(path).await;
        page.fill(field, "ada@example.com").await;
        page.set_online(false).await;
        page.click(button).await;
        page.until_text(status, "Can’t reach the service.").await;
        page.set_online(true).await;
        page.click(button).await;
        page.until_text(status, done).await;
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_tried_in_the_docs() {
    let visit = visit_at("/docs/reference#operation/echo", &[]).await;
    let page = &visit.browser;
    page.fill("[name=message]", "<b>Ada</b>").await;
    page.click("[name=echo_headers]").await;
    page.click("[data-form=try-it] [type=submit]").await;
    page.until_text("output", "HTTP 200").await;
    let answer = page.text("output").await;
    let limit = "RateLimit: \"default\";r=";
    for part in [limit, "<b>Ada</b>", "request_user_agent"] {
        assert!(answer.contains(part), "{answer}");
    }
    page.fill("[name=message]", "").await;
    page.press(ENTER).await;
    let error = "[id='try/echo/message-error']";
    page.until_text(error, "message must not be empty.").await;
    assert!(!page.is_seen("output").await);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_copied() {
    let visit = visit_at("/developers", &[]).await;
    let page = &visit.browser;
    let copied = copy(&visit).await;
    assert_eq!(copied, "Copied");
    let expected = format!("curl http://{}/api/v1/health", visit.service.address);
    assert_eq!(page.clipboard().await, expected);
    // Each button tells those who hear it alone what it copies.
    let names = page
        .run("return [...document.querySelectorAll('.copy')].map((one) => one.ariaLabel)")
        .await;
    let names = names.as_array().unwrap();
    let distinct: HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    let key = expected.replace("curl", "Copy: curl -X POST");
    assert_eq!(names[1], key.replace("health", "keys"));
    // A page of an origin that is not secure has no clipboard.
    page.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        .await;
    visit.browser.until_text("pre .copy", "Copy").await;
    assert_eq!(copy(&visit).await, "Selected: copy it with the keyboard");
    let selected = page.run("return getSelection().toString().trim()").await;
    assert_eq!(selected, expected);
    visit.end().await;
}

/// Presses the first copy button and gives what it says then.
async fn copy(visit: &Visit) -> String {
    let page = &visit.browser;
    page.until("document.querySelector('pre .copy').textContent === 'Copy'")
        .await;
    page.click("pre .copy").await;
    page.until("document.querySelector('pre .copy').textContent !== 'Copy'")
        .await;
    page.text("pre .copy").await
}
