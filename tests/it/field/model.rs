//! Model servers, as they are in use: their bytes, their failures and their manners.

use landing_api::adapters::model::openai::OpenAiSettings;

use crate::openai::whole::check_outcome;
use crate::openai::{client, conversation, question, settings_at, text};
use crate::prelude::*;
use crate::provider::Script;

const STREAM: &str = "200 OK\r\nContent-Type: text/event-stream\r\n";

/// An event with this text, as JSON has it.
fn piece(json: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{json}\"}}}}]}}\n\n")
}

fn end(reason: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n")
}

fn pieces(texts: &[&str]) -> String {
    let pieces: String = texts.iter().map(|text| piece(text)).collect();
    pieces + &end("stop")
}

/// What comes of a streamed turn, and what was read of it.
async fn ask(script: Script) -> (String, Result<String, ModelError>) {
    let peer = Provider::start([script]).await;
    let model = client(settings_at(&peer.url("/v1")));
    let sink = MemoryAnswerSink::default();
    let outcome = text(&*model, Some(&sink)).await;
    (sink.pieces().concat(), outcome)
}

async fn check_answer(script: Script, answer: &str, about: &str) {
    let (read, outcome) = ask(script).await;
    assert_eq!(outcome, Ok(answer.to_owned()), "{about}");
    assert_eq!(read, answer, "{about}");
}

/// Fails unless the turn fails: refunded if nothing was read of it, and charged if a part was.
async fn check_failure(script: Script, cause: &str, about: &str) {
    let (read, outcome) = ask(script).await;
    let error = outcome.expect_err(about);
    assert_eq!(error.is_charged(), !read.is_empty(), "{about}: {error}");
    assert!(error.to_string().contains(cause), "{about}: {error}");
    assert!(!error.to_string().contains("secret"), "{about}: {error}");
}

/// More of it the tests of the reader of events and of JSON tell.
#[tokio::test]
async fn a_stream_is_read_whatever_its_bytes_and_lines_are() {
    const VLLM: &str = include_str!("streams/vllm.txt");
    const LLAMA_CPP: &str = include_str!("streams/llama_cpp.txt");
    let hi = pieces(&["H", "i"]);
    let latin = b"data: {\"choices\":[{\"delta\":{\"content\":\"caf\xe9\"}}]}\n\n";
    let fields = format!(": ping\n\n\n\nid: 7\nretry: 9\nevent: x\n{hi}data:  [DONE] \n\n");
    let marked = format!("\u{feff}{hi}data: [DONE]\n\n");
    let two_lines = hi.replace(",\"finish", ",\ndata: \"finish");
    let halves = pieces(&[r"Hi \ud83d", r"\ude00!"]);
    for (stream, answer) in [
        (LLAMA_CPP.into(), "We open at nine."),
        (VLLM.into(), "We open at nine."),
        (halves.into_bytes(), "Hi \u{FFFD}\u{FFFD}!"),
        ([&latin[..], end("stop").as_bytes()].concat(), "caf\u{FFFD}"),
        (marked.into_bytes(), "Hi"),
        (hi.replace('\n', "\r").into_bytes(), "Hi"),
        (hi.replace("data: ", "data:").into_bytes(), "Hi"),
        (fields.into_bytes(), "Hi"),
        (two_lines.into_bytes(), "Hi"),
    ] {
        let about = String::from_utf8_lossy(&stream).into_owned();
        check_answer(Script::response(STREAM, stream), answer, &about).await;
    }
}

#[tokio::test]
async fn an_answer_is_read_whatever_its_label_and_transfer_are() {
    const WHOLE: &str = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    const PRETTY: &str = "\n{\n \"choices\": [\n {\"message\": {\"content\": \"Hi\"}}]\n}\n";
    let hi = pieces(&["H", "i"]);
    for label in ["text/plain", "application/json", "application/octet-stream"] {
        for body in [&*hi, &format!("\r\n: x\r\n{hi}"), WHOLE, PRETTY] {
            let head = format!("200 OK\r\nContent-Type: {label}\r\n");
            check_answer(Script::response(&head, body), "Hi", label).await;
        }
    }
    let event = format!("event: message\n{hi}");
    let marked = format!("\u{feff}{PRETTY}");
    for body in [&*hi, &event, WHOLE, PRETTY, &marked] {
        for head in ["200 OK\r\n", STREAM] {
            check_answer(Script::response(head, body), "Hi", body).await;
        }
    }
    let chunk = format!("{:x}\r\n{hi}\r\n0\r\nX: 1\r\n\r\n", hi.len());
    for bytes in [
        format!("HTTP/1.0 200 OK\r\n\r\n{WHOLE}"),
        format!("HTTP/1.1 {STREAM}\r\n{hi}"),
        format!("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{WHOLE}"),
        format!("HTTP/1.1 {STREAM}Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n{chunk}"),
    ] {
        check_answer(Script::closing(&*bytes), "Hi", &bytes).await;
    }
}

/// Events that fail a turn, and a word of the cause. Which JSON is an error the tests of errors tell.
const FAILURES: &str = r#"
error: {"code":500,"message":"secret"} | code "500"
error: secret | not JSON
event: error\ndata: {"message":"secret"} | error
event: error\ndata: {} | error
{"error":{"type":"server_error"}} |
data: {"error":"secret"} | error
data: [{"error":{"code":503}}] | 503
data: {"choices":[{"delta":{},"error":{"code":502}}]} | 502
data: {"choices":[{"delta":{},"finish_reason":"error"}]} | stopped with an error
data: secret | not JSON
"#;

