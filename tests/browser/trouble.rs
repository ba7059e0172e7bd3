//! Every error that a form can meet, and what is said of it.

use serde_json::json;

use crate::browser::Browser;
use crate::parts::{
    CHAT_STATUS, DRAFT, EMAIL, KEY_STATUS, LEFT, MINT, QUESTION, SEND, SIGN_UP, SIGN_UP_STATUS,
};
use crate::{visit, visit_at};

const TRY: &str = "[data-form=try-it] [type=submit]";
const TRY_STATUS: &str = "[data-form=try-it] .status";

/// Puts a text into the field of the question at once.
async fn set_question(page: &Browser, text: &str) {
    let text = json!(text);
    page.run(&format!("find('{QUESTION}').value = {text}"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_field_is_said_beside_it() {
    let visit = visit_at("/developers", &[]).await;
    let page = &visit.browser;
    let label = "a".repeat(65);
    page.fill("#label", &label).await;
    page.click(MINT).await;
    page.until_text("#label-error", "Please shorten the name.")
        .await;
    assert_eq!(page.text(KEY_STATUS).await, "");
    assert!(!page.is_seen(".key").await);

    visit.goto("/").await;
    let longest = "a".repeat(2000);
    for question in [String::new(), "  ".to_owned(), format!("{longest}a")] {
        set_question(page, &question).await;
        page.click(SEND).await;
        page.until_text(
            "landing-chat >>> #question-error",
            "Please enter a question of up to 2,000 characters.",
        )
        .await;
        assert_eq!(page.text(CHAT_STATUS).await, "");
        assert_eq!(page.run("return focused().id").await, "question");
        // It is no turn, and still there to be put right.
        let turns = "return all('landing-chat >>> .turn').length";
        assert_eq!(page.run(turns).await, 0);
        assert_eq!(page.run(DRAFT).await, question);
    }
    page.until_text(LEFT, "10 of 10 messages left").await;
    // The longest that the API takes is taken.
    set_question(page, &longest).await;
    page.click(SEND).await;
    page.until_text(LEFT, "9 of 10 messages left").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_too_much_of_everything_waits_in_the_docs_too() {
    let visit = visit_at("/docs/reference", &["--limit", "default=20/1h"]).await;
    let page = &visit.browser;
    let is_held = format!("return document.querySelector('{TRY}').ariaDisabled === 'true'");
    for _ in 0..20 {
        page.click(TRY).await;
        let answered =
            format!("/below|again/.test(document.querySelector('{TRY_STATUS}').textContent)");
        page.until(&answered).await;
        if page.run(&is_held).await == true {
            break;
        }
    }
    page.until_text(TRY_STATUS, "Try again in ").await;
    let said = page.text(TRY_STATUS).await;
    let has_end = said.ends_with("minutes.") || said.ends_with("1 hour.");
    assert!(has_end, "{said}");
    assert!(!page.is_seen("output").await);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_limits_the_sandbox_shows_none() {
    let flags = ["--limit", "default=off", "--limit", "ip=off"];
    let visit = visit_at("/docs/reference", &flags).await;
    let page = &visit.browser;
    page.click(TRY).await;
    page.until_text("output", "HTTP 200").await;
    let answer = page.text("output").await;
    let is_shown = answer.contains("RateLimit") || answer.contains("null");
    assert!(!is_shown, "{answer}");
    assert!(answer.contains("\"echo\": \"hello\""), "{answer}");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_something_between_says_is_told_in_our_words() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    let html = "{ headers: { 'Content-Type': 'text/html' }, status: 502 }";
    let problem = "{ headers: { 'Content-Type': 'application/problem+json' }, status: 400 }";
    let odd = r#"{"errors":7,"violated-policies":{}}"#;
    for answer in [
        format!("new Response('<h1>Bad gateway</h1>', {html})"),
        "new Response('<h1>Welcome to our Wi-Fi</h1>')".to_owned(),
        "new Response('')".to_owned(),
        format!("new Response('{{', {problem})"),
        format!("new Response('[7]', {problem})"),
        format!("new Response('{odd}', {problem})"),
    ] {
        for (path, button, status) in [
            ("/", SIGN_UP, SIGN_UP_STATUS),
            ("/developers", MINT, KEY_STATUS),
        ] {
            visit.goto(path).await;
            page.find(button).await;
            page.intercept(&answer).await;
            page.run("for (const field of all('landing-newsletter >>> #email')) field.value = 'a'")
                .await;
            page.click(button).await;
            page.until_text(status, "Something went wrong. Please try again later.")
                .await;
        }
        assert!(!page.is_seen(".key").await);
    }
    // Such an error may say when to come back, as a date, or as nonsense.
    for (value, countdown) in [
        (
            "new Date(Date.now() + 90_500).toUTCString()",
            "Try again in 2 minutes.",
        ),
        ("'99999999999999999999'", "Try again in 366 days."),
    ] {
        visit.goto("/").await;
        page.fill(EMAIL, "ada@example.com").await;
        page.intercept(&format!(
            "new Response('', {{ status: 503, headers: {{ 'Retry-After': {value} }} }})"
        ))
        .await;
        page.click(SIGN_UP).await;
        page.until_text(SIGN_UP_STATUS, countdown).await;
        let held = format!("return find('{SIGN_UP}').ariaDisabled");
        assert_eq!(page.run(&held).await, "true");
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_silent_is_given_up() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    for (path, button, status) in [
        ("/developers", MINT, KEY_STATUS),
        ("/", SIGN_UP, SIGN_UP_STATUS),
        ("/", SEND, CHAT_STATUS),
    ] {
        visit.goto(path).await;
        // Half a minute and more passes in a second.
        page.run(
            "const real = setTimeout;
             window.setTimeout = (work, ms, ...more) => real(work, ms > 30_000 ? 1000 : ms, ...more);",
        )
        .await;
        let silent = "new Promise((_, reject) =>
            options.signal.addEventListener('abort', () => reject(new Error('aborted'))))";
        page.intercept(silent).await;
        page.run("for (const field of all('landing-chat >>> #question')) field.value = 'Hello?'")
            .await;
        page.click(button).await;
        page.until_text(status, "Can’t reach the service.").await;
    }
    assert_eq!(page.run(DRAFT).await, "Hello?");
    // A stream may begin and then fall silent.
    page.intercept(
        "new Response(new ReadableStream({ start: (controller) => {
            const event = 'event: delta\\ndata: {\"text\":\"It begins.\"}\\n\\n';
            controller.enqueue(new TextEncoder().encode(event));
            options.signal.addEventListener('abort', () => controller.error());
        } }))",
    )
    .await;
    page.click(SEND).await;
    page.until_text("landing-chat >>> .turn:last-child", "It begins. …")
        .await;
    page.until_text(CHAT_STATUS, "Can’t reach the service.")
        .await;
    visit.end().await;
}
