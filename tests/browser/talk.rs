//! What a conversation does with what the visitor wrote, and how it is heard.

use serde_json::json;

use crate::upstream::{Script, Upstream, chunk};
use crate::visit;

const SEND: &str = "landing-chat >>> [type=submit]";
const STATUS: &str = "landing-chat >>> .status";
const QUESTION: &str = "landing-chat >>> #question";
const EMAIL: &str = "landing-newsletter >>> #email";
/// What is typed and not sent.
const DRAFT: &str = "return find('landing-chat >>> #question').value";

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
            page.fill(QUESTION, "Hello?").await;
            page.click(SEND).await;
            page.until("find('landing-chat >>> .answer:not(.growing)')")
                .await;
            let answer = "return find('landing-chat >>> .answer .text').textContent";
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
        page.fill(QUESTION, "Hello?").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        page.run(
            "feed(': hello\\r\\nevent: thinking\\r\\ndata: {}\\r\\n\\r\\nevent: delta\\r\\n')",
        )
        .await;
        page.run("feed('data:{\"text\":\"One\"}\\r\\n\\r\\n')")
            .await;
        page.until_text("landing-chat >>> .growing .text", "One")
            .await;
        assert_eq!(page.text("landing-chat >>> .growing .text").await, "One");
        page.run("feed('event: message\\ndata: {\\ndata: \"message\":\"One.\"}\\n\\n')")
            .await;
        page.until_text("landing-chat >>> .answer:not(.growing) .text", "One.")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suggestion_is_sent_and_a_draft_survives() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.fill(QUESTION, "My own").await;
        page.click("landing-chat >>> .suggestion").await;
        page.until_text("landing-chat >>> .question", "What is this site?")
            .await;
        page.until("find('landing-chat >>> .answer:not(.growing)')")
            .await;
        assert_eq!(page.run(DRAFT).await, "My own");
        assert_eq!(page.run("return focused().id").await, "question");
        // They are for the beginning, and come back with it.
        assert!(!page.is_seen("landing-chat >>> .suggestion").await);
        page.click("landing-chat >>> .restart").await;
        assert!(page.is_seen("landing-chat >>> .suggestion").await);
        page.until("all('landing-chat >>> .turn').length === 0")
            .await;
        visit.goto("/").await;
        assert_eq!(
            page.run("return all('landing-chat >>> .turn').length")
                .await,
            0
        );

        // Whoever types on while a question fails loses neither.
        page.intercept(
            "new Promise((_, reject) => { window.fail = () => reject(new TypeError()) })",
        )
        .await;
        page.fill(QUESTION, "First?").await;
        page.click(SEND).await;
        page.until("window.fail").await;
        page.fill(QUESTION, "Next?").await;
        page.run("fail()").await;
        page.until_text(STATUS, "There is no connection to the service.")
            .await;
        assert_eq!(page.run(DRAFT).await, "Next?");
        let turn = page.text("landing-chat >>> .turn").await;
        assert!(turn.contains("First?"), "{turn}");
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
        page.fill(EMAIL, "ada@example.com").await;
        page.press("\u{e007}").await;
        page.fill(EMAIL, "bob@example.com").await;
        page.run("release()").await;
        page.until_text(
            "landing-newsletter >>> .status",
            "Thank you. ada@example.com has arrived.",
        )
        .await;
        assert_eq!(
            page.run("return find('landing-newsletter >>> #email').value")
                .await,
            "bob@example.com"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_heard_and_the_focus_is_never_lost() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        // What is added to a log is read out if the log was there before.
        assert_eq!(page.run("return find('landing-chat >>> [role=log]').hidden").await, false);
        page.run(
            "window.heard = [];
             new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(
                 (node) => heard.push(node.inert ? '' : node.textContent))))
                 .observe(find('landing-chat >>> .log'), { childList: true });",
        )
        .await;
        page.intercept_with_events().await;
        page.fill(QUESTION, "Hello?").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        // Nobody can get into what is hidden from them.
        let url = page.client.current_url().await.unwrap();
        let delta = json!({ "text": format!("See {url}docs for") }).to_string();
        let event = json!(format!("event: delta\ndata: {delta}\n\n"));
        page.run(&format!("feed({event})")).await;
        page.until_text("landing-chat >>> .growing", "docs for").await;
        assert_eq!(page.run("return find('landing-chat >>> .growing').inert").await, true);
        page.run("find('landing-chat >>> .stop').focus()").await;
        let message = json!({ "message": format!("See {url}docs for more.") }).to_string();
        let event = json!(format!("event: message\ndata: {message}\n\n"));
        page.run(&format!("feed({event})")).await;
        page.until("find('landing-chat >>> .answer:not(.growing)')").await;
        assert_eq!(page.run("return focused().id").await, "question");
        assert_eq!(page.run("return all('landing-chat >>> .answer a').length").await, 1);

        // What broke off is heard, too.
        page.fill(QUESTION, "More?").await;
        page.run("window.feed = null").await;
        page.click(SEND).await;
        page.until("window.feed").await;
        page.run("feed('event: delta\\ndata: {\"text\":\"It begins\"}\\n\\n')").await;
        page.until_text("landing-chat >>> .growing", "It begins").await;
        page.run("end()").await;
        page.until_text(STATUS, "The answer broke off.").await;
        let heard = page.run("return heard.filter(Boolean).join('|')").await;
        let expected = format!(
            "YouHello?|AssistantSee {url}docs for more.|YouMore?|AssistantIt begins …"
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
        for question in ["Hello?", "Again?"] {
            page.fill(QUESTION, question).await;
            page.click(SEND).await;
            page.until("!find('landing-chat >>> .growing')").await;
        }
        page.until_text(STATUS, "Try again in 2 days.").await;
        page.run(
            "const real = Date.now.bind(Date);
             Date.now = () => real() + 25 * 3600 * 1000;",
        )
        .await;
        page.until_text(STATUS, "Try again in 23 hours.").await;
        // When it is over, the visitor may try.
        page.run("Date.now = () => 8.64e15").await;
        page.until_text(STATUS, "You can try again now.").await;
        page.click(SEND).await;
        page.until_text(STATUS, "Try again in 2 days.").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_holds_nobody_up() {
    visit(&["--limit", "keys=1/8s"], |visit| async move {
        let page = &visit.browser;
        let mint = "[data-form=key] [type=submit]";
        visit.goto("/developers").await;
        page.click(mint).await;
        page.until_text(".key code", "lak_").await;
        page.click(mint).await;
        page.until_text("[data-form=key] .status", "Try again in ")
            .await;
        page.run("Date.now = () => 0").await;
        page.until_text("[data-form=key] .status", "You can try again now.")
            .await;
    })
    .await;
}