#[tokio::test]
async fn a_failure_in_a_stream_fails_however_it_is_spelled() {
    for [event, cause] in rows(FAILURES) {
        let event = event.replace("\\n", "\n") + "\n\n";
        for last in ["", "data: [DONE]\n\n"] {
            for begin in [String::new(), piece("Half an answer")] {
                let script = Script::response(STREAM, format!("{begin}{event}{last}"));
                check_failure(script, cause, &format!("{begin}{event}")).await;
            }
        }
    }
    for words in [
        "upstream request timeout\n",
        "\n<html><h1>502 secret</h1></html>",
        "<p style=\"color: red\">secret</p>\n\n",
    ] {
        let script = Script::response(STREAM, piece("Half an answer") + words);
        check_failure(script, "lines that are not events", words).await;
    }
    let filtered = piece("Cut") + &end("content_filter");
    check_answer(Script::response(STREAM, filtered), "Cut", "filtered").await;
}

#[tokio::test]
async fn a_response_that_is_no_answer_is_refunded() {
    const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00";
    let gzip = Script::response("200 OK\r\nContent-Encoding: gzip\r\n", GZIP);
    let elsewhere = "308 X\r\nLocation: https://a.test/v1?key=secret\r\n";
    let told = "responded with 308, a redirect to \"https://a.test/v1\"";
    let no_content = Script::closing("HTTP/1.1 204 No Content\r\n\r\n");
    let smtp = Script::closing("220 mail.example ESMTP\r\n");
    check_failure(gzip, "not JSON", "gzip").await;
    check_failure(no_content, "not JSON", "204").await;
    check_failure(Script::response(elsewhere, ""), told, "308").await;
    check_failure(smtp, "lost before the response", "SMTP").await;
}

#[tokio::test]
async fn a_stream_that_only_its_connection_ends_has_to_say_that_it_is_whole() {
    let length = format!("Content-Length: {}\r\n", piece("Hi").len());
    for (length, more, is_whole) in [
        ("", "", false),
        ("", "data: [DONE]\n\n", true),
        (&length, "", true),
    ] {
        let bytes = format!("HTTP/1.1 {STREAM}{length}\r\n{}{more}", piece("Hi"));
        let peer = Provider::start([Script::closing(bytes)]).await;
        let outcome = text(&*client(settings_at(&peer.url("/v1"))), None).await;
        let (kind, told) = match is_whole {
            true => ("answer", "Hi"),
            false => ("unusable", "may be incomplete"),
        };
        check_outcome(&outcome, kind, told, more);
    }
}

#[tokio::test(start_paused = true)]
async fn once_it_is_whole_an_answer_waits_only_a_moment_for_the_end_of_its_transfer() {
    let done = format!("HTTP/1.1 {STREAM}\r\n{}", pieces(&["Hi"]));
    let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n";
    for bytes in [
        done.clone(),
        format!("{done}{usage}"),
        format!("{done}: x\n\n"),
        format!("{done}data: [END]\n\n"),
    ] {
        let began = Instant::now();
        check_answer(Script::holding(bytes), "Hi", "held open").await;
        assert!(began.elapsed() < Duration::from_secs(3));
    }
    for json in [
        "{\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}",
        "\n{\"choices\":[{\"text\":7,\"message\":{\"content\":\"Hi\"}}]}\n",
    ] {
        let began = Instant::now();
        let held = Script::holding(format!("HTTP/1.1 200 OK\r\n\r\n{json}"));
        check_answer(held, "Hi", json).await;
        assert!(began.elapsed() < Duration::from_secs(3));
    }
    let began = Instant::now();
    let refused = Script::holding("HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\nhalf");
    check_failure(refused, "500", "an error held open").await;
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn interim_responses_are_skipped_until_the_deadline() {
    const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let peer = Provider::start([Script::repeating(HINTS)]).await;
    let model = client(OpenAiSettings {
        timeout: Duration::from_secs(1),
        ..settings_at(&peer.url("/v1"))
    });
    let error = model.reply(&question(), None).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("no response within 1 seconds"), "{error}");
    peer.wait_until_left().await;
    let (hints, pieces) = (HINTS.repeat(8), pieces(&["Hi"]));
    let hi = format!("{hints}HTTP/1.1 {STREAM}\r\n{pieces}data: [DONE]\n\n");
    check_answer(Script::closing(hi), "Hi", "eight").await;
}

/// A model without the role `system`, as one of them says; all their words the tests of errors have.
#[tokio::test]
async fn a_model_without_the_role_system_gets_its_prompt_in_the_question_from_then_on() {
    let refused = r#"{"error":{"message":"System role not supported"}}"#;
    let refused = Script::response("400 X\r\n", refused);
    let peer = Provider::start([refused, Script::response(STREAM, pieces(&["Hi"]))]).await;
    let model = client(settings_at(&peer.url("/v1")));
    let said = conversation(&[
        (Role::User, "first"),
        (Role::Assistant, "aha"),
        (Role::User, "second"),
    ]);
    for _ in 0..2 {
        assert_eq!(model.reply(&said, None).await.unwrap().text, "Hi");
    }
    let requests = peer.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let [message] = body["messages"].as_array().unwrap().as_slice() else {
            panic!("{body}");
        };
        let content = message["content"].as_str().unwrap();
        assert_eq!(message["role"], "user");
        assert!(content.starts_with("Be brief.\n\n"), "{content}");
        assert!(content.contains("> first") && content.ends_with("second"));
    }
}
