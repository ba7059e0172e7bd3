//! The real program with a model of its own: its flags, its files, its certificates, its log.

use std::fs::{Permissions, create_dir, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use serde_json::json;

use super::tls::authority;
use super::upstream::{Script, Upstream, end, piece};
use crate::program::{Program, command, run, text};
use crate::rows::rows;

const PATH: &str = "/api/v1/assistant/chat";
const ASK: &str = r#"{"messages":[{"role":"user","content":"where is my hidden treasure"}]}"#;

fn secret_file(path: &Path, content: &str) {
    write(path, content).unwrap();
    set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A flag, and a value or file that is wrong for it.
const WRONG: &str = "
--model-key-file        | missing
--model-key-file        | empty
--model-key-file        | two-words
--model-key-file        | exposed
--assistant-prompt-file | missing
--assistant-prompt-file | empty
--model-param           | stream=true
--model-timeout         | 0s
";

#[test]
fn a_flag_or_file_that_is_wrong_is_named_and_ends_with_status_2() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let model = ["--model-url", "http://127.0.0.1:9/v1", "--model", "m"];
    secret_file(&dir.path().join("empty"), "\n");
    secret_file(&dir.path().join("two-words"), "two words");
    write(dir.path().join("exposed"), "sk-exposed").unwrap();
    set_permissions(dir.path().join("exposed"), Permissions::from_mode(0o644)).unwrap();
    for [flag, value] in rows(WRONG) {
        let is_file = flag.ends_with("-file");
        let value = if is_file {
            path(value)
        } else {
            value.to_owned()
        };
        let data_dir = dir.path().join("unused");
        let output = run(command(&data_dir).args(model).args([flag, &value]));
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
        let complaint = text(&output.stderr);
        assert!(complaint.starts_with("error: "), "{complaint}");
        assert!(complaint.contains(flag), "{complaint}");
        assert!(!is_file || complaint.lines().count() == 1, "{complaint}");
        assert!(!complaint.contains("sk-") && !complaint.contains("two words"));
        assert!(!data_dir.exists());
    }
    let output = run(command(&dir.path().join("unused")).args(["--model", "m"]));
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("--model-url "), "{complaint}");
}

#[test]
fn a_pipe_or_a_device_is_no_file_and_holds_no_start_up() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    // Nobody ever writes into it.
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let model = ["--model-url=http://127.0.0.1:9/v1", "--model=m"];
    let webhook = ["--newsletter-webhook=http://127.0.0.1:9/"];
    for (flags, file_flag) in [
        (&model[..], "--model-key-file"),
        (&model, "--assistant-prompt-file"),
        (&webhook, "--newsletter-webhook-secret-file"),
    ] {
        for file in [&*pipe, Path::new("/dev/zero"), dir.path()] {
            let data_dir = dir.path().join("unused");
            let output = run(command(&data_dir).args(flags).arg(file_flag).arg(file));
            assert_eq!(output.status.code(), Some(2), "{file_flag}");
            let named = file.display();
            assert_eq!(
                text(&output.stderr),
                format!("error: {file_flag}: {named}: is no regular file\n")
            );
            assert!(!data_dir.exists());
        }
    }
}

#[test]
fn an_address_that_cannot_be_asked_is_known_before_anything_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("unused");
    let url = format!("http://127.0.0.1:9/{}", "secret".repeat(11_000));
    let output = run(command(&data_dir).args(["--model-url", &url, "--model", "m"]));
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.starts_with("error: --model-url: "), "{complaint}");
    assert!(!complaint.contains("secret"));
    assert!(!data_dir.exists());
}

