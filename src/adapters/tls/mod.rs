//! Certificates and configuration of the built-in TLS; and a certificate from two of the operator's files, which may
//! change while the service runs.
//!
//! Certificates last for weeks, so the program that renews them replaces the files. The files are reread, and a new
//! certificate is used from the next connection on if it matches its key. Otherwise the old one stays: the two files
//! are written one after the other.
//!
//! [`acme`] orders a certificate.

pub mod acme;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::server::{
    ClientHello, NoServerSessionStorage, ParsedCertificate, ResolvesServerCert,
};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

use crate::domain::Timestamp;

use crate::adapters::files::{operator_file, pem};

/// The protocol of an authority's verification, as the authority offers it (RFC 8737).
pub(super) const ACME_TLS: &[u8] = b"acme-tls/1";

/// A chain of certificates, and the key of the first one.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) validity: Range<Timestamp>,
}

/// The certificates of a chain, and the validity of the first one.
type Chain = (Vec<CertificateDer<'static>>, Range<Timestamp>);

/// A chain in PEM, its own certificate first.
pub(super) fn chain_in(pem: &[u8]) -> Result<Chain, String> {
    let certificates = pem::certificates(pem)?.into_iter();
    let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
    let first = certificates.first().map_or(&[][..], |first| first.as_ref());
    let parsed = x509_cert::Certificate::from_der(first)
        .map_err(|error| format!("its first certificate: {error}"))?;
    let validity = parsed.tbs_certificate.validity;
    let validity = timestamp(validity.not_before)..timestamp(validity.not_after);
    Ok((certificates, validity))
}

impl Certificate {
    /// A chain with its key in PEM. No error quotes it.
    pub(super) fn new((certificates, validity): Chain, key: &[u8]) -> Result<Self, String> {
        let private = pem::private_key(key)?;
        let certified = CertifiedKey::from_der(certificates, private, &ring::default_provider());
        let key = certified.map_err(|error| {
            if matches!(error, tokio_rustls::rustls::Error::InconsistentKeys(_)) {
                return "holds a key that does not match the first certificate".to_owned();
            }
            format!(
                "holds a key that cannot be used: use P-256, P-384, Ed25519, or RSA of 2048 to 4096 bits ({error})"
            )
        })?;
        Ok(Self {
            key: Arc::new(key),
            validity,
        })
    }

    /// True if it is for `name`.
    pub(super) fn is_for(&self, name: &str) -> bool {
        let first = self.key.cert.first();
        let parsed = first.and_then(|der| ParsedCertificate::try_from(der).ok());
        let name = ServerName::try_from(name).ok();
        parsed
            .zip(name)
            .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
    }
}

/// The TLS configuration: 1.2 and 1.3. rustls never renegotiates.
///
/// # Errors
/// When there is no randomness.
pub(super) fn server_config(
    certificates: Arc<dyn ResolvesServerCert>,
) -> Result<ServerConfig, tokio_rustls::rustls::Error> {
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    // Clients store the sessions, under a key that changes every six hours and is dropped after twelve.
    config.ticketer = ring::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// A certificate in files, presented to new connections, whatever name they ask for.
#[derive(Debug)]
pub struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    current: RwLock<Certificate>,
}

impl ResolvesServerCert for CertificateFiles {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().key))
    }
}

impl CertificateFiles {
    /// The chain in the PEM file `chain`, its own certificate first, and its private key in the PEM file
    /// `key`, which others may not read.
    ///
    /// # Errors
    /// The reason why they cannot be used, in one line that begins with the file's flag.
    pub fn open(chain: &Path, key: &Path) -> Result<Self, String> {
        Ok(Self {
            chain: chain.to_path_buf(),
            key: key.to_path_buf(),
            current: RwLock::new(read(chain, key)?),
        })
    }

    /// Rereads the files, and returns whether they hold another certificate, which is then in use.
    ///
    /// # Errors
    /// As [`Self::open`]. The old certificate stays.
    pub fn reread(&self) -> Result<bool, String> {
        let read = read(&self.chain, &self.key)?;
        let mut current = self.current.write();
        let is_another = current.key.cert != read.key.cert;
        *current = read;
        Ok(is_another)
    }

    /// Validity of the certificate.
    pub fn validity(&self) -> Range<Timestamp> {
        self.current.read().validity.clone()
    }

    /// The TLS configuration with this certificate.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn tls(self: &Arc<Self>) -> Result<Arc<ServerConfig>, tokio_rustls::rustls::Error> {
        server_config(Arc::clone(self) as _).map(Arc::new)
    }
}

fn read(chain: &Path, key: &Path) -> Result<Certificate, String> {
    let found = operator_file::read_bytes(chain).map_err(|error| error.to_string());
    let found = found.and_then(|pem| chain_in(&pem));
    let found = found.map_err(|why| format!("--tls-cert: {}: {why}", chain.display()))?;
    let private = operator_file::read_secret_bytes(key).map_err(|error| error.to_string());
    let certificate = private.and_then(|pem| Certificate::new(found, &pem));
    certificate.map_err(|why| format!("--tls-key: {}: {why}", key.display()))
}

fn timestamp(time: Time) -> Timestamp {
    let ms = time.to_unix_duration().as_millis();
    Timestamp::from_ms(u64::try_from(ms).unwrap_or(u64::MAX))
}
