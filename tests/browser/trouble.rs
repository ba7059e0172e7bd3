//! Every error that a form can meet, and what is said of it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::program::command;
use crate::{visit, visit_program, words};

const NEWSLETTER: &str = "[data-form=newsletter]";
const SIGN_UP: &str = "[data-form=newsletter] [type=submit]";
const SIGN_UP_STATUS: &str = "[data-form=newsletter] .status";
const MINT: &str = "[data-form=key] [type=submit]";
const KEY_STATUS: &str = "[data-form=key] .status";
const SEND: &str = "[data-form=assistant] [type=submit]";
const CHAT_STATUS: &str = "[data-form=assistant] .status";
const TRY: &str = "[data-form=try-it] [type=submit]";
const TRY_STATUS: &str = "[data-form=try-it] .status";

/// What the first error of a problem is about the field that is called so.
fn about(label: &str, problem: &Value) -> String {
    let detail = problem["errors"][0]["detail"].as_str().unwrap();
    format!("{label} {detail}.")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_field_is_said_beside_it() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        let label = "a".repeat(65);
        page.fill("#label", &label).await;
        page.click(MINT).await;
        page.until_text("#label-error", "Your name for it").await;
        let body = json!({ "label": label }).to_string();
        let (status, problem) = visit.service.send("POST", "/api/v1/keys", "", &body);
        assert_eq!(status, 400);
        let said = page.text("#label-error").await;
        assert_eq!(said, about("Your name for it", &problem));
        assert_eq!(page.text(KEY_STATUS).await, words(&problem));
        assert!(!page.is_seen(".key").await);

        for question in [String::new(), "a".repeat(2001)] {
            let script = format!("question.value = {}", json!(question));
            page.run(&script).await;
            page.click(SEND).await;
            page.until_text("#question-error", "Your question").await;
            let body = json!({ "messages": [{ "role": "user", "content": question }] });
            let path = "/api/v1/assistant/chat";
            let (status, problem) = visit.service.send("POST", path, "", &body.to_string());
            assert_eq!(status, 400);
            let said = page.text("#question-error").await;
            assert_eq!(said, about("Your question", &problem));
            assert_eq!(page.text(CHAT_STATUS).await, words(&problem));
            // It is no turn, and still there to be put right.
            let turns = "return document.querySelectorAll('.turn').length";
            assert_eq!(page.run(turns).await, 0);
            assert_eq!(page.run("return question.value").await, question);
        }
        page.until_text(".left", "10 of 10 messages left").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_a_body_is_told_in_the_problems_words() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.run("email.value = 'a'.repeat(200_000)").await;
        page.click(SIGN_UP).await;
        let body = json!({ "email": "a".repeat(200_000) }).to_string();
        let (status, problem) = visit.service.send("POST", "/api/v1/newsletter", "", &body);
        assert_eq!(status, 413);
        page.until_text(SIGN_UP_STATUS, &words(&problem)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_has_to_wait_holds_no_other() {
    visit(&["--limit", "newsletter=1/1h"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        let held = format!("return document.querySelector('{SIGN_UP}').ariaDisabled");
        page.fill("#email", "ada@example.com").await;
        page.click(SIGN_UP).await;
        page.until_text(NEWSLETTER, "is on the list").await;
        page.fill("#email", "ada@example.com").await;
        page.click(SIGN_UP).await;
        page.until_text("[data-form=newsletter] .countdown", "You can try again in ")
            .await;
        let said = page.text(SIGN_UP_STATUS).await;
        assert!(
            said.starts_with("The policy \"newsletter\" allows 1 in 3600 seconds for each e-mail address and network."),
            "{said}"
        );
        assert_eq!(page.run(&held).await, "true");

        page.fill("#email", "bob@example.com").await;
        assert_eq!(page.run(&held).await, "false");
        assert!(!page.is_seen("[data-form=newsletter] .countdown").await);
        page.click(SIGN_UP).await;
        page.until_text(NEWSLETTER, "bob@example.com is on the list")
            .await;
        // The first one still waits, however it is written.
        page.fill("#email", "Ada@Example.com").await;
        assert_eq!(page.run(&held).await, "true");
        assert!(page.is_seen("[data-form=newsletter] .countdown").await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_too_much_of_everything_waits_in_the_docs_too() {
    visit(&["--limit", "default=20/1h"], |visit| async move {
        let page = &visit.browser;
        visit.goto("/docs").await;
        let is_held = format!("return document.querySelector('{TRY}').ariaDisabled === 'true'");
        for _ in 0..20 {
            page.click(TRY).await;
            let answered =
                format!("/below|policy/.test(document.querySelector('{TRY_STATUS}').textContent)");
            page.until(&answered).await;
            if page.run(&is_held).await == true {
                break;
            }
        }
        let said = page.text(TRY_STATUS).await;
        assert!(
            said.starts_with("The policy \"default\" allows 20 in 3600 seconds for each client."),
            "{said}"
        );
        page.until_text("[data-form=try-it] .countdown", "You can try again in 5")
            .await;
        assert!(!page.is_seen("output").await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_limits_the_sandbox_shows_none() {
    let flags = ["--limit", "default=off", "--limit", "ip=off"];
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        visit.goto("/docs").await;
        page.click(TRY).await;
        page.until_text("output", "HTTP 200").await;
        let answer = page.text("output").await;
        assert!(
            !answer.contains("RateLimit") && !answer.contains("null"),
            "{answer}"
        );
        assert!(answer.contains("\"echo\": \"hello\""), "{answer}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_in_the_problems_words() {
    let data_dir = tempfile::tempdir().unwrap();
    let program = command(data_dir.path());
    // Whoever writes too much is told so, and not killed.
    let mut through_shell = Command::new("sh");
    through_shell
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    visit_program(&mut through_shell, |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.click(MINT).await;
        page.until_text(".key code", "lak_").await;
        let key = page.text(".key code").await;
        // From now on the service can write to no file: the disk might be full.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        prlimit(Some(visit.service.pid()), Resource::Fsize, none).unwrap();
        page.click(MINT).await;
        let (status, problem) = visit.service.send("POST", "/api/v1/keys", "", "{}");
        assert_eq!(status, 503);
        page.until_text(KEY_STATUS, &words(&problem)).await;
        // The key from before may not have been copied yet.
        assert_eq!(page.text(".key code").await, key);
        assert!(page.is_seen(".key").await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_something_between_says_is_told_in_our_words() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.fill("#email", "ada@example.com").await;
        let html = "{ headers: { 'Content-Type': 'text/html' }, status: 502 }";
        let unreadable = "The service gave an answer that this page does not understand.";
        for (answer, words) in [
            (
                format!("new Response('<h1>Bad gateway</h1>', {html})"),
                "The service could not answer (status 502). Try again later.",
            ),
            ("new Response('<h1>Welcome to our Wi-Fi</h1>')".to_owned(), unreadable),
            ("new Response('')".to_owned(), unreadable),
            ("new Response('null')".to_owned(), unreadable),
            (
                "new Response('{', { status: 400, headers: { 'Content-Type': 'application/problem+json' } })".to_owned(),
                unreadable,
            ),
            (
                "new Response('[7]', { status: 400, headers: { 'Content-Type': 'application/problem+json' } })".to_owned(),
                unreadable,
            ),
            (
                "new Response('{\"errors\":7,\"violated-policies\":{}}', { status: 400, headers: { 'Content-Type': 'application/problem+json' } })".to_owned(),
                unreadable,
            ),
        ] {
            page.intercept(&answer).await;
            for (button, status) in [(SIGN_UP, SIGN_UP_STATUS), (MINT, KEY_STATUS)] {
                page.run(&format!("document.querySelector('{status}').textContent = ''")).await;
                page.click(button).await;
                page.until_text(status, words).await;
            }
            assert!(!page.is_seen(".key").await);
            assert_eq!(page.run("return email.value").await, "ada@example.com");
        }
        // Such an error may say when to come back, as a date, or as nonsense.
        for (value, countdown) in [
            ("new Date(Date.now() + 90_500).toUTCString()", "You can try again in 1 min "),
            ("'99999999999999999999'", "You can try again in 366 days."),
        ] {
            page.intercept(&format!(
                "new Response('', {{ status: 503, headers: {{ 'Retry-After': {value} }} }})"
            ))
            .await;
            page.click(SIGN_UP).await;
            page.until_text("[data-form=newsletter] .countdown", countdown).await;
            visit.goto("/").await;
            page.fill("#email", "ada@example.com").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_that_is_passed_on_is_said_to_be() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", provider.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = provider.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}}") {
            let mut piece = [0; 1024];
            let length = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..length]);
        }
        let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        stream.write_all(answer).unwrap();
    });
    visit(&["--newsletter-webhook", &url], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        page.fill("#email", "ada@example.com").await;
        page.click(SIGN_UP).await;
        page.until_text(
            NEWSLETTER,
            "Thank you. ada@example.com has been passed on to the newsletter’s provider.",
        )
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_silent_is_given_up() {
    visit(&[], |visit| async move {
        let page = &visit.browser;
        visit.goto("/").await;
        // Half a minute and more passes in a second.
        page.run(
            "const real = setTimeout;
             window.setTimeout = (work, ms) => real(work, ms > 30_000 ? 1000 : ms);",
        )
        .await;
        let silent = "new Promise((_, reject) =>
            options.signal.addEventListener('abort', () => reject(new Error('aborted'))))";
        page.intercept(silent).await;
        page.fill("#email", "ada@example.com").await;
        page.run("question.value = 'Hello?'").await;
        for (button, status) in [
            (SIGN_UP, SIGN_UP_STATUS),
            (MINT, KEY_STATUS),
            (SEND, CHAT_STATUS),
        ] {
            page.click(button).await;
            page.until_text(status, "The service has not answered in time.")
                .await;
        }
        assert_eq!(page.run("return question.value").await, "Hello?");
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
        page.until_text(".turn:last-child", "The rest is missing.")
            .await;
        page.until_text(".turn:last-child", "It begins.").await;
        page.until_text(CHAT_STATUS, "The service has not answered in time.")
            .await;
    })
    .await;
}
