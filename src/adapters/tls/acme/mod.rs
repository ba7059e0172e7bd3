//! The service's certificate by ACME (RFC 8555): ordered, renewed and stored in `DATA_DIR/tls`.
//!
//! The authority verifies the service on its own port 443 (TLS-ALPN-01), so that no other port has to be open. The
//! certificate in use stays until the next one is complete.

mod answers;
mod http;
mod kept;
mod problem;

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount, NewOrder, Order,
    OrderStatus, RetryPolicy,
};
use parking_lot::{Mutex, RwLock};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::ServerConfig;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::domain::certificate_order::{LastOrder, order_due};
use crate::domain::is_same_host;
use crate::domain::time::Timestamp;
use crate::metrics::CertificateOrder;

use self::answers::Answers;
use self::http::AcmeHttp;
use self::kept::{Kept, State};

use crate::adapters::outbound::Roots;
use crate::adapters::outbound::probe::unheard_ipv6;
use crate::adapters::tls::{ACME_TLS, Certificate, server_config};

/// Deadline of an order. Authorities verify from several places, and some wait in between.
const DEADLINE: Duration = Duration::from_secs(300);

/// Longest reason of a failure, in characters.
const REASON_MAX: usize = 4000;

/// Polling of the authority for its verification, and for the certificate.
const POLLS: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(90));

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
    kept: Kept,
    answers: Arc<Answers>,
    state: Mutex<State>,
    jitter: u8,
}

