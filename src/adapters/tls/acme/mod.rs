//! The service's certificate by ACME (RFC 8555): ordered, renewed and stored in `DATA_DIR/tls`.
//!
//! The authority verifies the service on its own port 443 (TLS-ALPN-01), so that no other port has to be open. The
//! certificate in use stays until the next one is complete.

mod conversation;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::domain::certificate_order::order_due;
use crate::domain::macros::hidden;
use crate::domain::time::Timestamp;
use crate::metrics::CertificateOrder;

use crate::adapters::files::data_dir::create_private;
use crate::adapters::files::{SystemFiles, if_there, operator_file, write_whole};
use crate::adapters::outbound::Roots;
use crate::adapters::tls::{Certificate, OwnCertificate, chain_in};

/// The files in `DATA_DIR/tls`: the certificate with its key, so that they always match; and the account with the last order.
const CERTIFICATE: &str = "certificate.pem";
const STATE: &str = "acme.json";

/// Longest reason of a failure, in characters.
const REASON_MAX: usize = 4000;

/// The order's parameters, and the directory for its files.
#[derive(Debug)]
pub struct AcmeSettings {
    /// Names of the certificate.
    pub names: Vec<String>,
    /// The address of the authority's directory.
    pub directory: String,
    /// `DATA_DIR/tls`.
    pub dir: PathBuf,
    /// Certificate authorities of the authority's own server.
    pub roots: Roots,
}

/// Orders and renews the service's certificate at an ACME authority.
#[derive(Debug)]
pub struct AcmeClient {
    settings: AcmeSettings,
    /// The certificate in use.
    pub certificate: Arc<OwnCertificate>,
    state: Mutex<State>,
}

impl AcmeClient {
    /// Reads the stored files. Writes nothing.
    ///
    /// # Errors
    /// The reason why they cannot be used, in one line.
    pub fn open(settings: AcmeSettings) -> Result<Self, String> {
        let at = |error: io::Error| format!("--https-domain: {}: {error}", settings.dir.display());
        let damaged = |why: String| {
            let why = format!("certificate.pem {why}: remove it to order a new one");
            at(io::Error::other(why))
        };
        let stored = if_there(operator_file::read(&settings.dir.join(CERTIFICATE))).map_err(at)?;
        let certificate = stored.map(|pem| parse(&pem).map_err(damaged));
        let certificate = certificate.transpose()?;
        let state = State::read(&settings.dir).map_err(at)?;
        let state = state.of(&settings.directory, &settings.names);
        let certificate = OwnCertificate {
            current: RwLock::new(certificate),
            names: settings.names.clone(),
            ..OwnCertificate::default()
        };
        Ok(Self {
            certificate: Arc::new(certificate),
            state: Mutex::new(state),
            settings,
        })
    }

    /// The last order, and the time of the next one, which is not in the past.
    pub fn last_order(&self, now: Timestamp) -> CertificateOrder {
        let state = self.state.lock().clone();
        let at = state.at_ms.map(Timestamp::from_ms);
        let last = at.map(|at| (at, state.failures));
        CertificateOrder {
            at,
            failures: state.failures,
            error: state.error,
            next_at: self.due(&self.settings.names, last, now).max(now),
        }
    }

    /// When an order for these names is due.
    fn due(&self, names: &[String], last: Option<(Timestamp, u32)>, now: Timestamp) -> Timestamp {
        let state = self.state.lock();
        let of_authority = state.issued_by.as_ref() == Some(&state.directory);
        let covers = |held: &Certificate| names.iter().all(|name| held.is_for(name));
        let wanted =
            |held: &Certificate| (of_authority && covers(held)).then(|| held.validity.clone());
        let validity = self.certificate.of_current(wanted).flatten();
        order_due(validity.as_ref(), last, now)
    }

