//! The program with the files of a certificate.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::{Authority, BOTH, Pair, name};
use crate::prelude::*;

/// The certificate that the program presents, and the head of its answer.
pub(super) fn ask(address: &str, config: &Arc<ClientConfig>) -> (CertificateDer<'static>, String) {
    let mut config = ClientConfig::clone(config);
    // A session that is resumed has the certificate that it began with.
    config.resumption = Resumption::disabled();
    let client = ClientConnection::new(Arc::new(config), name()).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address).unwrap());
    let request =
        "GET /api/v1/health HTTP/1.1\r\nHost: landing.example\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let presented = stream.conn.peer_certificates().unwrap();
    (presented[0].clone().into_owned(), answer)
}

fn check(data: &Path, pair: &Pair) -> Ran {
    let mut check = landing_api(&["check", "--listen=127.0.0.1:0", "--data-dir"]);
    Ran::of(check.arg(data).args(pair.flags()))
}

pub(super) fn status(dir: &Path) -> Value {
    Ran::of(landing_api(&["status", "--json", "--data-dir"]).arg(dir)).json()["service"].clone()
}

/// Asks until it is so.
pub(super) fn until(is_so: impl Fn() -> bool) {
    assert!((0..2000).any(|_| is_so()));
}

#[test]
fn a_pair_that_was_replaced_is_used_after_sighup_and_half_a_pair_is_not() {
    let authority = Authority::new();
    let (pair, new) = (authority.pair("one"), authority.pair("new"));
    let config = authority.client(BOTH, &["http/1.1"]);
    let dir = private_dir();
    let plain = closed_address();
    let program = Program::start(
        command(dir.path())
            .args(pair.flags())
            .args(["--base-url=https://landing.example", "--hsts=5m"])
            .arg(format!("--redirect-listen={plain}")),
    );
    let (presented, answer) = ask(&program.address, &config);
    assert_eq!(presented, pair.certificate);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_present(&answer, &["\r\nstrict-transport-security: max-age=300\r\n"]);
    let sent = exchange(&plain, "GET /de HTTP/1.1\r\nHost: landing.example\r\n\r\n");
    assert_present(&sent, &["location: https://landing.example/de\r\n"]);

    let status = || status(dir.path());
    let end = "2500-01-01T00:00:00.000Z";
    assert_eq!(status()["certificate_expires_at"], end);
    fs::copy(&new.key, &pair.key).unwrap();
    program.signal(Signal::HUP);
    until(|| !status()["last_error"].is_null());
    let told = status()["last_error"]["text"].to_string();
    assert_present(&told, &["--tls-key: ", "the old one stays"]);
    assert_eq!(ask(&program.address, &config).0, pair.certificate);
    fs::copy(&new.chain, &pair.chain).unwrap();
    program.signal(Signal::HUP);
    until(|| ask(&program.address, &config).0 == new.certificate);
    let log = program.stopped();
    assert_eq!(log.matches("the old one stays").count(), 1, "{log}");
    assert_absent(&log, &["BEGIN", "not valid now"]);
}

#[test]
fn a_bad_pair_ends_a_start_in_one_line_before_anything_is_opened() {
    let authority = Authority::new();
    let (pair, other) = (authority.pair("one"), authority.pair("other"));
    let dir = private_dir();
    let data = dir.path().join("data");
    fs::copy(&other.key, &pair.key).unwrap();
    let started = Ran::of(command(&data).args(pair.flags()));
    started.refused_in_a_line(2, "does not match the first certificate");
    assert!(!data.exists());
    let checked = check(&data, &pair);
    assert_eq!(checked.status, Some(2), "{checked:?}");
    assert_present(&checked.out, &["certificate: --tls-key: "]);
}

#[test]
fn a_certificate_that_is_not_valid_now_is_served_with_a_warning_and_check_says_so() {
    let (authority, dir) = (Authority::new(), private_dir());
    let before = "is not valid before 2400-01-01";
    let fits = "fits its key and is valid until 2500-01-01";
    for (file, years, verdict, told) in [
        ("old", (2000, 2001), "failed ", "expired at 2001-01-01"),
        ("new", (2400, 2500), "failed ", before),
        ("late", (1970, 2035), "warning", "expires at 2035-01-01"),
        ("good", (2020, 2500), "ok     ", fits),
    ] {
        let pair = authority.issue(file, years);
        let checked = check(&dir.path().join("data"), &pair);
        assert_present(&checked.out, &[&format!("{verdict}  certificate: {told}")]);
        let program = Program::start(command(&dir.path().join(file)).args(pair.flags()));
        let log = program.stopped();
        let is_warned = log.contains("is not valid now");
        assert_eq!(is_warned, matches!(file, "old" | "new"), "{log}");
    }
}

#[test]
fn a_port_of_redirects_that_cannot_be_had_is_named_with_its_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--redirect-listen={}", taken.local_addr().unwrap());
    let dir = private_dir();
    let mut command = command(&dir.path().join("data"));
    let started = Ran::of(command.args([&flag, "--base-url=https://a.example"]));
    started.refused_in_a_line(1, "--redirect-listen: cannot listen on ");
}