impl AcmeCertificate {
    /// Reads the stored files. Writes nothing. `jitter` is random.
    ///
    /// # Errors
    /// The reason why they cannot be used, in one line.
    pub fn open(settings: AcmeSettings, jitter: u8) -> Result<Self, String> {
        let kept = Kept(settings.dir.clone());
        let at = |error: io::Error| format!("--https-domain: {}: {error}", settings.dir.display());
        let certificate = match kept.certificate().map_err(at)? {
            Some(pem) => Some(parse(&pem).map_err(|why| {
                at(io::Error::other(format!(
                    "certificate.pem {why}: remove it to order a new one"
                )))
            })?),
            None => None,
        };
        let state = kept.state().map_err(at)?;
        let email = settings.email.as_deref();
        let state = state.of(&settings.directory, &settings.names, email);
        Ok(Self {
            answers: Arc::new(Answers {
                names: settings.names.clone(),
                certificate: RwLock::new(certificate),
                proofs: RwLock::default(),
            }),
            state: Mutex::new(state),
            kept,
            settings,
            jitter,
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
    fn due(&self, names: &[String], last: Option<LastOrder>, now: Timestamp) -> Timestamp {
        let state = self.state.lock();
        let of_authority = state.issued_by.as_ref() == Some(&state.directory);
        let covers = |held: &Certificate| names.iter().all(|name| held.is_for(name));
        let wanted =
            |held: &Certificate| (of_authority && covers(held)).then(|| held.validity.clone());
        let validity = self.answers.of_certificate(wanted).flatten();
        order_due(validity.as_ref(), last, self.jitter, now)
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
                "nothing is ordered, because it cannot be stored: {}",
                words(&error)
            )),
        };
        self.answers.proofs.write().clear();
        match ordered {
            Ok((pem, certificate, left_out)) => {
                *self.answers.certificate.write() = Some(certificate);
                let state = self.change(|state| {
                    state.issued_by = Some(state.directory.clone());
                    if left_out.is_none() {
                        state.failures = 0;
                    }
                    state.error = left_out;
                });
                let kept = self.blocking(move |kept| {
                    kept.keep_certificate(&pem)?;
                    kept.keep(&state)
                });
                kept.await.map_err(|error| {
                    let why = format!(
                        "the certificate is used, but not stored: the next start orders another one: {}",
                        words(&error)
                    );
                    self.state.lock().error = Some(why.clone());
                    why
                })
            }
            Err(why) => {
                // If this fails, the stored order stays, which is marked as failed.
                let _ = self.update(|state| state.error = Some(why.clone())).await;
                Err(why)
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = self.state.lock();
        change(&mut state);
        state.clone()
    }

    /// Changes the state, and stores it.
    async fn update(&self, change: impl FnOnce(&mut State)) -> io::Result<()> {
        let state = self.change(change);
        self.blocking(move |kept| kept.keep(&state)).await
    }

    async fn blocking(
        &self,
        work: impl FnOnce(&Kept) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let kept = self.kept.clone();
        let done = spawn_blocking(move || work(&kept)).await;
        done.unwrap_or_else(|panic| Err(io::Error::other(panic)))
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
            let all = names.join(", ");
            let failed = match timeout(DEADLINE, self.ordered(&names)).await {
                Ok(Ok(pem)) => break pem,
                Ok(Err(Failure::Names(failed))) => failed,
                Ok(Err(Failure::Acme(error))) => {
                    if problem::is_of_account(&error) {
                        self.change(|state| state.account = None);
                    }
                    problem::by_name(&all, &error)
                }
                Ok(Err(failure)) => vec![(all, failure.to_string())],
                Err(_elapsed) => problem::by_name(&all, &Error::Timeout(None)),
            };
            let asked = names.len();
            names.retain(|name| !failed.iter().any(|(bad, _)| is_same_host(bad, name)));
            let reasons = failed.into_iter().map(|(_, why)| why);
            let why = left_out.into_iter().chain(reasons).collect::<Vec<_>>();
            // The file that stores it has a size limit.
            let why = why.join("; ").chars().take(REASON_MAX).collect();
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

    async fn ordered(&self, names: &[String]) -> Result<String, Failure> {
        let identifiers = names.iter().map(|name| Identifier::Dns(name.clone()));
        let identifiers: Vec<_> = identifiers.collect();
        let account = self.account().await?;
        let mut order = account.new_order(&NewOrder::new(&identifiers)).await?;
        self.prove(&mut order).await?;
        match order.poll_ready(&POLLS).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) | Err(Error::Api(_)) => {
                return Err(refusal(&mut order, self.settings.listen).await);
            }
            Err(error) => return Err(error.into()),
        }
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = DistinguishedName::new();
        let key = KeyPair::generate()?;
        let request = params.serialize_request(&key)?;
        order.finalize_csr(request.der()).await?;
        let chain = order.poll_certificate(&POLLS).await?;
        Ok(format!("{}\n{}", chain.trim_end(), key.serialize_pem()))
    }

    /// The stored account, or a new one.
    async fn account(&self) -> Result<Account, Failure> {
        let http = AcmeHttp::new(self.settings.roots.clone());
        let http = Box::new(http.map_err(|error| Failure::Words(error.to_string()))?);
        let builder = Account::builder_with_http(http);
        let stored = self.state.lock().account.clone();
        if let Some(stored) = stored {
            let damaged = "the account in acme.json is damaged: remove the file";
            let credentials = serde_json::from_value(stored);
            let credentials =
                credentials.map_err(|_may_quote_it| Failure::Words(damaged.to_owned()))?;
            return Ok(builder.from_credentials(credentials).await?);
        }
        let contact = self.settings.email.as_ref();
        let contact = contact.map(|email| format!("mailto:{email}"));
        let new = NewAccount {
            contact: &contact.as_deref().into_iter().collect::<Vec<_>>(),
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let directory = self.settings.directory.clone();
        let (account, credentials) = builder.create(&new, directory, None).await?;
        let credentials = serde_json::to_value(credentials).map_err(Error::Json)?;
        let kept = self.update(|state| state.account = Some(credentials)).await;
        kept.map_err(|error| Failure::Words(format!("the account: {}", words(&error))))?;
        Ok(account)
    }

    /// Prepares the proof of each unproven name, and tells the authority.
    async fn prove(&self, order: &mut Order) -> Result<(), Failure> {
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let name = authorization.identifier().to_string();
            let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
                let words =
                    "the authority does not offer TLS-ALPN-01, the only supported challenge";
                return Err(Failure::Words(words.to_owned()));
            };
            let digest = challenge.key_authorization().digest();
            self.answers.prove(&name, digest.as_ref())?;
            challenge.set_ready().await?;
        }
        Ok(())
    }
}

/// The reason why an order failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Acme(#[from] Error),
    #[error(transparent)]
    Proof(#[from] rcgen::Error),
    /// Each with its reason.
    #[error("some names failed")]
    Names(Vec<(String, String)>),
    #[error("{0}")]
    Words(String),
}

/// The reason why an order is invalid: the authority's findings at each failed name.
async fn refusal(order: &mut Order, listen: SocketAddr) -> Failure {
    let of_order = order.state().error.clone();
    let mut failed = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else {
            break;
        };
        if let Some(problem) = state.challenges.iter().find_map(|one| one.error.as_ref()) {
            let cause = unheard_ipv6(&name, listen).await;
            let words = problem::in_words(&name, problem, cause);
            failed.push((name, words));
        }
    }
    match of_order {
        _ if !failed.is_empty() => Failure::Names(failed),
        Some(problem) => Error::Api(problem).into(),
        None => Failure::Words("the authority refused the order without a reason".to_owned()),
    }
}

fn words(error: &io::Error) -> String {
    error.to_string()
}

fn parse(pem: &str) -> Result<Certificate, String> {
    Certificate::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(|flaw| flaw.to_string())
}
