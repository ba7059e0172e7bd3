//! Model servers, as they are in use: their bytes, their failures and their manners.

use std::time::Duration;

use landing_api::domain::chat::Role;
use landing_api::ports::{ModelClient, ModelError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::peer::{Peer, Script};
use crate::openai::{client, conversation, question, settings_at};
use crate::twins::MemoryAnswerSink;

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
    let peer = Peer::start(vec![script]).await;
    let model = client(settings_at(&peer.url("/v1")));
    let sink = MemoryAnswerSink::default();
    let outcome = model
        .reply(&question(), Some(&sink))
        .await
        .map(|reply| reply.text);
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

#[tokio::test]
async fn a_stream_is_read_whatever_its_bytes_and_lines_are() {
    let hi = pieces(&["H", "i"]);
    let latin = b"data: {\"choices\":[{\"delta\":{\"content\":\"caf\xe9\"}}]}\n\n";
    let fields = format!(": ping\n\n\n\nid: 7\nretry: 9\nevent: x\n{hi}data:  [DONE] \n\n");
    let marked = format!("\u{feff}{hi}data: [DONE]\n\n");
    let two_lines = hi.replace(",\"finish", ",\ndata: \"finish");
    for (stream, answer) in [
        (
            include_str!("streams/llama_cpp.txt").into(),
            "We open at nine.",
        ),
        (include_str!("streams/vllm.txt").into(), "We open at nine."),
        (
            pieces(&[r"Hi \ud83d", r"\ude00!"]).into_bytes(),
            "Hi \u{FFFD}\u{FFFD}!",
        ),
        (pieces(&[r"Hi \ud83d\ude00"]).into_bytes(), "Hi 😀"),
        (pieces(&[r"Hi \ud83d"]).into_bytes(), "Hi \u{FFFD}"),
        ([&latin[..], end("stop").as_bytes()].concat(), "caf\u{FFFD}"),
        (marked.into_bytes(), "Hi"),
        (hi.replace('\n', "\r").into_bytes(), "Hi"),
        (hi.replace('\n', "\r\n").into_bytes(), "Hi"),
        (hi.replace("data: ", "data:").into_bytes(), "Hi"),
        (fields.into_bytes(), "Hi"),
        (two_lines.into_bytes(), "Hi"),
        // The text so far is beside each chunk.
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"message\":{\"content\":\"Hi\"}}]}\n\n\
             data: {\"choices\":[{\"delta\":{\"content\":\" you\"},\"message\":{\"content\":\"Hi you\"},\
             \"finish_reason\":\"stop\"}]}\n\n"
                .into(),
            "Hi you",
        ),
        // A word of success is no error.
        (
            hi.replace("data: [DONE]", "data: {\"code\":0,\"message\":\"Success\",\"choices\":[]}\n\ndata: [DONE]")
                .into_bytes(),
            "Hi",
        ),
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

#[tokio::test]
async fn thinking_and_messages_to_tools_are_hidden_however_they_are_split() {
    const SAID: &str = "<|start|>assistant<|channel|>analysis<|message|>secret<|end|><|start|>assistant\
                        <|channel|>commentary to=functions.x <|constrain|>json<|message|>{}<|call|>\
                        <|start|>assistant<|channel|>final<|message|>Hi <b>you</b><|return|>";
    const TEXTS: [(&str, &str); 8] = [
        (
            "<|start|>assistant<|message|>Hi <b>you</b><|end|>",
            "Hi <b>you</b>",
        ),
        (SAID, "Hi <b>you</b>"),
        ("<think>secret</think><think>secret</think>Hi", "Hi"),
        ("[THINK]secret[/THINK]Hi", "Hi"),
        ("◁think▷secret◁/think▷Hi", "Hi"),
        ("\u{200b}<think >secret</think>Hi", "Hi"),
        ("<|inner_prefix|>secret<|inner_suffix|>Hi", "Hi"),
        ("Write <think> and <|end|>", "Write <think> and <|end|>"),
    ];
    for (text, answer) in TEXTS {
        for size in [1, 2, 7, 500] {
            let chars: Vec<_> = text.chars().collect();
            let parts: Vec<String> = chars
                .chunks(size)
                .map(|part| part.iter().collect())
                .collect();
            let parts: Vec<_> = parts.iter().map(String::as_str).collect();
            check_answer(Script::response(STREAM, pieces(&parts)), answer, text).await;
        }
    }
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
async fn a_failure_in_a_stream_fails_however_it_is_spelled() {
    for (event, cause) in [
        (
            "error: {\"code\":500,\"message\":\"secret\"}\n\n",
            "code \"500\"",
        ),
        ("error: secret\n\n", "not JSON"),
        ("event: error\ndata: {\"message\":\"secret\"}\n\n", "error"),
        ("event: error\ndata: {}\n\n", "error"),
        (
            "{\"error\":{\"type\":\"server_error\"}}\n\n",
            "server_error",
        ),
        ("data: {\"error\":\"secret\"}\n\n", "error"),
        ("data: {\"error\":[{\"message\":\"secret\"}]}\n\n", "error"),
        ("data: [{\"error\":{\"code\":503}}]\n\n", "503"),
        (
            "data: {\"object\":\"error\",\"message\":\"secret\",\"code\":40303}\n\n",
            "40303",
        ),
        ("data: {\"detail\":\"secret\"}\n\n", "error"),
        (
            "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
            "overloaded_error",
        ),
        ("data: {\"message\":\"secret\",\"code\":7}\n\n", "\"7\""),
        (
            "data: {\"choices\":[{\"delta\":{},\"error\":{\"code\":502}}]}\n\n",
            "502",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
            "stopped with an error",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n",
            "stopped with an error",
        ),
        (
            "data: {\"type\":\"about:blank\",\"title\":\"secret\",\"status\":500}\n\n",
            "error",
        ),
        ("data: {\"fault\":{\"code\":7}}\n\n", "\"7\""),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"overloaded\"}]}\n\n",
            "stopped with an error",
        ),
        ("data: secret\n\n", "not JSON"),
    ] {
        for (begin, last) in [
            ("", ""),
            ("", "data: [DONE]\n\n"),
            ("Half an answer", ""),
            ("Half", "data: [DONE]\n\n"),
        ] {
            let begin = if begin.is_empty() {
                String::new()
            } else {
                piece(begin)
            };
            let script = Script::response(STREAM, format!("{begin}{event}{last}"));
            // A body that begins like JSON is read as a whole.
            let cause = if begin.is_empty() && event.starts_with('{') {
                ""
            } else {
                cause
            };
            check_failure(script, cause, &format!("{begin}{event}")).await;
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
    check_answer(
        Script::response(STREAM, filtered),
        "Cut",
        "an answer that a filter has ended",
    )
    .await;
}

#[tokio::test]
async fn a_response_that_is_no_answer_is_refunded() {
    const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00";
    for (script, cause) in [
        (
            Script::response(
                "200 OK\r\nContent-Type: text/html\r\n",
                "<html>Log in</html>",
            ),
            "not JSON",
        ),
        (
            Script::response("200 OK\r\nContent-Encoding: gzip\r\n", GZIP),
            "not JSON",
        ),
        (
            Script::closing("HTTP/1.1 204 No Content\r\n\r\n"),
            "not JSON",
        ),
        (
            Script::response("308 X\r\nLocation: https://a.test/v1?key=secret\r\n", ""),
            "responded with 308, a redirect to \"https://a.test/v1\"",
        ),
        (Script::closing(""), "lost before the response"),
        (
            Script::closing("220 mail.example ESMTP\r\n"),
            "lost before the response",
        ),
        (
            Script::response(
                "429 X\r\nRetry-After: Sat, 21 Nov 2026 12:00:30 GMT\r\n",
                "",
            ),
            "too many requests",
        ),
    ] {
        check_failure(script, cause, cause).await;
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
async fn a_flood_of_interim_responses_ends_the_connection_and_a_few_are_skipped() {
    const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let peer = Peer::start(vec![Script::repeating(HINTS)]).await;
    let model = client(settings_at(&peer.url("/v1")));
    let error = model.reply(&question(), None).await.unwrap_err();
    assert!(
        error.to_string().contains("too many interim responses"),
        "{error}"
    );
    peer.left.acquire().await.unwrap().forget();
    let hi = format!(
        "{}HTTP/1.1 {STREAM}\r\n{}data: [DONE]\n\n",
        HINTS.repeat(8),
        pieces(&["Hi"])
    );
    check_answer(Script::closing(hi), "Hi", "eight").await;
}

fn refusal(status: u16, body: &str) -> Script {
    Script::response(&format!("{status} X\r\n"), body)
}

/// The messages of the requests of a turn that was refused like this at first.
async fn asked_after(refused: Script, turns: usize) -> Vec<Value> {
    let hi = Script::response(STREAM, pieces(&["Hi"]));
    let peer = Peer::start(vec![refused, hi]).await;
    let model = client(settings_at(&peer.url("/v1")));
    let said = [
        (Role::User, "first"),
        (Role::Assistant, "aha"),
        (Role::User, "second"),
    ];
    for _ in 0..turns {
        let reply = model
            .reply(&conversation(&said), None)
            .await
            .map(|reply| reply.text);
        assert_eq!(reply, Ok("Hi".to_owned()), "{:?}", peer.bodies());
    }
    let messages = |body: &String| serde_json::from_str::<Value>(body).unwrap()["messages"].clone();
    peer.bodies().iter().map(messages).collect()
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_asked_again_without_its_history() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"prompt is too long: 9000 tokens > 8192 maximum"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8192 tokens"}"#,
        ),
        (
            422,
            r#"{"error":"`inputs` tokens + `max_new_tokens` must be \u003c= 4096","error_type":"validation"}"#,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9000) exceeds the maximum"}}]"#,
        ),
        (
            400,
            r#"{"error":"Trying to keep the first 5000 tokens when context overflows"}"#,
        ),
        (
            400,
            r#"{"detail":[{"ctx":{"errors":["input length exceeds the limit"]}}]}"#,
        ),
        (413, "<html>413 Request Entity Too Large</html>"),
        (400, "Prompt contains 9000 tokens"),
    ] {
        let asked = asked_after(refusal(status, body), 1).await;
        assert_eq!(asked.len(), 2, "{body}");
        assert_eq!(
            asked[1][1],
            json!({"role": "user", "content": "second"}),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_model_without_the_role_system_gets_its_prompt_in_the_question_from_then_on() {
    for (status, body) in [
        (400, r#"{"error":{"message":"System role not supported"}}"#),
        (
            500,
            r#"{"error":{"message":"{{ bos_token }} Jinja Exception: System role not supported"}}"#,
        ),
        (
            400,
            r#"{"message":"Only user, assistant and tool roles are supported, but got system."}"#,
        ),
        (
            400,
            r#"{"error":"Conversation roles must alternate user/assistant/user/assistant/..."}"#,
        ),
    ] {
        let asked = asked_after(refusal(status, body), 2).await;
        assert_eq!(asked.len(), 3, "{body}");
        for messages in &asked[1..] {
            let content = messages[0]["content"].as_str().unwrap();
            assert_eq!(messages.as_array().unwrap().len(), 1, "{body}");
            assert_eq!(messages[0]["role"], "user", "{body}");
            assert!(content.starts_with("Be brief.\n\n"), "{content}");
            assert!(
                content.contains("> first") && content.ends_with("second"),
                "{content}"
            );
        }
    }
}
