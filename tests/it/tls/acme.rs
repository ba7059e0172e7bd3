//! The certificate that the service orders itself: flags, what is kept, and orders that fail. `.ci/acme` has the
//! orders that succeed, with a real authority.

use std::net::TcpListener;

use landing_api::adapters::files::pem::certificates_in;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::tls::acme::{AcmeClient, AcmeSettings};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConnection;
use tokio_rustls::rustls::pki_types::ServerName;

use super::authority::{PAGE, ScriptedAuthority};
use super::program::{ask, status, until};
use super::{Authority, BOTH, NAME, Pair, write_private};
use crate::prelude::*;

const DIRECTORY: &str = "https://localhost:9/dir";

fn settings(dir: &Path, names: &[&str], directory: &str, roots: Roots) -> AcmeSettings {
    AcmeSettings {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        directory: directory.to_owned(),
        dir: dir.to_path_buf(),
        roots,
    }
}

fn open(dir: &Path, names: &[&str]) -> Result<AcmeClient, String> {
    AcmeClient::open(settings(dir, names, DIRECTORY, Roots::of([])))
}

/// What is ordered for these names from `scripted`.
fn ordered_from(scripted: &ScriptedAuthority, dir: &Path, names: &[&str]) -> AcmeClient {
    let roots = Roots::of(certificates_in(&scripted.root).unwrap());
    AcmeClient::open(settings(dir, names, &scripted.url, roots)).unwrap()
}

/// Keeps `pair` as what the authority issued.
fn keep(dir: &Path, pair: &Pair, order: &Value) {
    let [chain, key] = [&pair.chain, &pair.key].map(|path| fs::read_to_string(path).unwrap());
    write_private(&dir.join("certificate.pem"), &format!("{chain}{key}"));
    write_private(&dir.join("acme.json"), &order.to_string());
}

fn issued(at: Timestamp) -> Value {
    json!({
        "directory": DIRECTORY, "names": [NAME], "at_ms": at.as_ms(), "failures": 0, "issued_by": DIRECTORY,
    })
}

