//! Handshakes that do not end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::harness::{ATTACKER, Pace, Trial, Verdict};
use super::honest::Visits;
use super::wire::Wire;
use crate::Run;

const CONNECTIONS_MAX: usize = 4096;
/// What one address may hold of them.
const SHARE: usize = CONNECTIONS_MAX / 8;

/// One address begins thousands of handshakes and finishes none: silent, amid its first message, and after it, which
/// is when the service signs.
pub(super) async fn half_open(run: Run) -> Verdict {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) = (dir.path().join("chain.pem"), dir.path().join("key.pem"));
    fs::write(&chain, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let mut hello = Vec::new();
    let mut client =
        ClientConnection::new(Arc::clone(&config), "localhost".try_into().unwrap()).unwrap();
    client.write_tls(&mut hello).unwrap();

    let flags = [
        format!("--tls-cert={}", chain.display()),
        format!("--tls-key={}", key.display()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let trial = Trial::begin_with(run, &flags, Visits::All, Some(config)).await;
    let said = [&[][..], &hello[..hello.len() / 2], &hello];
    let (mut held, mut pace) = (Vec::new(), Pace::of(500));
    for number in 0..run.of(3_000, 200_000) {
        pace.step().await;
        // The service may reset it at once.
        if let Ok(mut wire) = Wire::connect(ATTACKER, trial.address).await
            && wire.send(said[number % said.len()]).await.is_ok()
        {
            held.push(wire);
        }
        if number % 1000 == 0 {
            trial.expect_held(ATTACKER, SHARE).await;
            // Most have ended, but each is a file of this program until it lets go.
            held.drain(..held.len().saturating_sub(CONNECTIONS_MAX));
        }
    }
    drop(held);
    trial.end().await
}
