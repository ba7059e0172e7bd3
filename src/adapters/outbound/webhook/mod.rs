//! The operator's webhook, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! Messages come from the queue; or sign-ups are posted while their visitors wait: then nothing is stored or
//! retried, and the visitor's response shows whether the webhook has confirmed the sign-up.

pub mod signature;

use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Uri;
use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, SignUp, TextDigest, Timestamp,
};
use crate::ports::{NotifyError, SignUps, WebhookSender};

use self::signature::WebhookSecrets;
use crate::adapters::outbound::{
    self, HttpClient, Roots, post_json, refusal_in_words, retry_after, send,
};

/// Deadline of a message from the queue: waiting for a connection, DNS, TCP, TLS and the response.
const QUEUED_DEADLINE: Duration = Duration::from_secs(15);

/// Deadline of a sign-up: DNS, TCP, TLS and the response.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Sign-ups posted at the same time; more are refused at once.
const SIGN_UPS_MAX: usize = 64;

/// Longest part of a response that is read, in bytes. Its content does not matter.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Deadline for reading the body of a response.
const RESPONSE_DEADLINE: Duration = Duration::from_millis(500);

/// Posts messages to one address.
pub struct WebhookClient {
    http: HttpClient,
    url: Uri,
    /// Without secrets messages are not signed.
    secrets: Option<WebhookSecrets>,
    /// Base URL of unsubscribe links; without it messages have none.
    base_url: Option<String>,
    permits: Semaphore,
    interrupt: CancellationToken,
}

impl WebhookClient {
    /// Trusts the certificate authorities in `roots`. Sign-ups are awaited until `interrupt` is cancelled.
    ///
    /// # Errors
    /// The reason why the webhook cannot be used.
    pub fn open(
        url: &str,
        secrets: Option<WebhookSecrets>,
        base_url: Option<String>,
        roots: Roots,
        interrupt: CancellationToken,
    ) -> Result<Self, String> {
        let http = outbound::client(roots, SIGN_UPS_MAX);
        Ok(Self {
            http: http.map_err(|error| format!("TLS cannot be set up: {error}"))?,
            url: url.parse().map_err(|_bad| "is not a URL".to_owned())?,
            secrets,
            base_url,
            permits: Semaphore::new(SIGN_UPS_MAX),
            interrupt,
        })
    }

    /// Posts a message and awaits the response until the `deadline`.
    async fn post(
        &self,
        id: DeliveryId,
        body: &str,
        now: Timestamp,
        deadline: Duration,
    ) -> Result<(), Failure> {
        let (id, sent_s) = (id.to_string(), now.as_ms() / 1000);
        let mut request = post_json(&self.url)
            .header("webhook-id", &id)
            .header("webhook-timestamp", sent_s);
        if let Some(secrets) = &self.secrets {
            let signature = secrets.sign(&id, sent_s, body.as_bytes());
            request = request.header("webhook-signature", signature);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned())));
        let sent = timeout(deadline, send(&self.http, request)).await;
        let sent = sent.unwrap_or_else(|_elapsed| {
            Err(format!("no response within {} seconds", deadline.as_secs()))
        });
        let (head, body) = sent.map_err(|error| later(error, None))?.into_parts();
        // Reading the whole body allows the connection to be reused.
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect();
        let _ = timeout(RESPONSE_DEADLINE, body).await;
        if head.status.is_success() {
            return Ok(());
        }
        let now = UNIX_EPOCH + Duration::from_millis(now.as_ms());
        let pause = retry_after(&head.headers, Some(now));
        Err(later(refusal_in_words(head.status, &head.headers), pause))
    }
}

fn later(error: String, pause: Option<Duration>) -> Failure {
    let in_ms = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    Failure::Later {
        error,
        wait_ms: pause.map(in_ms),
    }
}

#[async_trait]
impl WebhookSender for WebhookClient {
    #[allow(clippy::indexing_slicing, reason = "an object takes any field")]
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String {
        let mut data = json!({ "contact": contact_name(token) });
        if let Some(email) = email {
            data["email"] = email.as_str().into();
            if let Some(base_url) = &self.base_url {
                data["unsubscribe_url"] = format!("{base_url}/newsletter/leave/{token}").into();
            }
        }
        message(kind, at, &data)
    }

    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), Failure> {
        self.post(id, body, now, QUEUED_DEADLINE).await
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

#[async_trait]
impl SignUps for WebhookClient {
    /// The provider may have received a sign-up that timed out or was interrupted, and gets it again when the
    /// visitor retries.
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError> {
        let Ok(_permit) = self.permits.try_acquire() else {
            return Err(NotifyError::Overloaded);
        };
        let (kind, at) = (DeliveryKind::Subscribed, sign_up.at);
        let body = message(kind, at, &json!({ "email": sign_up.email.as_str() }));
        let id = DeliveryId::new(kind, &sign_up.leave_token, at);
        let posted = tokio::select! {
            // A response that has already arrived is reported.
            biased;
            posted = self.post(id, &body, at, DEADLINE) => posted,
            () = self.interrupt.cancelled() => {
                Err(later("interrupted because the service is stopping".to_owned(), None))
            }
        };
        posted.map_err(|failure| match failure {
            Failure::Later { error, .. } | Failure::Final(error) => NotifyError::Failed(error),
        })
    }
}
