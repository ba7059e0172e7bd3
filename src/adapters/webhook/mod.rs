//! [`SubscriptionNotifier`] over the operator's newsletter provider: each sign-up is one POST of
//! JSON with the headers of the Standard Webhooks specification, version 1.0.
//!
//! There is no queue and no retry behind the answer: the visitor is told that the address was
//! passed on when the provider has said so, and otherwise that it was not. That keeps "no contact
//! is kept" true, and nothing is lost silently.

mod interruptible;
pub mod signature;

use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Request, Uri};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::domain::contact::Notice;
use crate::ports::{NotifyError, SubscriptionNotifier};

use super::outbound::{self, HttpClient, Roots, reasons};
pub use interruptible::InterruptibleNotifier;
use signature::WebhookSecret;

/// How long one sign-up may take in all: finding the host, connecting, TLS, the answer.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Sign-ups that are posted at once, and so the most sockets the provider can hold.
const POSTED_MAX: usize = 64;

/// Sign-ups that are posted or wait for their turn, within the same deadline: a burst passes, and
/// a provider that hangs piles up no more than this. What comes on top is refused at once.
const ACCEPTED_MAX: usize = 256;

/// The largest answer that is read, in bytes. Its content does not matter.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How long the body of an answer is waited for.
const ANSWER_DEADLINE: Duration = Duration::from_millis(500);

/// Posts sign-ups to one address.
#[derive(Debug)]
pub struct WebhookNotifier {
    http: HttpClient,
    url: Uri,
    secret: Option<WebhookSecret>,
    accepted: Semaphore,
    posted: Semaphore,
}

/// The webhook cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebhookOpenError {
    /// The address cannot be asked.
    #[error("is no address that can be asked")]
    Address,
    /// TLS cannot be set up, which is a fault of the build.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

impl WebhookNotifier {
    /// Posts to `url`, signed if there is a `secret`. It trusts `roots` to say who the provider is.
    ///
    /// # Errors
    /// [`WebhookOpenError`] when the address is no absolute one.
    pub fn open(
        url: &str,
        secret: Option<WebhookSecret>,
        roots: Roots,
    ) -> Result<Self, WebhookOpenError> {
        let url: Uri = url.parse().map_err(|_error| WebhookOpenError::Address)?;
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err(WebhookOpenError::Address);
        }
        Ok(Self {
            http: outbound::client(roots, POSTED_MAX)?,
            url,
            secret,
            accepted: Semaphore::new(ACCEPTED_MAX),
            posted: Semaphore::new(POSTED_MAX),
        })
    }

    fn request(&self, notice: &Notice) -> Result<Request<Full<Bytes>>, NotifyError> {
        let failed = |error: &dyn std::fmt::Display| NotifyError::Failed(error.to_string());
        let body = serde_json::to_vec(&Event::of(notice)).map_err(|error| failed(&error))?;
        let id = message_id(notice);
        let sent_s = notice.at.as_ms() / 1000;
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(
                USER_AGENT,
                concat!("landing-api/", env!("CARGO_PKG_VERSION")),
            )
            .header("webhook-id", &id)
            .header("webhook-timestamp", sent_s);
        if let Some(secret) = &self.secret {
            request = request.header("webhook-signature", secret.sign(&id, sent_s, &body));
        }
        request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| failed(&error))
    }

    async fn post(&self, notice: &Notice) -> Result<(), NotifyError> {
        // It is never closed, so there is no error to meet.
        let _turn = self.posted.acquire().await;
        let request = self.request(notice)?;
        let answer = self
            .http
            .request(request)
            .await
            .map_err(|error| NotifyError::Failed(reasons(&error)))?;
        let status = answer.status();
        // Read to its end if that is near, so that the connection can serve the next sign-up. What
        // it says changes nothing: the provider has decided.
        let rest = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let _ = tokio::time::timeout(ANSWER_DEADLINE, rest).await;
        if status.is_success() {
            Ok(())
        } else {
            Err(NotifyError::Failed(format!("answered {}", status.as_u16())))
        }
    }
}

#[async_trait]
impl SubscriptionNotifier for WebhookNotifier {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        let Ok(_place) = self.accepted.try_acquire() else {
            return Err(NotifyError::Overloaded);
        };
        tokio::time::timeout(DEADLINE, self.post(notice))
            .await
            .unwrap_or_else(|_elapsed| {
                Err(NotifyError::Failed(format!(
                    "no answer within {} seconds",
                    DEADLINE.as_secs()
                )))
            })
    }
}

/// What the provider is told.
#[derive(Serialize)]
struct Event<'a> {
    r#type: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    email: &'a str,
}

impl<'a> Event<'a> {
    fn of(notice: &'a Notice) -> Self {
        Self {
            r#type: "newsletter.subscribed",
            timestamp: notice.at.to_rfc3339(),
            data: Data {
                email: notice.email.as_str(),
            },
        }
    }
}

/// The name of the message: the same for the same notice, so that a provider can tell a repetition.
fn message_id(notice: &Notice) -> String {
    format!("msg_{:032x}", u128::from_be_bytes(notice.id))
}
