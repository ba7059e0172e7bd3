//! The service's certificate by ACME (RFC 8555): ordered, renewed and stored in `DATA_DIR/tls`.
//!
//! The authority verifies the service on its own port 443 (TLS-ALPN-01), so that no other port has to be open. The
//! certificate in use stays until the next one is complete.

mod answers;
mod conversation;
mod http;
mod kept;

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;

use crate::domain::certificate_order::order_due;
use crate::domain::time::Timestamp;
use crate::metrics::CertificateOrder;

use self::answers::Answers;
use self::kept::{CERTIFICATE, STATE, State, keep};

use crate::adapters::files::{if_there, operator_file};
use crate::adapters::outbound::Roots;
use crate::adapters::tls::{ACME_TLS, Certificate, server_config};

/// Longest reason of a failure, in characters.
const REASON_MAX: usize = 4000;

/// The order's parameters, and the directory for its files.
#[derive(Debug)]
pub struct AcmeSettings {
    /// Names of the certificate.
    pub names: Vec<String>,
    /// Contact address for the authority.
    pub email: Option<String>,
    /// The address of the authority's directory.
    pub directory: String,
    /// `DATA_DIR/tls`.
    pub dir: PathBuf,
    /// Certificate authorities of the authority's own server.
    pub roots: Roots,
    /// The service's listening address.
    pub listen: SocketAddr,
}

/// A certificate that the service orders itself.
#[derive(Debug)]
pub struct AcmeCertificate {
    settings: AcmeSettings,
    answers: Arc<Answers>,
    state: Mutex<State>,
}

impl AcmeCertificate {
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
        let email = settings.email.as_deref();
        let state = state.of(&settings.directory, &settings.names, email);
        Ok(Self {
            answers: Arc::new(Answers {
                names: settings.names.clone(),
                certificate: RwLock::new(certificate),
                proofs: RwLock::default(),
            }),
            state: Mutex::new(state),
            settings,
        })
    }

    /// The TLS configuration. Without a certificate, every handshake except the authority's fails.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn tls(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = server_config(Arc::clone(&self.answers) as _)?;
        config.alpn_protocols = vec![ACME_TLS.to_vec()];
        Ok(Arc::new(config))
    }

    /// Validity of the certificate in use; `None` if there is none.
    pub fn validity(&self) -> Option<Range<Timestamp>> {
        self.answers.of_certificate(|found| found.validity.clone())
    }

    /// The certificate in use, in DER; `None` if there is none.
    pub fn presented(&self) -> Option<Vec<u8>> {
        let first = |held: &Certificate| held.key.cert.first().map(|der| der.to_vec());
        self.answers.of_certificate(first).flatten()
    }

    /// The last order, and the time of the next one.
    pub fn last_order(&self, now: Timestamp) -> CertificateOrder {
        let next_at = self.next_order(now).max(now);
        let state = self.state.lock();
        CertificateOrder {
            at: state.at_ms.map(Timestamp::from_ms),
            failures: state.failures,
            error: state.error.clone(),
            next_at,
        }
    }

    /// Time of the next order.
    pub fn next_order(&self, now: Timestamp) -> Timestamp {
        let last = self.state.lock().last();
        self.due(&self.settings.names, last, now)
    }

    /// When an order for these names is due.
    fn due(&self, names: &[String], last: Option<(Timestamp, u32)>, now: Timestamp) -> Timestamp {
        let state = self.state.lock();
        let of_authority = state.issued_by.as_ref() == Some(&state.directory);
        let covers = |held: &Certificate| names.iter().all(|name| held.is_for(name));
        let wanted =
            |held: &Certificate| (of_authority && covers(held)).then(|| held.validity.clone());
        let validity = self.answers.of_certificate(wanted).flatten();
        order_due(validity.as_ref(), last, now)
    }

    /// Orders a certificate, and uses it from the next connection on.
    ///
    /// # Errors
    /// The reason why there is none, and the old one stays; or why the new one is used, but not stored.
    pub async fn order(&self, now: Timestamp) -> Result<(), String> {
        let begun = self.update(|state| {
            state.at_ms = Some(now.as_ms());
            state.failures = state.failures.saturating_add(1);
            state.error = Some("it was interrupted".to_owned());
        });
        // Without storage nothing is ordered: every restart would use up one of the authority's few orders.
        let ordered = match begun.await {
            Ok(()) => self.certificate(now).await,
            Err(error) => Err(format!(
                "nothing is ordered, because it cannot be stored: {error}"
            )),
        };
        self.answers.proofs.write().clear();
        let outcome = match ordered {
            Ok((pem, certificate, left_out)) => {
                *self.answers.certificate.write() = Some(certificate);
                self.change(|state| {
                    state.issued_by = Some(state.directory.clone());
                    state.failures = if left_out.is_some() {
                        state.failures
                    } else {
                        0
                    };
                    state.error = left_out;
                });
                keep(&self.settings.dir, CERTIFICATE, pem.into_bytes()).await
            }
            Err(why) => {
                // If storing this fails, the stored order stays, which is marked as failed.
                let _ = self.update(|state| state.error = Some(why.clone())).await;
                return Err(why);
            }
        };
        let stored = match outcome {
            Ok(()) => self.update(|_unchanged| ()).await,
            Err(error) => Err(error),
        };
        stored.map_err(|error| {
            let why = format!(
                "the certificate is used, but not stored: the next start orders another one: {error}"
            );
            self.change(|state| state.error = Some(why.clone()));
            why
        })
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = self.state.lock();
        change(&mut state);
        state.clone()
    }

    /// Changes the state, and stores it.
    async fn update(&self, change: impl FnOnce(&mut State)) -> io::Result<()> {
        let state = self.change(change);
        keep(&self.settings.dir, STATE, serde_json::to_vec(&state)?).await
    }

    /// A matching chain and key, in PEM, and the reason why names were left out: if some fail, the certificate is for
    /// the others, unless the one in use is already for them. Authorities issue few for the same names.
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
            if refusal.is_of_account {
                self.change(|state| state.account = None);
            }
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
    Certificate::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(|flaw| flaw.to_string())
}
