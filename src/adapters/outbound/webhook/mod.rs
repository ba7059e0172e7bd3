//! The operator's webhook, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! [`WebhookClient`] sends messages from the queue. [`WebhookNotifier`] sends a sign-up while its visitor
//! waits: nothing is stored or retried, and the visitor's response shows whether the webhook has confirmed
//! it.

pub mod signature;

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, SignUp, TextDigest, Timestamp,
};
use crate::ports::{Entropy, NotifyError, SignUps, WebhookError, WebhookSender, random};

use self::signature::WebhookSecrets;
use crate::adapters::outbound::{
    self, HttpClient, PRODUCT, Roots, refusal_in_words, retry_after, send,
};

/// Deadline of a message from the queue: waiting for a connection, DNS, TCP, TLS and the response.
const QUEUED_DEADLINE: Duration = Duration::from_secs(15);

/// Deadline of a sign-up: waiting for a connection, DNS, TCP, TLS and the response.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Sign-ups that are posted or wait for a connection; more are refused at once.
const ACCEPTED_MAX: usize = 256;

/// Most connections to the webhook.
const CONNECTIONS_MAX: usize = 64;

/// Longest part of a response that is read, in bytes. Its content does not matter.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Deadline for reading the body of a response.
const RESPONSE_DEADLINE: Duration = Duration::from_millis(500);

/// Posts messages to one address.
pub struct WebhookClient {
    http: HttpClient,
    url: Uri,
    secrets: Option<WebhookSecrets>,
    /// Base URL of unsubscribe links, if known.
    base_url: Option<String>,
    interrupt: CancellationToken,
}

/// Settings of a webhook.
pub struct WebhookSettings {
    /// Messages are posted here.
    pub url: String,
    /// Secrets for signatures; without them messages are not signed.
    pub secrets: Option<WebhookSecrets>,
    /// Base URL of unsubscribe links; without it messages have none.
    pub base_url: Option<String>,
}

impl WebhookClient {
    /// Trusts the certificate authorities in `roots`. Once `interrupt` is cancelled, no response is awaited.
    ///
    /// # Errors
    /// The reason why the webhook cannot be used.
    pub fn open(
        settings: WebhookSettings,
        roots: Roots,
        interrupt: CancellationToken,
    ) -> Result<Self, String> {
        let url = settings.url.parse().ok();
        let url = url.filter(|url: &Uri| matches!(url.scheme_str(), Some("http" | "https")));
        let url = url.ok_or("is not an http or https URL")?;
        let http = outbound::client(roots, CONNECTIONS_MAX);
        Ok(Self {
            http: http.map_err(|error| format!("TLS cannot be set up: {error}"))?,
            url,
            secrets: settings.secrets,
            base_url: settings.base_url,
            interrupt,
        })
    }

    /// Posts a message and awaits the response until the `deadline`.
    async fn deliver(
        &self,
        id: DeliveryId,
        body: &str,
        now: Timestamp,
        deadline: Duration,
    ) -> Result<(), WebhookError> {
        if self.interrupt.is_cancelled() {
            return Err(WebhookError::Stopped);
        }
        tokio::select! {
            // A response that has already arrived is reported.
            biased;
            posted = timeout(deadline, self.post(id, body, now)) => {
                posted.unwrap_or_else(|_elapsed| Err(later(no_response(deadline), None)))
            }
            () = self.interrupt.cancelled() => Err(WebhookError::Stopped),
        }
    }

    async fn post(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), WebhookError> {
        let (id, sent_s) = (id.to_string(), now.as_ms() / 1000);
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, PRODUCT)
            .header("webhook-id", &id)
            .header("webhook-timestamp", sent_s);
        if let Some(secrets) = &self.secrets {
            let signature = secrets.sign(&id, sent_s, body.as_bytes());
            request = request.header("webhook-signature", signature);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned())));
        let request = request.map_err(|error| later(error.to_string(), None))?;
        let response = send(&self.http, request).await;
        let (head, body) = response.map_err(|error| later(error, None))?.into_parts();
        // Reading the whole body allows the connection to be reused.
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect();
        let _ = timeout(RESPONSE_DEADLINE, body).await;
        match head.status {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(WebhookError::Gone),
            status => {
                let now = UNIX_EPOCH + Duration::from_millis(now.as_ms());
                let pause = retry_after(&head.headers, Some(now));
                Err(later(refusal_in_words(status, &head.headers), pause))
            }
        }
    }
}

