//! In the real program, over sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Output;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::commands;
use crate::program::{Program, command, run, text};

/// `landing-api admin link` on this directory.
fn admin_link(data_dir: &TempDir, more: &[&str]) -> Output {
    run(commands::command(&["admin", "link"], data_dir.path()).args(more))
}

/// The answer to a request, head and body.
fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(address: &str, path: &str, headers: &str) -> String {
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    exchange(address, &head)
}

fn post(address: &str, path: &str, headers: &str, form: &str) -> String {
    let length = form.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
    );
    exchange(address, &head)
}

#[test]
fn the_link_of_the_command_opens_the_page() {
    let data_dir = TempDir::new().unwrap();
    let program = Program::start(command(data_dir.path()).args(["--admin-listen", "127.0.0.1:0"]));
    program.sign_up("ada@example.com");
    let output = admin_link(&data_dir, &[]);
    assert!(output.status.success());
    let url = text(&output.stdout);
    let rest = url.trim_end().strip_prefix("http://").unwrap();
    let (address, token) = rest.split_once("/login?link=").unwrap();
    assert!(text(&output.stderr).contains("It opens the admin page once, until 20"));

    let opened = get(address, &format!("/login?link={token}"), "");
    assert!(opened.contains("Open the admin page"));
    let signed_in = post(address, "/login", "", &format!("link={token}"));
    assert!(signed_in.starts_with("HTTP/1.1 303"), "{signed_in}");
    let cookie = signed_in.split("set-cookie: ").nth(1).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let contacts = get(address, "/contacts", &cookie);
    assert!(contacts.contains("ada@example.com"));
    let form_token = contacts
        .split("name=\"form_token\" value=\"")
        .nth(1)
        .unwrap();
    let form_token = &form_token[..64];
    let form = format!("email=ada%40example.com&form_token={form_token}");
    let erased = post(address, "/contacts/erase", &cookie, &form);
    assert!(erased.contains("<h1>Erased</h1>"), "{erased}");
    let ledger = std::fs::read_to_string(data_dir.path().join("ledger.jsonl")).unwrap();
    assert!(!ledger.contains("ada@example.com"));

    let json = admin_link(&data_dir, &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json["url"].as_str().unwrap().contains("/login?link="));
    assert!(json["expires_at"].as_str().unwrap().ends_with('Z'));
    // The public listener knows none of it.
    let public = get(&program.address, "/contacts", &cookie);
    assert!(public.starts_with("HTTP/1.1 404"));
    let address = address.to_owned();
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0));
    assert!(log.contains(&format!("address={address}")), "{log}");
    for secret in [token, "ada@example.com", &cookie[22..]] {
        assert!(!log.contains(secret.trim()), "{log}");
    }

    // Sessions end with the process.
    let program = Program::start(command(data_dir.path()).args(["--admin-listen", &address]));
    let after = get(&address, "/contacts", &cookie);
    assert!(after.starts_with("HTTP/1.1 403"), "{after}");
    drop(program);
}

#[test]
fn requests_that_never_end_and_heads_that_are_too_large_are_refused() {
    let data_dir = TempDir::new().unwrap();
    let program = Program::start(command(data_dir.path()).args(["--admin-listen", "127.0.0.1:0"]));
    let output = admin_link(&data_dir, &[]);
    let url = text(&output.stdout);
    let address = url.split('/').nth(2).unwrap();
    let large = format!("X: {}\r\n", "x".repeat(64 * 1024));
    assert!(get(address, "/", &large).starts_with("HTTP/1.1 431"));
    let form = "x".repeat(20_000);
    let refused = post(address, "/login", "", &form);
    assert!(refused.starts_with("HTTP/1.1 413"), "{refused}");
    // One that waits for its body does not keep the service from stopping.
    let mut waiting = TcpStream::connect(address).unwrap();
    let head = format!("POST /login HTTP/1.1\r\nHost: {address}\r\nContent-Length: 9\r\n\r\n");
    waiting.write_all(head.as_bytes()).unwrap();
    let (status, _log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0));
}

#[test]
fn without_the_page_there_is_no_link() {
    let data_dir = TempDir::new().unwrap();
    let program = Program::start(&mut command(data_dir.path()));
    let running = admin_link(&data_dir, &[]);
    assert_eq!(program.status_after(Signal::TERM), Some(0));
    let stopped = admin_link(&data_dir, &[]);
    for output in [running, stopped] {
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stdout), "");
        let error = text(&output.stderr);
        assert!(error.contains("error: there is no admin page"), "{error}");
        assert!(error.contains("--admin-listen 127.0.0.1:9090"));
    }
}

#[test]
fn only_loopback_addresses_are_taken() {
    let data_dir = TempDir::new().unwrap();
    for address in [
        "0.0.0.0:9090",
        "192.0.2.1:9090",
        "[::]:9090",
        "[2001:db8::1]:9090",
    ] {
        let output = run(command(data_dir.path()).args(["--admin-listen", address]));
        assert_eq!(output.status.code(), Some(2), "{address}");
        let error = text(&output.stderr);
        assert!(
            error.contains("--admin-listen") && error.contains("ssh -L"),
            "{error}"
        );
    }
    for wrong in ["9090", "127.0.0.1", "localhost:9090", ""] {
        let output = run(command(data_dir.path()).args(["--admin-listen", wrong]));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(text(&output.stderr).contains("127.0.0.1:9090"));
    }
    // In use.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(command(data_dir.path()).args(["--admin-listen", &address]));
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.contains(&format!("--admin-listen: cannot listen on {address}")),
        "{error}"
    );
}
