//! TLS of the benches: a certificate in files, and both sides of it. No session is resumed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

pub(crate) fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// The certificate, and its key.
fn files(dir: &Path) -> [PathBuf; 2] {
    ["cert.pem", "key.pem"].map(|name| dir.join(name))
}

/// Puts a certificate for [`name`] into `dir`. Returns the flags of the service, and a connector that trusts it.
pub(crate) fn make(dir: &Path) -> ([String; 2], TlsConnector) {
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let [chain_file, key_file] = files(dir);
    fs::write(&chain_file, certificate.pem()).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.resumption = Resumption::disabled();
    let flags = [
        format!("--tls-cert={}", chain_file.display()),
        format!("--tls-key={}", key_file.display()),
    ];
    (flags, TlsConnector::from(Arc::new(config)))
}

/// The server's side of the certificate in `dir`.
pub(crate) fn acceptor(dir: &Path) -> TlsAcceptor {
    let [chain, key] = files(dir);
    let chain = CertificateDer::pem_file_iter(chain).unwrap();
    let chain = chain.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    TlsAcceptor::from(Arc::new(config.unwrap()))
}