fn day(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[test]
fn what_is_kept_decides_when_the_next_order_is_due() {
    let authority = Authority::new();
    let dir = private_dir();
    let now = day("2026-01-01");
    let pair = authority.issue("one", (2026, 2029));
    keep(dir.path(), &pair, &issued(now));
    let due = |names: &[&str]| open(dir.path(), names).unwrap().last_order(now).next_at;
    let days = |at: Timestamp| at.as_ms() / DAY_MS;
    assert_eq!(days(due(&[NAME])), days(day("2028-01-01")));
    // Other names, or another authority, are wanted at once.
    assert!(due(&[NAME, "www.landing.example"]) <= now);
    assert!(due(&["landing.example.org"]) <= now);
    let mut other = issued(now);
    other["issued_by"] = json!("https://staging.example/dir");
    keep(dir.path(), &pair, &other);
    assert_eq!(due(&[NAME]).ms_since(now), 10 * 60_000);
    other["directory"] = json!("https://staging.example/dir");
    keep(dir.path(), &pair, &other);
    assert!(due(&[NAME]) <= now);
    fs::remove_file(dir.path().join("acme.json")).unwrap();
    assert!(due(&[NAME]) <= now);
    let validity = open(dir.path(), &[NAME]).unwrap().certificate.validity();
    assert_eq!(validity.unwrap(), now..day("2029-01-01"));
}

#[test]
fn what_is_damaged_is_named_and_what_a_group_may_read_is_read() {
    let authority = Authority::new();
    let (pair, other) = (authority.pair("one"), authority.pair("other"));
    let dir = private_dir();
    let certificate = dir.path().join("certificate.pem");
    let refusal = || {
        let line = open(dir.path(), &[NAME]).unwrap_err();
        assert!(line.starts_with("--https-domain: "), "{line}");
        assert!(!line.contains('\n') && !line.contains("MII"), "{line}");
        line
    };
    let validity = || open(dir.path(), &[NAME]).unwrap().certificate.validity();
    assert_eq!(validity(), None);
    let [chain, key] = [&pair.chain, &other.key].map(|path| fs::read_to_string(path).unwrap());
    let both = format!("{chain}{key}");
    let unlike = "certificate.pem holds a key that does not match the first certificate: remove";
    for (pem, told) in [
        (both, unlike),
        (chain, "certificate.pem holds no private key"),
        (key, "certificate.pem holds no certificate"),
        ("text".to_owned(), "certificate.pem holds no certificate"),
        (String::new(), "is empty"),
    ] {
        write_private(&certificate, &pem);
        assert!(refusal().contains(told), "{told}");
    }
    keep(dir.path(), &pair, &json!({}));
    assert!(refusal().contains("acme.json is damaged: remove it"));
    write_private(&dir.path().join("acme.json"), "{\"directory\":");
    assert!(refusal().contains("acme.json is damaged: remove it"));
    keep(dir.path(), &pair, &issued(Timestamp::default()));
    // The start closes the whole data directory to others.
    set_permissions(&certificate, Permissions::from_mode(0o660)).unwrap();
    assert!(validity().is_some());
}

#[tokio::test]
async fn names_of_others_get_no_certificate_and_neither_does_a_proof_that_nobody_asked_for() {
    let authority = Authority::new();
    let dir = private_dir();
    let pair = authority.pair("one");
    keep(dir.path(), &pair, &issued(Timestamp::default()));
    let acme = Arc::new(open(dir.path(), &[NAME]).unwrap());
    let (limits, tls) = (ServerLimits::default(), acme.certificate.tls().unwrap());
    let server = Server::start_tls(Setup::default(), limits, tls).await;
    let h1: &[&str] = &["http/1.1"];
    for (name, alpn, is_served) in [
        (NAME, h1, true),
        (NAME, &[], true),
        ("LANDING.example", h1, true),
        (NAME, &["h2", "http/1.1"], true),
        ("www.landing.example", h1, false),
        ("example", h1, false),
        ("127.0.0.1", h1, false),
        (NAME, &["acme-tls/1"], false),
        (NAME, &["http/1.1", "acme-tls/1"], false),
    ] {
        let stream = server.connect().await.0.into_inner();
        let connector = TlsConnector::from(authority.client(BOTH, alpn));
        let shaken = connector.connect(ServerName::try_from(name).unwrap(), stream);
        let shaken = shaken.await;
        assert_eq!(shaken.is_ok(), is_served, "{name} {alpn:?}: {shaken:?}");
        if let Err(error) = shaken {
            let told = error.to_string();
            assert!(!told.contains("invalid peer certificate"), "{name}: {told}");
        }
    }
}

fn flags(directory: &str) -> [String; 2] {
    [
        format!("--https-domain={NAME}"),
        format!("--acme-directory=https://{directory}/dir"),
    ]
}

#[test]
fn an_authority_that_is_away_is_asked_once_over_ten_restarts_and_the_reason_is_told() {
    let authority = Authority::new();
    let dir = private_dir();
    // Whoever connects is hung up on.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = listener.local_addr().unwrap().to_string();
    let asked = thread::spawn(move || {
        listener.incoming().take(1).for_each(drop);
        listener.set_nonblocking(true).unwrap();
        listener
    });
    let root = authority.pair("root").chain;
    let start = || {
        let mut command = command(dir.path());
        Program::start(command.args(flags(&directory)).env("SSL_CERT_FILE", &root))
    };
    let program = start();
    let failed = || status(dir.path())["certificate_order"]["failures"] == 1;
    until(|| failed() && !status(dir.path())["last_error"].is_null());
    let order = status(dir.path())["certificate_order"].clone();
    let told = order["error"].to_string();
    assert!(told.contains("the authority cannot be reached: "), "{told}");
    // No certificate: nobody is served, and nobody hangs.
    let config = authority.client(BOTH, &[]);
    let mut client = ClientConnection::new(config, ServerName::try_from(NAME).unwrap()).unwrap();
    let mut stream = std::net::TcpStream::connect(&program.address).unwrap();
    assert!(client.complete_io(&mut stream).is_err());
    let shown = Ran::of(landing_api(&["status", "--data-dir"]).arg(dir.path())).done();
    assert!(shown.out.contains("failed 1 time in a row"), "{shown:?}");
    let log = program.stopped();
    let failures = log.matches("ordering a certificate failed").count();
    assert_eq!(failures, 1, "{log}");
    for _ in 0..10 {
        let program = start();
        assert_eq!(status(dir.path())["certificate_order"], order);
        let log = program.stopped();
        assert!(!log.contains("ordering a certificate"), "{log}");
    }
    assert!(asked.join().unwrap().accept().is_err(), "asked again");
    let mut check = landing_api(&["check", "--listen=127.0.0.1:0", "--data-dir"]);
    let check = check.arg(dir.path()).args(flags(&directory));
    let checked = Ran::of(check.env("SSL_CERT_FILE", &root));
    let told = "failed   certificate: there is none: the authority cannot be reached: ";
    assert!(checked.out.contains(told), "{checked:?}");
    let tls = dir.path().join("tls");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&tls), mode(&tls.join("acme.json"))), (0o700, 0o600));
}

