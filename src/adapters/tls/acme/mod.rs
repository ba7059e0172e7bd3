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

use crate::domain::certificate_order::order_due;
use crate::domain::is_same_host;
use crate::domain::text::in_words;
use crate::domain::time::Timestamp;
use crate::metrics::CertificateOrder;

use self::answers::Answers;
use self::http::AcmeHttp;
use self::kept::{Kept, State};
use self::problem::{error_in_words, has_no_account};

use crate::adapters::outbound::Roots;
use crate::adapters::outbound::probe::unheard_ipv6;
use crate::adapters::tls::{ACME_TLS, Certificate, server_config};

/// Deadline of an order. Authorities verify from several places, and some wait in between.
const DEADLINE: Duration = Duration::from_secs(300);

/// Longest list of reasons for which names are left out, in characters.
const REASONS_MAX: usize = 4000;

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
        Ok(Self {
            answers: Arc::new(Answers {
                names: settings.names.clone(),
                certificate: RwLock::new(certificate),
                proofs: RwLock::default(),
            }),
            state: Mutex::new(state.of(&settings.directory, &settings.names)),
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
        self.answers.of_certificate(Certificate::der)
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
        let state = self.state.lock();
        let of_authority = state.issued_by.as_ref() == Some(&state.directory);
        let covers = |held: &Certificate| state.names.iter().all(|name| held.is_for(name));
        let wanted =
            |held: &Certificate| (of_authority && covers(held)).then(|| held.validity.clone());
        let validity = self.answers.of_certificate(wanted).flatten();
        order_due(validity.as_ref(), state.last(), self.jitter, now)
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

    /// A matching chain and key, in PEM, and the reason why names were left out: if some fail, the certificate is for the
    /// others, unless the certificate in use is already for these.
    async fn certificate(
        &self,
        now: Timestamp,
    ) -> Result<(String, Certificate, Option<String>), String> {
        let mut names = self.settings.names.clone();
        let mut left_out: Option<String> = None;
        loop {
            let failed = match timeout(DEADLINE, self.ordered(&names)).await {
                Ok(Err(Failure::Names(failed))) => failed,
                Ok(Err(Failure::Acme(error))) => {
                    if has_no_account(&error) {
                        let forgotten = self.update(|state| state.account = None).await;
                        forgotten.map_err(|error| format!("the account: {}", words(&error)))?;
                    }
                    return Err(error_in_words(&names.join(", "), &error));
                }
                Ok(Err(Failure::Words(words))) => return Err(words),
                Ok(Ok(pem)) => {
                    let of_authority = |why| format!("the authority's certificate {why}");
                    let certificate = parse(&pem).map_err(of_authority)?;
                    return match names.iter().find(|name| !certificate.is_for(name)) {
                        Some(name) => Err(of_authority(format!("is not for {name}"))),
                        None => Ok((pem, certificate, left_out)),
                    };
                }
                Err(_elapsed) => {
                    return Err("the authority did not finish the order in time".to_owned());
                }
            };
            let asked = names.len();
            names.retain(|name| !failed.iter().any(|(bad, _)| is_same_host(bad, name)));
            let why = left_out
                .into_iter()
                .chain(failed.into_iter().map(|(_, words)| words));
            let why = why.collect::<Vec<_>>().join("; ");
            // The file that stores it has a size limit.
            let why: String = why.chars().take(REASONS_MAX).collect();
            if names.is_empty() || names.len() == asked || self.is_in_use(&names, now) {
                return Err(why);
            }
            left_out = Some(why);
        }
    }

    /// True if the certificate in use is for these names and need not be renewed yet.
    fn is_in_use(&self, names: &[String], now: Timestamp) -> bool {
        let is_fresh = |certificate: &Certificate| {
            let due = order_due(Some(&certificate.validity), None, self.jitter, now);
            due > now && names.iter().all(|name| certificate.is_for(name))
        };
        self.answers.of_certificate(is_fresh).unwrap_or_default()
    }

    async fn ordered(&self, names: &[String]) -> Result<String, Failure> {
        let account = self.account().await?;
        let identifiers = names.iter().map(|name| Identifier::Dns(name.clone()));
        let identifiers: Vec<_> = identifiers.collect();
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
        let email = self.settings.email.clone();
        let contact = email.as_ref().map(|email| format!("mailto:{email}"));
        let contact: Vec<_> = contact.as_deref().into_iter().collect();
        let state = self.state.lock().clone();
        let stored = state.account.map(serde_json::from_value).transpose();
        let stored = stored.map_err(|_may_quote_it| {
            Failure::Words("the account in acme.json is damaged: remove the file".to_owned())
        })?;
        let (account, new) = match stored {
            Some(credentials) => {
                let account = builder.from_credentials(credentials).await?;
                if state.email == email {
                    return Ok(account);
                }
                account.update_contacts(&contact).await?;
                (account, None)
            }
            None => {
                let new = NewAccount {
                    contact: &contact,
                    terms_of_service_agreed: true,
                    only_return_existing: false,
                };
                let created = builder.create(&new, state.directory, None).await?;
                (created.0, serde_json::to_value(created.1).ok())
            }
        };
        let kept = self.update(|state| {
            state.email = email;
            state.account = new.or_else(|| state.account.take());
        });
        kept.await
            .map_err(|error| Failure::Words(format!("the account: {}", words(&error))))?;
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
enum Failure {
    Acme(Error),
    /// Some names failed, each with its reason.
    Names(Vec<(String, String)>),
    Words(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match problem::by_name(&error) {
            names if names.is_empty() => Self::Acme(error),
            names => Self::Names(names),
        }
    }
}

impl From<rcgen::Error> for Failure {
    fn from(error: rcgen::Error) -> Self {
        Self::Words(error.to_string())
    }
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
    in_words(&error.to_string())
}

fn parse(pem: &str) -> Result<Certificate, String> {
    Certificate::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(|flaw| flaw.to_string())
}
