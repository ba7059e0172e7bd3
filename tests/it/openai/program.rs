//! The real program with a model of its own: its certificates, its parameters, its log.

use std::fs::{create_dir, write};

use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

use super::upstream::{Script, Upstream, end, piece};
use crate::field::files::pem;
use crate::prelude::*;

const PATH: &str = "/api/v1/assistant/chat";
const ASK: &str = r#"{"messages":[{"role":"user","content":"where is my hidden treasure"}]}"#;

/// A file of authorities, and the TLS of a server that they vouch for.
fn authorities() -> (NamedTempFile, TlsAcceptor) {
    let authority = Authority::new();
    let file = NamedTempFile::new().unwrap();
    write(file.path(), pem("CERTIFICATE", &authority.root)).unwrap();
    (file, authority.acceptor("127.0.0.1"))
}

/// Asks the program before `upstream` once, which trusts the authorities in this file and is answered. Gives body and
/// log.
async fn ask_well(
    upstream: &Upstream,
    authorities: &Path,
    set_up: impl FnOnce(&mut Command),
) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    write(&key, "sk-test-key\n").unwrap();
    set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let mut command = command(&dir.path().join("data"));
    let url = upstream.base_url().replace("http:", "https:");
    command
        .args(["--model-url", &url, "--model", "small"])
        .args(["--log-level", "trace", "--model-key-file"])
        .arg(&key)
        .env("SSL_CERT_FILE", authorities);
    set_up(&mut command);
    tokio::task::spawn_blocking(move || {
        let program = Program::start(&mut command);
        let (status, body) = program.post(PATH, ASK);
        let (_, quota) = program.send("GET", PATH, "", "");
        assert_eq!(quota["max"], 10);
        let log = program.stopped();
        assert_eq!(status, 200, "{log}");
        drop(dir);
        (body.to_string(), log)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn ssl_cert_file_names_the_authorities_that_are_trusted() {
    let (file, tls) = authorities();
    let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls)).await;
    let (body, log) = ask_well(&upstream, file.path(), |_| ()).await;
    assert!(body.contains("Safe."));
    let asked = &upstream.requests()[0];
    let key = asked.header("authorization");
    assert_eq!(key, Some("Bearer sk-test-key"));
    let body = asked.json();
    let prompt = body["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains("/docs#get-a-free-api-key"), "{prompt}");
    for private in ["sk-test-key", "treasure"] {
        assert!(!log.contains(private), "{log}");
    }
}

#[test]
fn a_fallback_answers_and_the_log_tells_why() {
    // Nobody listens there.
    let model = ["--model-url=http://127.0.0.1:9/v1", "--model=m"];
    for (fallback, answers) in [
        (&[][..], false),
        (&["--model-fallback=none"], false),
        (&["--model-fallback=guide"], true),
    ] {
        let (_dir, program) = Program::fresh(&[&model, fallback].concat());
        let (status, body) = program.post(PATH, ASK);
        let (_, openapi) = program.send("GET", "/openapi.json", "", "");
        let log = program.stopped();
        let line = log.lines().find(|line| line.contains("cannot connect"));
        let line = line.unwrap();
        for part in ["WARN", "model_unavailable"] {
            assert!(line.contains(part), "{line}");
        }
        assert!(!log.contains("treasure"), "{log}");
        let chat = &openapi["paths"][PATH]["post"]["description"];
        let chat = chat.as_str().unwrap();
        let is_told = chat.contains("While the language model is unavailable");
        assert_eq!(is_told, answers);
        if answers {
            assert_eq!(status, 200, "{log}");
            assert!(line.contains("status=200"), "{line}");
            let text = body["message"].as_str().unwrap();
            assert_present(text, &["language model is unavailable right now"]);
            assert_eq!((&body["used"], &body["remaining"]), (&json!(0), &json!(10)));
        } else {
            assert_eq!((status, &body["code"]), (503, &json!("model_unavailable")));
        }
    }
}

#[test]
fn without_any_authority_https_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let unused = dir.path().join("unused");
    let missing = dir.path().join("missing");
    // A good one elsewhere does not make up for a file that is named and missing.
    let good = dir.path().join("good");
    create_dir(&good).unwrap();
    let root = pem("CERTIFICATE", &Authority::new().root);
    write(good.join("one.pem"), root).unwrap();
    for flags in [
        &["--model-url=https://127.0.0.1:9/v1", "--model=m"][..],
        &["--newsletter-webhook=https://127.0.0.1:9/"],
    ] {
        let mut command = command(&unused);
        command
            .args(flags)
            .env("SSL_CERT_FILE", &missing)
            .env("SSL_CERT_DIR", &good);
        let (flag, _) = flags[0].split_once('=').unwrap();
        let told = format!("error: {flag}: SSL_CERT_FILE: {}: ", missing.display());
        Ran::of(&mut command).refused_in_a_line(2, &told);
        assert!(!unused.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn authorities_that_cannot_be_read_beside_good_ones_are_warned_of() {
    let (file, tls) = authorities();
    let missing = file.path().with_extension("missing");
    let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls)).await;
    let (_, log) = ask_well(&upstream, file.path(), |command| {
        command.env("SSL_CERT_DIR", &missing);
    })
    .await;
    let warning = log.lines().find(|line| line.contains("WARN")).unwrap();
    let missing = missing.display().to_string();
    assert!(warning.contains(&missing), "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nothing_says_is_whole_is_told_to_the_log_for_debugging() {
    let (file, tls) = authorities();
    let stop = end;
    let text = || piece("Safe.");
    for (script, is_told) in [
        (Script::stream([text()]), true),
        (Script::stream([text(), stop()]), false),
        (Script::stream([text(), "[DONE]".to_owned()]), false),
    ] {
        let upstream = Upstream::start_with([script], Some(tls.clone())).await;
        let (body, log) = ask_well(&upstream, file.path(), |_| ()).await;
        assert!(body.contains("Safe."));
        let mut lines = log.lines();
        let told =
            lines.any(|line| line.contains("DEBUG") && line.contains("accepted as complete"));
        assert_eq!(told, is_told, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_and_thinking_are_told_of_by_flags_or_in_the_environment() {
    let (file, tls) = authorities();
    let upstream = Upstream::start_with([Script::saying("secret</think>Said")], Some(tls)).await;
    for (flag, variable, message) in [
        (None, "0", "secret</think>Said"),
        (None, "1", "Said"),
        (Some("--model-thinks-first"), "false", "Said"),
    ] {
        let (body, _) = ask_well(&upstream, file.path(), |command| {
            let params = "max_tokens=400\noptions={\"a\": [1, 2]}\nuser=\"x\"";
            let command = command.args(flag).env("LANDING_MODEL_PARAM", params);
            command.env("LANDING_MODEL_THINKS_FIRST", variable);
        })
        .await;
        assert_present(&body, &[&format!("\"message\":\"{message}\"")]);
    }
    let body = upstream.requests()[0].json();
    let params = ["max_tokens", "options", "user"].map(|name| &body[name]);
    assert_eq!(params, [&json!(400), &json!({"a": [1, 2]}), &json!("x")]);
}
