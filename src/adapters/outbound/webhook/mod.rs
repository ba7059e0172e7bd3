//! The operator's webhook, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! Messages come from the queue. In direct mode sign-ups are posted while their visitors wait, and nothing is stored.

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

use crate::domain::{
    DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, TextDigest, Timestamp,
};
use crate::ports::WebhookSender;

use self::signature::WebhookSecrets;
use crate::adapters::outbound::{
    self, HttpClient, Roots, post_json, refusal_in_words, retry_after, send,
};

/// Deadline of a message from the queue: waiting for a connection, DNS, TCP, TLS and the response.
const QUEUED_DEADLINE: Duration = Duration::from_secs(15);

/// The same while a visitor waits.
pub const DIRECT_DEADLINE: Duration = Duration::from_secs(5);

/// Most idle connections, and most sign-ups posted at the same time in direct mode; more are refused at once.
const POSTS_MAX: usize = 64;

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
    /// In direct mode, the posts that may still begin: visitors wait for them, and no contact is stored.
    direct: Option<Semaphore>,
}

impl WebhookClient {
    /// Trusts the certificate authorities in `roots`.
    ///
    /// # Errors
    /// The reason why the webhook cannot be used.
    pub fn open(
        url: &str,
        secrets: Option<WebhookSecrets>,
        base_url: Option<String>,
        roots: Roots,
        is_direct: bool,
    ) -> Result<Self, String> {
        let http = outbound::client(roots, POSTS_MAX);
        Ok(Self {
            http: http.map_err(|error| format!("TLS cannot be set up: {error}"))?,
            url: url.parse().map_err(|_bad| "is not a URL".to_owned())?,
            secrets,
            base_url,
            direct: is_direct.then(|| Semaphore::new(POSTS_MAX)),
        })
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
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String {
        let mut data = json!({});
        if let Some(email) = email {
            data["email"] = email.as_str().into();
        }
        if self.direct.is_none() {
            data["contact"] = contact_name(token).into();
            if let Some(base_url) = self.base_url.as_ref().filter(|_| email.is_some()) {
                data["unsubscribe_url"] = format!("{base_url}/newsletter/leave/{token}").into();
            }
        }
        let (kind, timestamp) = (kind.as_str(), at.to_rfc3339());
        json!({ "type": kind, "timestamp": timestamp, "data": data }).to_string()
    }

    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), Failure> {
        let permit = self.direct.as_ref().map(Semaphore::try_acquire);
        let full = |_full| later("too many sign-ups in flight".to_owned(), None);
        let _permit = permit.transpose().map_err(full)?;
        let (id, sent_s) = (id.to_string(), now.as_ms() / 1000);
        let mut request = post_json(&self.url)
            .header("webhook-id", &id)
            .header("webhook-timestamp", sent_s);
        if let Some(secrets) = &self.secrets {
            let signature = secrets.sign(&id, sent_s, body.as_bytes());
            request = request.header("webhook-signature", signature);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned())));
        let deadline = if self.direct.is_some() {
            DIRECT_DEADLINE
        } else {
            QUEUED_DEADLINE
        };
        let sent = send(&self.http, request, deadline).await;
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

/// The id of a contact in messages: a hash of its token, which does not allow anyone to unsubscribe it.
fn contact_name(token: &LeaveToken) -> String {
    let digest = TextDigest::of(&token.to_string());
    format!("con_{}", HEXLOWER.encode_display(digest.as_bytes()))
}
