//! Talking to the assistant: to the end of the quota, while answers grow, break off or are stopped.

use rustix::process::Signal;
use serde_json::json;

use crate::browser::Browser;
use crate::upstream::{Script, Step, Upstream, chunk};
use crate::{nobody, visit};

const SEND: &str = "landing-chat >>> [type=submit]";
const STATUS: &str = "landing-chat >>> .status";
const QUESTION: &str = "landing-chat >>> #question";
/// What is typed and not sent.
const DRAFT: &str = "return find('landing-chat >>> #question').value";
const LEFT: &str = "landing-chat >>> .left";

async fn ask(page: &Browser, question: &str) {
    page.fill(QUESTION, question).await;
    page.click(SEND).await;
}

fn turns(count: usize) -> String {
    format!("all('landing-chat >>> .turn:not(.growing)').length === {count}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_asks_until_the_quota_is_used_up() {
    visit(&["--limit", "assistant=2/1h"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.until_text(LEFT, "2 of 2 messages left").await;
        ask(page, "How do I get an API key?").await;
        page.until_text(LEFT, "1 of 2 messages left").await;
        page.until(&turns(2)).await;
        let answer = page.text("landing-chat >>> .answer").await;
        assert!(answer.contains("A key costs nothing"), "{answer}");
        // Links lead into the guide, and to nowhere else.
        let link = page
            .find("landing-chat >>> .answer a")
            .await
            .attr("href")
            .await
            .unwrap()
            .unwrap();
        assert!(link.ends_with("/docs#getting-a-free-api-key"), "{link}");
        // Who comes back is the same visitor, and goes on where they were.
        visit.goto("/").await;
        page.until(&turns(2)).await;
        page.until_text(LEFT, "1 of 2 messages left").await;
        ask(page, "What are the limits?").await;
        page.until_text(LEFT, "0 of 2 messages left").await;
        page.until(&turns(4)).await;
        ask(page, "One more?").await;
        // The window is an hour, of which a few seconds have passed.
        page.until_text(STATUS, "Try again in 1 hour.").await;
        assert_eq!(page.run(DRAFT).await, "One more?");
        page.until(&turns(4)).await;
        let held = page.find(SEND).await.attr("aria-disabled").await.unwrap();
        assert_eq!(held.as_deref(), Some("true"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_quota_nothing_is_said_of_one() {
    visit(&["--limit", "assistant=off"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        ask(page, "How do I get an API key?").await;
        page.until(&turns(2)).await;
        let card = page.text("landing-chat >>> .root").await;
        assert!(
            !card.contains("left") && !card.contains("1000000000"),
            "{card}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_as_text_and_is_read_out_whole() {
    let markup = "<img src=x onerror=alert(1)> **Yes**, see [it](https://example.com/) or [this](javascript:alert(1))";
    let pieces = [
        "# One\n\n- *a*\n- `b`\n\n",
        markup,
        "\n\n```\ncode\n```\n\nTwo.",
    ];
    let events = |pieces: &[&str]| {
        let chunks = pieces
            .iter()
            .map(|piece| chunk(&json!({ "content": piece }), None));
        chunks.collect::<Vec<_>>()
    };
    let whole = [
        events(&pieces),
        vec![chunk(&json!({}), Some("stop")), "[DONE]".to_owned()],
    ];
    // The model's first answer is held back until it is whole: later ones grow.
    let upstream = Upstream::start([
        Script::stream(whole.concat()),
        Script::stream(events(&pieces[..2])).then(Step::Hang),
    ])
    .await;
    let url = upstream.base_url();
    visit(
        &["--model-url", &url, "--model", "m"],
        move |visit| async move {
            let page = &visit.browser;
            visit.goto("/").await;
            let about = page.text("#chat").await;
            assert!(about.contains("A language model answers"), "{about}");
            ask(page, "First?").await;
            page.until(&turns(2)).await;
            page.until_text(LEFT, "9 of 10 messages left").await;
            let answer = page.text("landing-chat >>> .answer .text").await;
            let shown = "One\na\nb\n<img src=x onerror=alert(1)> Yes, see it or [this](javascript:alert(1))\ncode\nTwo.";
            assert_eq!(answer, shown);
            let made = "return all('landing-chat >>> .answer .text *').map((one) => one.localName).join(' ')";
            let elements = "h3 ul li em li code p strong a pre code p";
            assert_eq!(page.run(made).await, elements);
            let link = page.find("landing-chat >>> .answer a").await;
            let link = link.attr("rel").await.unwrap();
            assert_eq!(link.as_deref(), Some("noopener nofollow"));

            ask(page, "Second?").await;
            page.until_text("landing-chat >>> .growing .text", "onerror")
                .await;
            assert_eq!(page.run(made).await, format!("{elements} h3 ul li em li code p strong a"));
            let hidden = page
                .find("landing-chat >>> .growing")
                .await
                .attr("inert")
                .await
                .unwrap();
            assert_eq!(hidden.as_deref(), Some(""));
            assert!(page.is_seen("landing-chat >>> .stop").await);
            page.press("\u{e00c}").await;
            page.until(&turns(4)).await;
            assert!(!page.is_seen("landing-chat >>> .stop").await);
            // What has come stays, and counts.
            page.until_text("landing-chat >>> .turn:last-child", "onerror").await;
            page.until_text(LEFT, "8 of 10 messages left").await;
            // The conversation goes on with what was answered.
            upstream.script([Script::stream(whole.concat())]);
            ask(page, "Third?").await;
            page.until(&turns(6)).await;
            let asked = upstream.asked().pop().unwrap().body.to_string();
            assert!(
                asked.contains("First?") && asked.contains("Third?"),
                "{asked}"
            );
            assert!(!asked.contains("Second?"), "{asked}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_says_so() {
    let piece = chunk(&json!({ "content": "It begins well. " }), None);
    let whole = [
        piece.clone(),
        chunk(&json!({}), Some("stop")),
        "[DONE]".to_owned(),
    ];
    let upstream = Upstream::start([
        Script::stream(whole),
        Script::stream([piece.clone()]).then(Step::Break),
        Script::stream([piece]).then(Step::Hang),
    ])
    .await;
    let url = upstream.base_url();
    visit(
        &["--model-url", &url, "--model", "m"],
        move |visit| async move {
            let page = &visit.browser;
            visit.goto("/").await;
            ask(page, "First?").await;
            page.until(&turns(2)).await;
            // The model's end of it breaks: the service says what happened.
            ask(page, "Second?").await;
            page.until_text(STATUS, "That did not work. Please try again later.")
                .await;
            page.until_text("landing-chat >>> .turn:last-child", "It begins well.")
                .await;
            page.until_text(LEFT, "8 of 10 messages left").await;
            // The service's end of it breaks.
            ask(page, "Third?").await;
            page.until_text("landing-chat >>> .growing .text", "It begins well.")
                .await;
            visit.service.signal(Signal::KILL);
            page.until_text(STATUS, "The answer broke off.").await;
            // From now on nobody is there.
            ask(page, "Fourth?").await;
            page.until_text(STATUS, "There is no connection to the service.")
                .await;
            assert_eq!(page.run(DRAFT).await, "Fourth?");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_away_costs_no_message() {
    let url = format!("http://{}/v1", nobody());
    visit(&["--model-url", &url, "--model", "m"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.until_text(LEFT, "10 of 10 messages left").await;
        ask(page, "Hello?").await;
        page.until_text(STATUS, "That did not work. Please try again later.")
            .await;
        assert_eq!(page.text(LEFT).await, "10 of 10 messages left");
        assert_eq!(page.run(DRAFT).await, "Hello?");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_answers_what_it_cannot_wait_for() {
    let upstream = Upstream::start([Script::silent()]).await;
    let url = upstream.base_url();
    visit(
        &["--model-url", &url, "--model", "m"],
        move |visit| async move {
            let page = &visit.browser;
            visit.goto("/").await;
            ask(page, "Hello?").await;
            upstream.wait_until_asked().await;
            visit.service.signal(Signal::TERM);
            // It listens no longer, so the second signal is not taken for the first.
            while tokio::net::TcpStream::connect(&visit.service.address)
                .await
                .is_ok()
            {
                tokio::task::yield_now().await;
            }
            visit.service.signal(Signal::TERM);
            page.until_text(STATUS, "That did not work. Please try again later.")
                .await;
            page.click(SEND).await;
            page.until_text(STATUS, "There is no connection to the service.")
                .await;
        },
    )
    .await;
}