fn later(error: String, pause: Option<Duration>) -> WebhookError {
    let in_ms = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    WebhookError::Failed(Failure::Later {
        error,
        wait_ms: pause.map(in_ms),
    })
}

#[async_trait]
impl WebhookSender for WebhookClient {
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String {
        let contact = contact_name(token);
        let data = match (email.map(EmailAddress::as_str), &self.base_url) {
            (None, _) => json!({ "contact": contact }),
            (Some(email), None) => json!({ "contact": contact, "email": email }),
            (Some(email), Some(base_url)) => json!({
                "contact": contact,
                "email": email,
                "unsubscribe_url": format!("{base_url}/newsletter/leave/{token}"),
            }),
        };
        message(kind, at, &data)
    }

    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), WebhookError> {
        self.deliver(id, body, now, QUEUED_DEADLINE).await
    }
}

/// A message of the Standard Webhooks specification.
fn message(kind: DeliveryKind, at: Timestamp, data: &serde_json::Value) -> String {
    json!({ "type": kind.as_str(), "timestamp": at.to_rfc3339(), "data": data }).to_string()
}

/// The id of a contact in messages: a hash of its token, which does not allow anyone to unsubscribe it.
fn contact_name(token: &LeaveToken) -> String {
    let digest = TextDigest::of(&token.to_string());
    format!("con_{}", HEXLOWER.encode_display(digest.as_bytes()))
}

fn no_response(deadline: Duration) -> String {
    format!("no response within {} seconds", deadline.as_secs())
}

/// Posts sign-ups.
pub struct WebhookNotifier {
    webhook: WebhookClient,
    accepted: Semaphore,
    posted: Semaphore,
    /// Generates the ids by which the provider recognises a repetition.
    entropy: Arc<dyn Entropy>,
}

impl WebhookNotifier {
    /// Posts through `webhook`.
    pub fn new(webhook: WebhookClient, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            webhook,
            accepted: Semaphore::new(ACCEPTED_MAX),
            posted: Semaphore::new(CONNECTIONS_MAX),
            entropy,
        }
    }

    async fn post(&self, sign_up: &SignUp) -> Result<(), NotifyError> {
        let data = json!({ "email": sign_up.email.as_str() });
        let body = message(DeliveryKind::Subscribed, sign_up.at, &data);
        let id = DeliveryId::from_bytes(random(&*self.entropy));
        let posted = self.webhook.deliver(id, &body, sign_up.at, DEADLINE).await;
        posted.map_err(|error| match error {
            WebhookError::Failed(Failure::Later { error, .. } | Failure::Final(error)) => {
                failed(&error)
            }
            WebhookError::Gone => failed(&"responded with 410"),
            WebhookError::Stopped => failed(&"interrupted because the service is stopping"),
        })
    }
}

fn failed(why: &dyn Display) -> NotifyError {
    NotifyError::Failed(why.to_string())
}

#[async_trait]
impl SignUps for WebhookNotifier {
    /// The provider may have received a sign-up that timed out or was interrupted, and gets it again when the
    /// visitor retries.
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError> {
        let Ok(_accepted) = self.accepted.try_acquire() else {
            return Err(NotifyError::Overloaded);
        };
        let posted = timeout(DEADLINE, async {
            // The semaphore is never closed, so `acquire` does not fail.
            let _permit = self.posted.acquire().await;
            self.post(&sign_up).await
        });
        posted
            .await
            .unwrap_or_else(|_elapsed| Err(failed(&no_response(DEADLINE))))
    }
}
