//! The certificate of the service's own TLS, from two files of the operator that may change while it runs,
//! and how TLS is spoken with it.
//!
//! Certificates live for weeks, so whatever renews them replaces the files. They are read again, and the new
//! ones are used from the next connection on if they fit together. Otherwise the old ones stay: the two
//! files are written one after the other.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

use crate::domain::Timestamp;

use super::operator_file;

/// A chain of certificates, and the key of the first one.
#[derive(Debug)]
struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Range<Timestamp>,
}

/// What the files held, to see whether they changed.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    chain: String,
    key: Vec<u8>,
}

/// A certificate in files.
#[derive(Debug)]
pub struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    contents: Mutex<Contents>,
    current: Arc<Current>,
}

/// The certificate that new connections get, whatever name they ask for.
#[derive(Debug)]
struct Current(RwLock<Certificate>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().key))
    }
}

impl CertificateFiles {
    /// The chain in the PEM file `chain`, its own certificate first, and its private key in the PEM file
    /// `key`, which others may not read.
    ///
    /// # Errors
    /// Why they cannot be used, in one line that begins with the flag of the file.
    pub fn open(chain: &Path, key: &Path) -> Result<Self, String> {
        let contents = read(chain, key)?;
        let certificate = parse(&contents, chain, key)?;
        Ok(Self {
            chain: chain.to_path_buf(),
            key: key.to_path_buf(),
            contents: Mutex::new(contents),
            current: Arc::new(Current(RwLock::new(certificate))),
        })
    }

    /// Reads the files again, and returns whether they hold another certificate, which is used from now on.
    ///
    /// # Errors
    /// As [`Self::open`]. The certificate stays then.
    pub fn reread(&self) -> Result<bool, String> {
        let read = read(&self.chain, &self.key)?;
        let mut contents = self.contents.lock();
        if *contents == read {
            return Ok(false);
        }
        *self.current.0.write() = parse(&read, &self.chain, &self.key)?;
        *contents = read;
        Ok(true)
    }

    /// From when until when the certificate is valid.
    pub fn validity(&self) -> Range<Timestamp> {
        self.current.0.read().validity.clone()
    }

    /// How TLS is spoken: 1.2 or 1.3. rustls never renegotiates.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn tls(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.current) as _);
        // Clients keep the sessions, under a key that changes every six hours and is forgotten after twelve.
        config.ticketer = ring::Ticketer::new()?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Arc::new(config))
    }
}

fn read(chain: &Path, key: &Path) -> Result<Contents, String> {
    Ok(Contents {
        chain: operator_file::read(chain).map_err(|error| of_chain(chain, error))?,
        key: operator_file::read_secret_bytes(key).map_err(|error| of_key(key, error))?,
    })
}

fn parse(contents: &Contents, chain: &Path, key: &Path) -> Result<Certificate, String> {
    let certificates = CertificateDer::pem_slice_iter(contents.chain.as_bytes());
    let certificates: Vec<_> = certificates
        .collect::<Result<_, _>>()
        .map_err(|error| of_chain(chain, error))?;
    let Some(first) = certificates.first() else {
        return Err(of_chain(chain, "holds no certificate in PEM"));
    };
    let parsed = x509_cert::Certificate::from_der(first);
    let validity = parsed
        .map_err(|error| of_chain(chain, format_args!("its first certificate: {error}")))?
        .tbs_certificate
        .validity;
    // The parser's error might quote the file.
    let private = PrivateKeyDer::from_pem_slice(&contents.key)
        .map_err(|_error| of_key(key, "holds no private key in PEM, or an encrypted one"))?;
    let certified = CertifiedKey::from_der(certificates, private, &ring::default_provider());
    let certified = certified.map_err(|error| {
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            let chain = chain.display();
            let foreign = format_args!("is not the key of the first certificate in {chain}");
            return of_key(key, foreign);
        }
        of_key(key, error)
    })?;
    Ok(Certificate {
        key: Arc::new(certified),
        validity: timestamp(validity.not_before)..timestamp(validity.not_after),
    })
}

fn timestamp(time: Time) -> Timestamp {
    let ms = time.to_unix_duration().as_millis();
    Timestamp::from_ms(u64::try_from(ms).unwrap_or(u64::MAX))
}

fn of_chain(path: &Path, why: impl std::fmt::Display) -> String {
    format!("--tls-cert: {}: {why}", path.display())
}

fn of_key(path: &Path, why: impl std::fmt::Display) -> String {
    format!("--tls-key: {}: {why}", path.display())
}
