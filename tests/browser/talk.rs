//! What a conversation does with what the visitor wrote, and how it is heard.

use serde_json::json;

use crate::parts::{ANSWERED, CHAT_STATUS, DRAFT, EMAIL, ENTER, QUESTION, SEND, SIGN_UP_STATUS};
use crate::visit_at;

#[tokio::test(flavor = "multi_thread")]
async fn a_suggestion_is_sent_and_a_draft_survives() {
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    page.fill(QUESTION, "My own").await;
    page.click("landing-chat >>> .suggestion").await;
    page.until_text("landing-chat >>> .question", "What is this site?")
        .await;
    page.until(ANSWERED).await;
    assert_eq!(page.run(DRAFT).await, "My own");
    assert_eq!(page.run("return focused().id").await, "question");
    // They are for the beginning, and come back with it.
    assert!(!page.is_seen("landing-chat >>> .suggestion").await);
    page.click("landing-chat >>> .restart").await;
    assert!(page.is_seen("landing-chat >>> .suggestion").await);
    let turns = "return all('landing-chat >>> .turn').length";
    page.until("!find('landing-chat >>> .turn')").await;
    visit.goto("/").await;
    assert_eq!(page.run(turns).await, 0);

    // Whoever types on while a question fails loses neither.
    page.intercept("new Promise((_, reject) => { window.fail = () => reject(new TypeError()) })")
        .await;
    page.ask("First?").await;
    page.until("window.fail").await;
    page.fill(QUESTION, "Next?").await;
    page.run("fail()").await;
    page.until_text(CHAT_STATUS, "Can’t reach the service.")
        .await;
    assert_eq!(page.run(DRAFT).await, "Next?");
    let turn = page.text("landing-chat >>> .turn").await;
    assert!(turn.contains("First?"), "{turn}");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_refusal_proposes_is_asked_with_a_click_also_after_a_reload() {
    const PROPOSED: &str = "landing-chat >>> .answer .suggestion";
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    page.ask("Give me a recipe for pancakes").await;
    page.until(ANSWERED).await;
    visit.goto("/").await;
    let count = "return all('landing-chat >>> menu .suggestion').length";
    assert_eq!(page.run(count).await, 3);
    let topic = page.text(PROPOSED).await;
    page.click(PROPOSED).await;
    let turns = "all('landing-chat >>> .turn').length";
    page.until(&format!("{turns} === 4 && {ANSWERED}")).await;
    let asked = "return all('landing-chat >>> .question .text')[1].textContent";
    assert_eq!(page.run(asked).await, topic);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_types_on_signs_up_with_what_was_sent() {
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    page.run(
        "const real = fetch;
         const released = new Promise((resolve) => { window.release = resolve });
         window.fetch = (...request) => released.then(() => real(...request));",
    )
    .await;
    page.fill(EMAIL, "ada@example.com").await;
    page.press(ENTER).await;
    page.fill(EMAIL, "bob@example.com").await;
    page.run("release()").await;
    let thanks = "Thank you for signing up with ada@example.com.";
    page.until_text(SIGN_UP_STATUS, thanks).await;
    let typed = "return find('landing-newsletter >>> #email').value";
    assert_eq!(page.run(typed).await, "bob@example.com");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_heard_and_the_focus_is_never_lost() {
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    // What is added to a log is read out if the log was there before.
    assert_eq!(
        page.run("return find('landing-chat >>> [role=log]').hidden")
            .await,
        false
    );
    page.run(
        "window.heard = [];
         new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(
             (node) => heard.push(node.inert ? '' : node.textContent))))
             .observe(find('landing-chat >>> .log'), { childList: true });",
    )
    .await;
    page.intercept_with_events().await;
    page.ask("Hello?").await;
    page.until("window.feed").await;
    // Events of kinds that are not known are passed over.
    page.run("feed('event: thinking\\ndata: {}\\n\\n')").await;
    // Nobody can get into what is hidden from them.
    let url = page.client.current_url().await;
    let delta = json!({ "text": format!("See {url}docs for") }).to_string();
    let event = json!(format!("event: delta\ndata: {delta}\n\n"));
    page.run(&format!("feed({event})")).await;
    page.until_text("landing-chat >>> .growing", "docs for")
        .await;
    assert_eq!(
        page.run("return find('landing-chat >>> .growing').inert")
            .await,
        true
    );
    page.run("find('landing-chat >>> .stop').focus()").await;
    let message = json!({ "message": format!("See {url}docs for more.") }).to_string();
    let event = json!(format!("event: message\ndata: {message}\n\n"));
    page.run(&format!("feed({event})")).await;
    page.until(ANSWERED).await;
    assert_eq!(page.run("return focused().id").await, "question");
    assert_eq!(
        page.run("return all('landing-chat >>> .answer a').length")
            .await,
        1
    );

    // What broke off is heard, too.
    page.fill(QUESTION, "More?").await;
    page.run("window.feed = null").await;
    page.click(SEND).await;
    page.until("window.feed").await;
    page.run("feed('event: delta\\ndata: {\"text\":\"It begins\"}\\n\\n')")
        .await;
    page.until_text("landing-chat >>> .growing", "It begins")
        .await;
    page.run("end()").await;
    page.until_text(CHAT_STATUS, "The answer was cut off.")
        .await;
    let heard = page.run("return heard.filter(Boolean).join('|')").await;
    let expected =
        format!("YouHello?|AssistantSee {url}docs for more.|YouMore?|AssistantIt begins …");
    assert_eq!(heard, expected);
    visit.end().await;
}
