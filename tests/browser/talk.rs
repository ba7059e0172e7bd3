//! What a conversation does with what the visitor wrote, and how it is heard.

use serde_json::json;

use crate::upstream::{Script, Upstream, chunk};
use crate::visit;

const SEND: &str = "[data-form=assistant] [type=submit]";
const STATUS: &str = "[data-form=assistant] .status";

#[tokio::test(flavor = "multi_thread")]
async fn a_separator_in_an_answer_loses_nothing() {
    let text = "One\u{2028}two\u{2029}three";
    let upstream = Upstream::start([Script::stream([
        chunk(&json!({ "content": text }), None),
        chunk(&json!({}), Some("stop")),
        "[DONE]".to_owned(),
    ])])
    .await;
    let url = upstream.base_url();
    visit(
        &["--model-url", &url, "--model", "m"],
        move |visit| async move {
            let page = &visit.browser;
            visit.goto("/").await;
            page.fill("#question", "Hello?").await;
            page.click(SEND).await;
            page.until("document.querySelector('.answer:not(.growing)')")
                .await;
            let answer = "return document.querySelector('.answer .text').textContent";
            assert_eq!(page.run(answer).await, text);
            assert_eq!(page.text(STATUS).await, "");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_kinds_that_are_not_known_are_passed_over() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.intercept_with_events().await;
        page.fill("#question", "Hello?").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        page.run(
            "feed(': hello\\r\\nevent: thinking\\r\\ndata: {}\\r\\n\\r\\nevent: delta\\r\\n')",
        )
        .await;
        page.run("feed('data:{\"text\":\"One\"}\\r\\n\\r\\n')")
            .await;
        page.until_text(".growing .text", "One").await;
        assert_eq!(page.text(".growing .text").await, "One");
        page.run("feed('event: message\\ndata: {\\ndata: \"message\":\"One.\"}\\n\\n')")
            .await;
        page.until_text(".answer:not(.growing) .text", "One.").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_survives_failures_and_suggestions() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        // Presses of one after the other are choices, not additions.
        for _ in 0..2 {
            page.click(".suggestions button").await;
            assert_eq!(
                page.run("return question.value").await,
                "How do I get an API key?"
            );
        }
        page.fill("#question", "My own").await;
        page.click(".suggestions button").await;
        let both = "My own\nHow do I get an API key?";
        assert_eq!(page.run("return question.value").await, both);

        // Whoever types on while a question fails loses neither.
        page.intercept(
            "new Promise((_, reject) => { window.fail = () => reject(new TypeError()) })",
        )
        .await;
        page.fill("#question", "First?").await;
        page.click(SEND).await;
        page.until("window.fail").await;
        page.fill("#question", "Next?").await;
        page.run("fail()").await;
        page.until_text(STATUS, "The service could not be reached")
            .await;
        assert_eq!(page.run("return question.value").await, "Next?");
        let turn = page.text(".turn").await;
        assert!(
            turn.contains("First?") && turn.contains("Not answered."),
            "{turn}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_types_on_signs_up_with_what_was_sent() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.run(
            "const real = fetch;
             const released = new Promise((resolve) => { window.release = resolve });
             window.fetch = (...request) => released.then(() => real(...request));",
        )
        .await;
        page.fill("#email", "ada@example.com").await;
        page.press("\u{e007}").await;
        page.fill("#email", "bob@example.com").await;
        page.run("release()").await;
        page.until_text(
            "[data-form=newsletter]",
            "Thank you. ada@example.com is on the list.",
        )
        .await;
        assert_eq!(page.run("return email.value").await, "bob@example.com");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_heard_and_the_focus_is_never_lost() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        // What is added to a log is read out if the log was there before.
        assert_eq!(page.run("return document.querySelector('[role=log]').hidden").await, false);
        page.run(
            "window.heard = [];
             new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(
                 (node) => heard.push(node.ariaHidden === 'true' ? '' : node.textContent))))
                 .observe(document.querySelector('.talk'), { childList: true });",
        )
        .await;
        page.intercept_with_events().await;
        page.fill("#question", "Hello?").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        // Nobody can get into what is hidden from them.
        let url = page.client.current_url().await.unwrap();
        let delta = json!({ "text": format!("See {url}docs for") }).to_string();
        let event = json!(format!("event: delta\ndata: {delta}\n\n"));
        page.run(&format!("feed({event})")).await;
        page.until_text(".growing", "docs for").await;
        assert_eq!(page.run("return document.querySelectorAll('[aria-hidden] a').length").await, 0);
        page.run("document.querySelector('.stop').focus()").await;
        let message = json!({ "message": format!("See {url}docs for more.") }).to_string();
        let event = json!(format!("event: message\ndata: {message}\n\n"));
        page.run(&format!("feed({event})")).await;
        page.until("document.querySelector('.answer:not(.growing)')").await;
        assert_eq!(page.run("return document.activeElement.id").await, "question");
        assert_eq!(page.run("return document.querySelectorAll('.answer a').length").await, 1);

        // What broke off is heard, too.
        page.fill("#question", "More?").await;
        page.run("window.feed = null").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        page.run("feed('event: delta\\ndata: {\"text\":\"It begins\"}\\n\\n')").await;
        page.until_text(".growing", "It begins").await;
        page.run("end()").await;
        page.until_text(STATUS, "The answer broke off before its end.").await;
        let heard = page.run("return heard.filter(Boolean).join('|')").await;
        let expected = format!(
            "YouHello?|AssistantSee {url}docs for more.|YouMore?|AssistantIt beginsThe rest is missing."
        );
        assert_eq!(heard, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_wait_grows_less() {
    visit(&["--limit", "assistant=1/48h"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.fill("#question", "Hello?").await;
        page.click(SEND).await;
        page.until_text(".left", "The next one is free in 1 day 23 h.")
            .await;
        page.run(
            "const real = Date.now.bind(Date);
             Date.now = () => real() + 24 * 3600 * 1000;",
        )
        .await;
        page.until_text(".left", "The next one is free in 23 h 5")
            .await;
        // When it is over, the service is asked again.
        page.run("Date.now = () => 8.64e15").await;
        page.until_text(".left", "The next one is free in 1 day 23 h.")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_holds_nobody_up() {
    visit(&["--limit", "keys=1/8s"], |visit| async move {
        let page = &visit.browser;
        let mint = "[data-form=key] [type=submit]";
        visit.goto("/").await;
        page.click(mint).await;
        page.until_text(".key code", "lak_").await;
        page.click(mint).await;
        page.until_text("[data-form=key] .countdown", "You can try again in ")
            .await;
        page.run("Date.now = () => 0").await;
        page.until_text("[data-form=key] .status", "You can try again now.")
            .await;
    })
    .await;
}