#[tokio::test]
async fn an_order_that_is_refused_is_told_in_words_and_the_account_is_kept() {
    for (kind, told, accounts) in [
        ("rateLimited", "the order: refused as rateLimited", 1),
        ("caa", "the order: refused as caa", 1),
        ("accountDoesNotExist", "the next order creates a new one", 3),
    ] {
        let vouching = Authority::new();
        let scripted = ScriptedAuthority::refusing(&vouching, kind).await;
        let dir = private_dir();
        let open = || ordered_from(&scripted, &dir.path().join("tls"), &[NAME]);
        let mut now = day("2026-01-01");
        for (nth, minutes) in [(1, 10), (2, 20), (3, 40)] {
            // Each time like after a restart.
            let acme = open();
            assert!(acme.last_order(now).next_at <= now, "{kind} {nth}");
            let why = acme.order(now).await.unwrap_err();
            assert!(why.contains(told), "{kind}: {why}");
            assert!(why.contains("as the test wants it"), "{why}");
            let again = open();
            let order = again.last_order(now);
            assert_eq!((order.failures, order.error), (nth, Some(why)));
            assert_eq!(order.next_at.ms_since(now), minutes * 60_000);
            assert_eq!(scripted.asked("/order"), nth as usize);
            now = order.next_at;
        }
        assert_eq!(scripted.asked("/account"), accounts, "{kind}");
        let state = dir.path().join("tls/acme.json");
        let mode = fs::metadata(state).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn an_authority_behind_a_proxy_that_fails_is_not_taken_for_another_service() {
    let vouching = Authority::new();
    let scripted = ScriptedAuthority::refusing(&vouching, PAGE).await;
    let dir = private_dir();
    let acme = ordered_from(&scripted, &dir.path().join("tls"), &[NAME]);
    let why = acme.order(day("2026-01-01")).await.unwrap_err();
    assert_eq!(why, "the authority responded with 502 Bad Gateway");
}

#[tokio::test]
async fn names_that_fail_are_left_out_and_tried_again_while_the_others_are_served() {
    const BAD: &str = "b.landing.example";
    for kind in ["dns", "caa", "rejectedIdentifier"] {
        let told = format!("{BAD}: refused as {kind}");
        let vouching = Authority::new();
        let scripted = ScriptedAuthority::failing(&vouching, &[(BAD, kind)]).await;
        let dir = private_dir();
        let mut now = day("2026-01-01");
        // That of another authority is replaced.
        let old = vouching.pair("old");
        keep(dir.path(), &old, &issued(now));
        let acme = ordered_from(&scripted, dir.path(), &[NAME, BAD]);
        for failures in 1..4 {
            // The first time a certificate is given. Later none is, because the one in use has all other names.
            let ordered = acme.order(now).await;
            assert_eq!(ordered.is_ok(), failures == 1, "{kind}: {ordered:?}");
            let presented = acme.certificate.presented().unwrap();
            assert_ne!(presented, old.certificate.as_ref(), "{kind}");
            let last = acme.last_order(now);
            let why = last.error.unwrap_or_default();
            let is_told = why.contains(&told) && !why.contains(" landing.example");
            assert!(is_told, "{why}");
            assert_eq!(last.failures, failures, "{kind}");
            assert!(last.next_at > now, "{kind}");
            assert_eq!(scripted.asked("/certificate"), 1, "{kind}");
            now = last.next_at;
        }
        scripted.repair();
        acme.order(now).await.unwrap();
        let last = acme.last_order(now);
        assert_eq!((last.failures, last.error), (0, None), "{kind}");
        assert_eq!(scripted.asked("/certificate"), 2, "{kind}");
    }
}

#[tokio::test]
async fn no_name_with_a_certificate_is_every_name_told() {
    let vouching = Authority::new();
    let scripted = ScriptedAuthority::failing(&vouching, &[(NAME, "connection")]).await;
    let dir = private_dir();
    let acme = ordered_from(&scripted, dir.path(), &[NAME]);
    let why = acme.order(day("2026-01-01")).await.unwrap_err();
    let told = "landing.example: the authority did not reach this service at port 443";
    assert!(why.contains(told), "{why}");
    let told = "(the authority: as [31m the test wants it)";
    assert!(why.ends_with(told), "{why:?}");
    assert!(acme.certificate.presented().is_none());
}

#[tokio::test]
async fn nothing_is_ordered_where_nothing_can_be_kept() {
    let vouching = Authority::new();
    let scripted = ScriptedAuthority::refusing(&vouching, "caa").await;
    let dir = private_dir();
    // In the way of what is written beside its place.
    fs::create_dir(dir.path().join("acme.new")).unwrap();
    let acme = ordered_from(&scripted, dir.path(), &[NAME]);
    let now = day("2026-01-01");
    let why = acme.order(now).await.unwrap_err();
    let told = "nothing is ordered, because it cannot be stored: ";
    assert!(why.starts_with(told), "{why}");
    assert_eq!(scripted.asked("/dir"), 0);
    assert_eq!(acme.last_order(now).next_at.ms_since(now), 10 * 60_000);
}

#[tokio::test]
async fn an_authority_that_nobody_vouches_for_learns_nothing() {
    let scripted = ScriptedAuthority::refusing(&Authority::new(), "caa").await;
    let dir = private_dir();
    let stranger = Roots::of([Authority::new().root]);
    let acme = AcmeClient::open(settings(dir.path(), &[NAME], &scripted.url, stranger)).unwrap();
    let why = acme.order(day("2026-01-01")).await.unwrap_err();
    assert!(
        why.starts_with("the authority cannot be reached: "),
        "{why}"
    );
    assert!(why.contains("certificate"), "{why}");
    assert_eq!(scripted.asked("/dir"), 0);
}

#[test]
fn doctor_tells_that_the_authority_cannot_reach_the_name() {
    let authority = Authority::new();
    let root = authority.pair("root").chain;
    let (dir, _service) = Program::fresh(&[]);
    let mut doctor = landing_api(&["doctor", "--listen=127.0.0.1:0", "--data-dir"]);
    let doctor = doctor.arg(dir.path()).arg("--https-domain=name.invalid");
    let found = Ran::of(doctor.env("SSL_CERT_FILE", &root)).out;
    let mut lines = found.lines();
    let line = lines.find(|line| line.contains("  name: ")).unwrap();
    let told = "failed   name: https://name.invalid: ";
    assert!(line.starts_with(told), "{line}");
    let told = "; the certificate authority must reach this service at port 443 of the name";
    assert!(line.contains(told), "{line}");
}

#[test]
fn a_file_in_place_of_the_directory_ends_a_start_in_one_line() {
    let authority = Authority::new();
    let dir = private_dir();
    fs::write(dir.path().join("tls"), "a file").unwrap();
    let pair = authority.pair("root");
    let mut command = command(dir.path());
    let command = command.args(flags(&closed_address()));
    let started = Ran::of(command.env("SSL_CERT_FILE", &pair.chain));
    started.refused_in_a_line(2, "--https-domain: ");
}

#[test]
fn the_first_domain_is_the_base_url() {
    let authority = Authority::new();
    let pair = authority.pair("one");
    let dir = private_dir();
    let directory = closed_address();
    fs::create_dir(dir.path().join("tls")).unwrap();
    let mut order = issued(Timestamp::default());
    let address = format!("https://{directory}/dir");
    order["directory"] = json!(address);
    order["issued_by"] = json!(address);
    keep(&dir.path().join("tls"), &pair, &order);
    let mut command = command(dir.path());
    let command = command.args(flags(&directory));
    let program = Program::start(command.env("SSL_CERT_FILE", &pair.chain));
    let config = authority.client(BOTH, &["http/1.1"]);
    let (presented, answer) = ask(&program.address, &config);
    assert_eq!(presented, pair.certificate);
    assert_present(&answer, &["strict-transport-security: max-age="]);
    assert!(answer.contains(&format!("https://{NAME}/")), "{answer}");
    let told = status(dir.path());
    assert_eq!(told["certificate_expires_at"], "2500-01-01T00:00:00.000Z");
    assert_eq!(told["certificate_order"]["failures"], 0);
    let log = program.stopped();
    assert!(!log.contains("ordering a certificate"), "{log}");
}