/// Asks the program before the API at `url` once; gives status, body and log.
async fn ask(url: &str, set_up: impl FnOnce(&mut Command)) -> (u16, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    secret_file(&key, "sk-test-key\n");
    let mut command = command(&dir.path().join("data"));
    command
        .args(["--model-url", url, "--model", "small"])
        .args(["--log-level", "trace", "--model-key-file"])
        .arg(&key);
    set_up(&mut command);
    tokio::task::spawn_blocking(move || {
        let program = Program::start(&mut command);
        let (status, body) = program.send("POST", PATH, "", ASK);
        let (_, quota) = program.send("GET", PATH, "", "");
        assert_eq!(quota["max"], 10);
        let (code, log) = program.stop(Signal::TERM);
        assert_eq!(code, Some(0), "{log}");
        drop(dir);
        (status, body.to_string(), log)
    })
    .await
    .unwrap()
}

/// The address of an upstream behind TLS.
fn https(upstream: &Upstream) -> String {
    upstream.base_url().replace("http:", "https:")
}

#[tokio::test(flavor = "multi_thread")]
async fn ssl_cert_file_names_the_authorities_that_are_trusted() {
    let (_, pem, tls) = authority("127.0.0.1");
    let (_, stranger, _) = authority("127.0.0.1");
    let dir = tempfile::tempdir().unwrap();
    for (pem, is_trusted) in [(pem, true), (stranger, false)] {
        let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls.clone())).await;
        let file = dir.path().join("authorities.pem");
        write(&file, pem).unwrap();
        let (status, body, log) = ask(&https(&upstream), |command| {
            command.env("SSL_CERT_FILE", &file);
        })
        .await;
        if is_trusted {
            assert_eq!(status, 200, "{log}");
            assert!(body.contains("Safe."));
            let asked = &upstream.asked()[0];
            assert_eq!(asked.headers["authorization"], "Bearer sk-test-key");
            let prompt = asked.body["messages"][0]["content"].as_str().unwrap();
            assert!(prompt.contains("/docs#getting-a-free-api-key"), "{prompt}");
        } else {
            assert_eq!(status, 503, "{log}");
            assert!(log.contains("cannot connect"), "{log}");
            assert!(upstream.asked().is_empty());
        }
        for private in ["sk-test-key", "treasure"] {
            assert!(!log.contains(private), "{log}");
        }
    }
}

