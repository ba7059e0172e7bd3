//! In the real program, over sockets.

use std::io::Write as _;
use std::net::TcpStream;

use crate::prelude::*;

fn admin_link(data_dir: &TempDir) -> Ran {
    commands::run("admin link", data_dir.path())
}

/// Where the page listens, and a link's token.
fn parts(link: &Ran) -> (&str, &str) {
    let rest = link.out.trim_end().strip_prefix("http://").unwrap();
    rest.split_once("/login?link=").unwrap()
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
    let (data_dir, program) = Program::fresh(&["--admin-listen", "127.0.0.1:0"]);
    program.sign_up("ada@example.com");
    let link = admin_link(&data_dir).done();
    let (address, token) = parts(&link);
    assert_present(&link.err, &["The link works once and expires at 20"]);

    assert!(get(address, &format!("/login?link={token}"), "").contains("Open the admin page"));
    let signed_in = post(address, "/login", "", &format!("link={token}"));
    assert!(signed_in.starts_with("HTTP/1.1 303"), "{signed_in}");
    let header = |name| signed_in.split(name).nth(1).unwrap().split("\r\n").next();
    let root = header("location: ").unwrap();
    let cookie = header("set-cookie: ").unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let contacts = get(address, &format!("{root}contacts"), &cookie);
    assert!(contacts.contains("ada@example.com"));
    let form = "email=ada%40example.com";
    let erased = post(address, &format!("{root}contacts/erase"), &cookie, form);
    assert!(erased.contains("<h1>Erased</h1>"), "{erased}");
    let ledger = fs::read_to_string(data_dir.path().join("ledger.jsonl")).unwrap();
    assert!(!ledger.contains("ada@example.com"));

    let json = commands::run("admin link --json", data_dir.path()).json();
    assert!(json["url"].as_str().unwrap().contains("/login?link="));
    assert!(json["expires_at"].as_str().unwrap().ends_with('Z'));
    // The public listener knows none of it.
    assert!(get(&program.address, "/contacts", &cookie).starts_with("HTTP/1.1 404"));
    let address = address.to_owned();
    let log = program.stopped();
    assert!(log.contains(&format!("address={address}")), "{log}");
    assert_absent(&log, &[token, "ada@example.com", cookie[22..].trim(), root]);

    // Sessions end with the process.
    let program = Program::start(command(data_dir.path()).args(["--admin-listen", &address]));
    let after = get(&address, &format!("{root}contacts"), &cookie);
    assert!(after.starts_with("HTTP/1.1 403"), "{after}");
    drop(program);
}

#[test]
fn requests_that_never_end_and_heads_that_are_too_large_are_refused() {
    let (data_dir, program) = Program::fresh(&["--admin-listen", "127.0.0.1:0"]);
    let link = admin_link(&data_dir).done();
    let (address, _) = parts(&link);
    let large = format!("X: {}\r\n", "x".repeat(64 * 1024));
    assert!(get(address, "/", &large).starts_with("HTTP/1.1 431"));
    // One that waits for its body does not keep the service from stopping.
    let mut waiting = TcpStream::connect(address).unwrap();
    let head = format!("POST /login HTTP/1.1\r\nHost: {address}\r\nContent-Length: 9\r\n\r\n");
    waiting.write_all(head.as_bytes()).unwrap();
    program.stopped();
}

#[test]
fn without_the_page_there_is_no_link() {
    let (data_dir, program) = Program::fresh(&[]);
    let running = admin_link(&data_dir);
    program.stopped();
    for refused in [running, admin_link(&data_dir)] {
        let refused = refused.refused(1, "error: there is no admin page");
        assert_present(&refused.err, &["--admin-listen 127.0.0.1:9090"]);
    }
}

#[test]
fn an_address_in_use_is_named_with_its_flag() {
    let data_dir = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = Ran::of(command(data_dir.path()).args(["--admin-listen", &address]));
    ran.refused(1, &format!("--admin-listen: cannot listen on {address}"));
}
