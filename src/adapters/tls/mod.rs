//! The certificate and configuration of the built-in TLS. The certificate is from two of the operator's files, which may
//! change while the service runs, or ordered.
//!
//! Certificates last for weeks, so the program that renews them replaces the files. The files are reread, and a new
//! certificate is used from the next connection on if it matches its key. Otherwise the old one stays: the two files
//! are written one after the other.
//!
//! [`acme`] orders a certificate.

pub mod acme;

use std::collections::HashMap;
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

use crate::domain::{Timestamp, is_same_host};

use crate::adapters::files::{operator_file, pem};

/// The protocol of an authority's verification, as the authority offers it (RFC 8737).
const ACME_TLS: &[u8] = b"acme-tls/1";

/// A chain of certificates, and the key of the first one.
#[derive(Debug)]
struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Range<Timestamp>,
}

/// The certificates of a chain, and the validity of the first one.
type Chain = (Vec<CertificateDer<'static>>, Range<Timestamp>);

/// A chain in PEM, its own certificate first.
fn chain_in(pem: &[u8]) -> Result<Chain, String> {
    let certificates = pem::certificates(pem)?.into_iter();
    let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
    let mut first = None;
    for (der, number) in certificates.iter().zip(1..) {
        let parsed = x509_cert::Certificate::from_der(der)
            .map_err(|error| format!("its certificate {number}: {error}"))?;
        first.get_or_insert(parsed.tbs_certificate.validity);
    }
    let validity = first.ok_or("holds no certificate in PEM")?;
    let validity = timestamp(validity.not_before)..timestamp(validity.not_after);
    Ok((certificates, validity))
}

impl Certificate {
    /// A chain with its key in PEM. No error quotes it.
    fn new((certificates, validity): Chain, key: &[u8]) -> Result<Self, String> {
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
    fn is_for(&self, name: &str) -> bool {
        let first = self.key.cert.first();
        let parsed = first.and_then(|der| ParsedCertificate::try_from(der).ok());
        let name = ServerName::try_from(name).ok();
        parsed
            .zip(name)
            .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
    }
}

/// The certificate of the built-in TLS, presented to new connections: from files, or ordered.
#[derive(Debug, Default)]
pub struct OwnCertificate {
    current: RwLock<Option<Certificate>>,
    /// The files of its chain and its key; `None` if it is ordered.
    files: Option<[PathBuf; 2]>,
    /// The names of an ordered one: it is presented to no others.
    names: Vec<String>,
    /// The proofs that an authority asks for, by name. Empty except during an order.
    proofs: RwLock<HashMap<String, Arc<CertifiedKey>>>,
}

/// Presents the certificate, or during an order the proof that the authority asks for (TLS-ALPN-01, RFC 8737).
impl ResolvesServerCert for OwnCertificate {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or_default();
        let mut offered = hello.alpn().into_iter().flatten();
        if offered.any(|protocol| protocol == ACME_TLS) {
            let proofs = self.proofs.read();
            let mut found = proofs.iter().filter(|(of, _)| is_same_host(of, name));
            return found.next().map(|(_, proof)| Arc::clone(proof));
        }
        let is_ours = self.names.iter().any(|ours| is_same_host(ours, name));
        let key = self.of_current(|current| Arc::clone(&current.key));
        key.filter(|_| is_ours || self.names.is_empty())
    }
}

impl OwnCertificate {
    /// The chain in the PEM file `chain`, its own certificate first, and its private key in the PEM file
    /// `key`, which others may not read.
    ///
    /// # Errors
    /// The reason why they cannot be used, in one line that begins with the file's flag.
    pub fn open(chain: &Path, key: &Path) -> Result<Self, String> {
        let certificate = Self {
            files: Some([chain.to_path_buf(), key.to_path_buf()]),
            ..Self::default()
        };
        certificate.reread()?;
        Ok(certificate)
    }

    /// Rereads the files, and returns whether they hold another certificate, which is then in use. Always false for an
    /// ordered certificate, which has no files.
    ///
    /// # Errors
    /// As [`Self::open`]. The old certificate stays.
    pub fn reread(&self) -> Result<bool, String> {
        let Some([chain, key]) = &self.files else {
            return Ok(false);
        };
        let read = read(chain, key)?;
        let is_same = self.of_current(|current| current.key.cert == read.key.cert);
        *self.current.write() = Some(read);
        Ok(is_same != Some(true))
    }

    /// The result of `of` for the certificate in use, if there is one.
    fn of_current<T>(&self, of: impl FnOnce(&Certificate) -> T) -> Option<T> {
        self.current.read().as_ref().map(of)
    }

    /// Validity of the certificate in use; `None` if there is none yet.
    pub fn validity(&self) -> Option<Range<Timestamp>> {
        self.of_current(|current| current.validity.clone())
    }

    /// The certificate in use, in DER; `None` if there is none yet.
    pub fn presented(&self) -> Option<Vec<u8>> {
        let first = |current: &Certificate| current.key.cert.first().map(|der| der.to_vec());
        self.of_current(first).flatten()
    }

    /// The TLS configuration with this certificate: 1.2 and 1.3. rustls never renegotiates. Without a certificate, every
    /// handshake except the authority's fails.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn tls(self: &Arc<Self>) -> Result<Arc<ServerConfig>, tokio_rustls::rustls::Error> {
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as _);
        // Clients store the sessions, under a key that changes every six hours and is dropped after twelve.
        config.ticketer = ring::Ticketer::new()?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if self.files.is_none() {
            config.alpn_protocols = vec![ACME_TLS.to_vec()];
        }
        Ok(Arc::new(config))
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