#[test]
fn a_fallback_answers_and_the_log_tells_why() {
    for (fallback, answers) in [(None, false), (Some("none"), false), (Some("guide"), true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = command(&dir.path().join("data"));
        // Nobody listens there.
        command.args(["--model-url=http://127.0.0.1:9/v1", "--model=m"]);
        command.args(fallback.map(|word| format!("--model-fallback={word}")));
        let program = Program::start(&mut command);
        let (status, body) = program.send("POST", PATH, "", ASK);
        let (_, openapi) = program.send("GET", "/openapi.json", "", "");
        let (code, log) = program.stop(Signal::TERM);
        assert_eq!(code, Some(0), "{log}");
        let line = log.lines().find(|line| line.contains("cannot connect"));
        let line = line.unwrap();
        let is_told = line.contains("WARN") && line.contains("model_unavailable");
        assert!(is_told, "{line}");
        assert!(!log.contains("treasure"), "{log}");
        let chat = openapi["paths"][PATH]["post"]["description"]
            .as_str()
            .unwrap();
        assert_eq!(chat.contains("While the language model is away"), answers);
        if answers {
            assert_eq!(status, 200, "{log}");
            assert!(line.contains("status=200"), "{line}");
            let text = body["message"].as_str().unwrap();
            assert!(text.contains("language model is away just now"), "{text}");
            assert_eq!((&body["used"], &body["remaining"]), (&json!(0), &json!(10)));
        } else {
            assert_eq!((status, &body["code"]), (503, &json!("model_unavailable")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_authority_https_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(command(&dir.path().join("unused"))
        .args(["--model-url", "https://127.0.0.1:9/v1", "--model", "m"])
        .env("SSL_CERT_FILE", dir.path().join("missing")));
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("--model-url"), "{complaint}");
}

#[test]
fn a_named_file_of_authorities_that_gives_none_stops_the_start_whatever_else_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (_, pem, _) = authority("127.0.0.1");
    let good = dir.path().join("good");
    create_dir(&good).unwrap();
    write(good.join("one.pem"), pem).unwrap();
    write(dir.path().join("nonsense"), "no certificate").unwrap();
    write(dir.path().join("broken"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    mkfifoat(CWD, dir.path().join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    let data_dir = dir.path().join("unused");
    for name in ["missing", "nonsense", "broken", "pipe", "good"] {
        let file = dir.path().join(name);
        for flags in [
            vec!["--model-url=https://127.0.0.1:9/v1", "--model=m"],
            vec!["--newsletter-webhook=https://127.0.0.1:9/"],
        ] {
            let output = run(command(&data_dir)
                .args(&flags)
                .env("SSL_CERT_FILE", &file)
                .env("SSL_CERT_DIR", &good));
            assert_eq!(output.status.code(), Some(2), "{name}");
            let complaint = text(&output.stderr);
            assert_eq!(complaint.lines().count(), 1, "{complaint}");
            let (flag, _) = flags[0].split_once('=').unwrap();
            let named = format!("error: {flag}: SSL_CERT_FILE: {}: ", file.display());
            assert!(complaint.starts_with(&named), "{complaint}");
        }
        assert!(!data_dir.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn authorities_that_cannot_be_read_beside_good_ones_are_warned_of() {
    let (_, pem, tls) = authority("127.0.0.1");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("authorities.pem");
    write(&file, pem).unwrap();
    let missing = dir.path().join("missing");
    let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls)).await;
    let (status, _, log) = ask(&https(&upstream), |command| {
        command
            .env("SSL_CERT_FILE", &file)
            .env("SSL_CERT_DIR", &missing);
    })
    .await;
    assert_eq!(status, 200, "{log}");
    let warning = log.lines().find(|line| line.contains("WARN")).unwrap();
    let missing = missing.display().to_string();
    assert!(warning.contains(&missing), "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nothing_says_is_whole_is_told_to_the_log_for_debugging() {
    for (script, is_told) in [
        (Script::stream([piece("Safe.")]), true),
        (Script::stream([piece("Safe."), end()]), false),
        (Script::stream([piece("Safe."), "[DONE]".to_owned()]), false),
    ] {
        let upstream = Upstream::start([script]).await;
        let (status, body, log) = ask(&upstream.base_url(), |_| {}).await;
        assert_eq!(status, 200, "{log}");
        assert!(body.contains("Safe."));
        let mut lines = log.lines();
        let told = lines.any(|line| line.contains("DEBUG") && line.contains("taken for whole"));
        assert_eq!(told, is_told, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_in_the_environment_stand_on_lines_of_their_own_and_may_take_several() {
    let upstream = Upstream::start([Script::saying("Safe.")]).await;
    let (status, _, log) = ask(&upstream.base_url(), |command| {
        let params = "max_tokens=400\noptions={\n  \"a\": [1,\n2]\n}\nuser=\"x\"";
        command.env("LANDING_MODEL_PARAM", params);
    })
    .await;
    assert_eq!(status, 200, "{log}");
    let body = &upstream.asked()[0].body;
    assert_eq!(body["max_tokens"], 400);
    assert_eq!(body["options"], json!({"a": [1, 2]}));
    assert_eq!(body["user"], "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_thinks_first_is_told_of_by_a_flag_or_in_the_environment() {
    let upstream = Upstream::start([Script::saying("secret</think>Said")]).await;
    for (flag, variable, message) in [
        (None, "0", "secret</think>Said"),
        (None, "1", "Said"),
        (Some("--model-thinks-first"), "false", "Said"),
    ] {
        let (status, body, log) = ask(&upstream.base_url(), |command| {
            command.args(flag);
            command.env("LANDING_MODEL_THINKS_FIRST", variable);
        })
        .await;
        assert_eq!(status, 200, "{log}");
        let expected = format!("\"message\":\"{message}\"");
        assert!(body.contains(&expected), "{body}");
    }
}
