//! Talking to the assistant: to the end of the quota, while answers grow, break off or are stopped.

use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::parts::{CHAT_STATUS, DRAFT, ESCAPE, LEFT, SEND};
use crate::upstream::{Script, Then, Upstream, end, piece};
use crate::{visit_at, visit_with_model};

fn turns(count: usize) -> String {
    format!("all('landing-chat >>> .turn:not(.growing)').length === {count}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_asks_until_the_quota_is_used_up() {
    let visit = visit_at("/", &["--limit", "assistant=2/1h"]).await;
    let page = &visit.browser;
    page.until_text(LEFT, "2 of 2 messages left").await;
    assert!(!page.is_seen(LEFT).await);
    page.ask("How do I get an API key?").await;
    page.until_text(LEFT, "1 of 2 messages left").await;
    // From half on.
    assert!(page.is_seen(LEFT).await);
    page.until(&turns(2)).await;
    let answer = page.text("landing-chat >>> .answer").await;
    assert!(answer.contains("A key costs nothing"), "{answer}");
    // Links lead into the guide, and to nowhere else.
    let link = "return find('landing-chat >>> .answer a').href";
    let link = page.run(link).await.to_string();
    assert!(link.ends_with("/docs#get-a-free-api-key\""), "{link}");
    // Who comes back is the same visitor, and goes on where they were.
    visit.goto("/").await;
    page.until(&turns(2)).await;
    page.until_text(LEFT, "1 of 2 messages left").await;
    page.ask("What are the limits?").await;
    page.until_text(
        LEFT,
        "You’ve used all your messages. You can ask again in 1 hour.",
    )
    .await;
    page.until(&turns(4)).await;
    page.ask("One more?").await;
    // The window is an hour, of which a few seconds have passed.
    page.until_text(
        CHAT_STATUS,
        "You’ve used all your messages. You can ask again in 1 hour.",
    )
    .await;
    page.until_text(LEFT, "0 of 2 messages left").await;
    assert_eq!(page.run(DRAFT).await, "One more?");
    page.until(&turns(4)).await;
    let held = format!("return find('{SEND}').ariaDisabled");
    assert_eq!(page.run(&held).await, "true");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_quota_nothing_is_said_of_one() {
    let visit = visit_at("/", &["--limit", "assistant=off"]).await;
    let page = &visit.browser;
    page.ask("How do I get an API key?").await;
    page.until(&turns(2)).await;
    let card = page.text("landing-chat >>> .root").await;
    assert!(
        !card.contains("left") && !card.contains("1000000000"),
        "{card}"
    );
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_as_text_and_is_read_out_whole() {
    let markup = "<img src=x onerror=alert(1)> **Yes**, see [it](https://example.com/) or [this](javascript:alert(1))";
    let pieces = [
        "# One\n\n- *a*\n- `b`\n\n",
        markup,
        "\n\n```\ncode\n```\n\nTwo.",
    ];
    let pieces = pieces.map(piece);
    let whole = Script::stream(pieces.iter().cloned().chain([end()]));
    let growing = Script::stream(pieces[..2].to_vec()).then(Then::Hold);
    let upstream = Upstream::start([whole.clone(), growing]).await;
    let visit = visit_with_model(&upstream.base_url()).await;
    let page = &visit.browser;
    visit.goto("/").await;
    let about = page.text("#chat").await;
    assert!(
        about.contains("Answers come from a language model"),
        "{about}"
    );
    page.ask("First?").await;
    page.until(&turns(2)).await;
    page.until_text(LEFT, "9 of 10 messages left").await;
    let answer = page.text("landing-chat >>> .answer .text").await;
    let shown = "One\na\nb\n<img src=x onerror=alert(1)> Yes, see it or [this](javascript:alert(1))\ncode\nTwo.";
    assert_eq!(answer, shown);
    let made =
        "return all('landing-chat >>> .answer .text *').map((one) => one.localName).join(' ')";
    let elements = "h3 ul li em li code p strong a pre code p";
    assert_eq!(page.run(made).await, elements);
    let link = "return find('landing-chat >>> .answer a').rel";
    assert_eq!(page.run(link).await, "noopener nofollow");

    page.ask("Second?").await;
    page.until_text("landing-chat >>> .growing .text", "onerror")
        .await;
    assert_eq!(
        page.run(made).await,
        format!("{elements} h3 ul li em li code p strong a")
    );
    let hidden = "return find('landing-chat >>> .growing').inert";
    assert_eq!(page.run(hidden).await, true);
    assert!(page.is_seen("landing-chat >>> .stop").await);
    page.press(ESCAPE).await;
    page.until(&turns(4)).await;
    assert!(!page.is_seen("landing-chat >>> .stop").await);
    // What has come stays, and counts.
    page.until_text("landing-chat >>> .turn:last-child", "onerror")
        .await;
    page.until_text(LEFT, "8 of 10 messages left").await;
    // The conversation goes on with what was answered.
    upstream.script([whole]);
    page.ask("Third?").await;
    page.until(&turns(6)).await;
    let asked = upstream.requests().pop().unwrap().json().to_string();
    for (question, is_there) in [("First?", true), ("Second?", false), ("Third?", true)] {
        assert_eq!(asked.contains(question), is_there, "{asked}");
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_says_so() {
    let text = "It begins well. ";
    let begun = Script::stream([piece(text)]);
    let upstream = Upstream::start([
        Script::stream([piece(text), end()]),
        begun.clone().then(Then::Close),
        begun.then(Then::Hold),
    ])
    .await;
    let visit = visit_with_model(&upstream.base_url()).await;
    let page = &visit.browser;
    visit.goto("/").await;
    page.ask("First?").await;
    page.until(&turns(2)).await;
    // The model's end of it breaks: the service says what happened.
    page.ask("Second?").await;
    page.until_text(CHAT_STATUS, "Something went wrong. Please try again later.")
        .await;
    page.until_text("landing-chat >>> .turn:last-child", "It begins well.")
        .await;
    page.until_text(LEFT, "8 of 10 messages left").await;
    // The service's end of it breaks.
    page.ask("Third?").await;
    page.until_text("landing-chat >>> .growing .text", "It begins well.")
        .await;
    visit.service.signal(Signal::KILL);
    page.until_text(CHAT_STATUS, "The answer was cut off.")
        .await;
    // From now on nobody is there.
    page.ask("Fourth?").await;
    page.until_text(CHAT_STATUS, "Can’t reach the service.")
        .await;
    assert_eq!(page.run(DRAFT).await, "Fourth?");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_answers_what_it_cannot_wait_for_and_counts_no_message() {
    let upstream = Upstream::start([Script::silent()]).await;
    let visit = visit_with_model(&upstream.base_url()).await;
    let page = &visit.browser;
    visit.goto("/").await;
    page.until_text(LEFT, "10 of 10 messages left").await;
    page.ask("Hello?").await;
    upstream.wait_until_asked().await;
    visit.service.signal(Signal::TERM);
    // It listens no longer, so the second signal is not taken for the first.
    while TcpStream::connect(&visit.service.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    visit.service.signal(Signal::TERM);
    page.until_text(CHAT_STATUS, "Something went wrong. Please try again later.")
        .await;
    page.until_text(LEFT, "10 of 10 messages left").await;
    assert_eq!(page.run(DRAFT).await, "Hello?");
    page.click(SEND).await;
    page.until_text(CHAT_STATUS, "Can’t reach the service.")
        .await;
    visit.end().await;
}