    /// Orders a certificate, and uses it from the next connection on.
    ///
    /// # Errors
    /// The reason why there is none, and the old one stays; or why the new one is used, but not stored.
    pub async fn order(&self, now: Timestamp) -> Result<(), String> {
        {
            let mut state = self.state.lock();
            state.at_ms = Some(now.as_ms());
            state.failures = state.failures.saturating_add(1);
            state.error = Some("it was interrupted".to_owned());
        }
        // Without storage nothing is ordered: every restart would use up one of the authority's few orders.
        let unkept = |error| format!("nothing is ordered, because it cannot be stored: {error}");
        self.store().await.map_err(unkept)?;
        let ordered = self.certificate(now).await;
        self.certificate.proofs.write().clear();
        let (pem, certificate, left_out) = match ordered {
            Ok(ordered) => ordered,
            Err(why) => {
                self.state.lock().error = Some(why.clone());
                // If storing this fails, the stored order stays, which is marked as failed.
                let _ = self.store().await;
                return Err(why);
            }
        };
        *self.certificate.current.write() = Some(certificate);
        {
            let mut state = self.state.lock();
            state.issued_by = Some(state.directory.clone());
            if left_out.is_none() {
                state.failures = 0;
            }
            state.error = left_out;
        }
        let mut kept = keep(&self.settings.dir, CERTIFICATE, pem.into_bytes()).await;
        // One that is not stored is not there at the next start, which goes by the stored state.
        if kept.is_ok() {
            kept = self.store().await;
        }
        kept.map_err(|error| {
            let why = format!(
                "the certificate is used, but not stored: the next start orders another one: {error}"
            );
            self.state.lock().error = Some(why.clone());
            why
        })
    }

    async fn store(&self) -> io::Result<()> {
        let state = serde_json::to_vec(&*self.state.lock())?;
        keep(&self.settings.dir, STATE, state).await
    }

    /// A matching chain and key, in PEM and parsed. If some names fail, it is for the others, and their reason comes
    /// with it, unless the one in use is already for them: authorities issue few for the same names.
    async fn certificate(
        &self,
        now: Timestamp,
    ) -> Result<(String, Certificate, Option<String>), String> {
        let mut names = self.settings.names.clone();
        let mut left_out: Option<String> = None;
        let pem = loop {
            let refusal = match self.ordered(&names).await {
                Ok(pem) => break pem,
                Err(refusal) => refusal,
            };
            let asked = names.len();
            names.retain(|name| !refusal.blames(name));
            let why = left_out.into_iter().chain([refusal.words]);
            let why = why.collect::<Vec<_>>().join("; ");
            // The file that stores it has a size limit.
            let why: String = why.chars().take(REASON_MAX).collect();
            if names.is_empty() || names.len() == asked || self.due(&names, None, now) > now {
                return Err(why);
            }
            left_out = Some(why);
        };
        let of_authority = |why| format!("the authority's certificate {why}");
        let certificate = parse(&pem).map_err(of_authority)?;
        match names.iter().find(|name| !certificate.is_for(name)) {
            Some(name) => Err(of_authority(format!("is not for {name}"))),
            None => Ok((pem, certificate, left_out)),
        }
    }
}

fn parse(pem: &str) -> Result<Certificate, String> {
    Certificate::new(chain_in(pem.as_bytes())?, pem.as_bytes())
}

/// A self-signed certificate with the digest in it.
fn proof(name: &str, digest: &[u8]) -> Result<Arc<CertifiedKey>, rcgen::Error> {
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let chain = vec![certificate.der().clone()];
    let key = ring::sign::any_supported_type(&private);
    let key = key.map_err(|_unusable| rcgen::Error::CouldNotParseKeyPair)?;
    // Key and certificate are not compared: the parser rejects the critical extension of a proof.
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// The account and the last order.
#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    directory: String,
    names: Vec<String>,
    /// Start of the last order. It is stored as failed before it begins.
    at_ms: Option<u64>,
    failures: u32,
    /// The reason why it failed.
    error: Option<String>,
    /// The authority that issued the certificate in use.
    issued_by: Option<String>,
    /// The account's credentials, which the library cannot copy.
    account: Option<Value>,
}

hidden!(State);

impl State {
    /// The same for these settings: another authority needs another account, and orders of other names do not count.
    fn of(self, directory: &str, names: &[String]) -> Self {
        let is_same_authority = self.directory == directory;
        if is_same_authority && self.names == names {
            return self;
        }
        Self {
            directory: directory.to_owned(),
            names: names.to_vec(),
            account: self.account.filter(|_| is_same_authority),
            issued_by: self.issued_by,
            ..Self::default()
        }
    }

    fn read(dir: &Path) -> io::Result<Self> {
        let path = dir.join(STATE);
        let Some(text) = if_there(operator_file::read(&path))? else {
            return Ok(Self::default());
        };
        // The parser's error might quote a key.
        serde_json::from_str(&text)
            .map_err(|_error| io::Error::other(format!("{} is damaged: remove it", path.display())))
    }
}

/// Replaces a file in the directory.
async fn keep(dir: &Path, name: &'static str, bytes: Vec<u8>) -> io::Result<()> {
    let dir = dir.to_path_buf();
    let written = spawn_blocking(move || {
        create_private(&SystemFiles, &dir)?;
        write_whole(&SystemFiles, &dir.join(name), &bytes)
    });
    written.await?
}
