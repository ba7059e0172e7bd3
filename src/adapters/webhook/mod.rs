//! [`SignUps`] over the operator's newsletter provider: each sign-up is one POST of
//! JSON with the headers of the Standard Webhooks specification, version 1.0.
//!
//! Nothing is queued beyond the visitor's request and nothing is retried: the visitor's answer says
//! whether the provider has confirmed the sign-up, so none is lost silently and none is stored.

pub mod signature;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Request, Uri};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::SignUp;
use crate::ports::{Entropy, NotifyError, SignUps, random};

use super::outbound::{self, HttpClient, PRODUCT, Roots, root_cause};
use signature::WebhookSecret;

/// The deadline of a sign-up: the wait for a connection, DNS, TCP, TLS and the response.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Concurrent posts, and so the most connections to the provider.
const POSTED_MAX: usize = 64;

/// Sign-ups that are posted or wait for a connection; further ones are refused at once.
const ACCEPTED_MAX: usize = 256;

/// How much of a response is read, in bytes. Its content does not matter.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// How long the body of a response is read.
const RESPONSE_DEADLINE: Duration = Duration::from_millis(500);

/// Posts sign-ups to one address.
pub struct WebhookNotifier {
    http: HttpClient,
    url: Uri,
    secret: Option<WebhookSecret>,
    accepted: Semaphore,
    posted: Semaphore,
    /// Makes the ids, by which the provider recognises a repetition.
    entropy: Arc<dyn Entropy>,
    interrupt: CancellationToken,
}

impl WebhookNotifier {
    /// Posts to `url`, signed if there is a `secret`, and accepts certificates of `roots`. Once
    /// `interrupt` is cancelled, sign-ups that wait for the provider fail at once.
    ///
    /// # Errors
    /// Why the webhook cannot be used, in words.
    pub fn open(
        url: &str,
        secret: Option<WebhookSecret>,
        roots: Roots,
        entropy: Arc<dyn Entropy>,
        interrupt: CancellationToken,
    ) -> Result<Self, String> {
        let url = url.parse().ok();
        let url = url.filter(|url: &Uri| matches!(url.scheme_str(), Some("http" | "https")));
        let url = url.ok_or("is not an http or https URL")?;
        let http = outbound::client(roots, POSTED_MAX);
        Ok(Self {
            http: http.map_err(|error| format!("TLS cannot be set up: {error}"))?,
            url,
            secret,
            accepted: Semaphore::new(ACCEPTED_MAX),
            posted: Semaphore::new(POSTED_MAX),
            entropy,
            interrupt,
        })
    }

    fn request(&self, sign_up: &SignUp) -> Result<Request<Full<Bytes>>, NotifyError> {
        let id = random(&*self.entropy).map_err(|error| failed(&error))?;
        let id = format!("msg_{:032x}", u128::from_be_bytes(id));
        let payload = json!({
            "type": "newsletter.subscribed",
            "timestamp": sign_up.at.to_rfc3339(),
            "data": {"email": sign_up.email.as_str()},
        });
        let body = payload.to_string();
        let sent_s = sign_up.at.as_ms() / 1000;
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, PRODUCT)
            .header("webhook-id", &id)
            .header("webhook-timestamp", sent_s);
        if let Some(secret) = &self.secret {
            let signature = secret.sign(&id, sent_s, body.as_bytes());
            request = request.header("webhook-signature", signature);
        }
        let request = request.body(Full::new(Bytes::from(body)));
        request.map_err(|error| failed(&error))
    }

    async fn post(&self, sign_up: &SignUp) -> Result<(), NotifyError> {
        // The semaphore is never closed, so `acquire` does not fail.
        let _permit = self.posted.acquire().await;
        let response = self.http.request(self.request(sign_up)?).await;
        let response = response.map_err(|error| failed(&root_cause(&error)))?;
        let status = response.status();
        // Reading the body to its end lets the connection be used again.
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect();
        let _ = timeout(RESPONSE_DEADLINE, body).await;
        if status.is_success() {
            Ok(())
        } else {
            Err(failed(&format!("answered {}", status.as_u16())))
        }
    }

    /// The provider may have a sign-up that timed out or was interrupted, and gets it twice when the
    /// visitor tries again.
    async fn notify(&self, sign_up: &SignUp) -> Result<(), NotifyError> {
        let Ok(_permit) = self.accepted.try_acquire() else {
            return Err(NotifyError::Overloaded);
        };
        if self.interrupt.is_cancelled() {
            return Err(failed(&"not asked, as the service stops"));
        }
        tokio::select! {
            // A response that has arrived is reported.
            biased;
            posted = timeout(DEADLINE, self.post(sign_up)) => posted.unwrap_or_else(|_elapsed| {
                let seconds = DEADLINE.as_secs();
                Err(failed(&format!("no answer within {seconds} seconds")))
            }),
            () = self.interrupt.cancelled() => {
                Err(failed(&"interrupted, as the service stops"))
            }
        }
    }
}

fn failed(why: &dyn Display) -> NotifyError {
    NotifyError::Failed(why.to_string())
}

#[async_trait]
impl SignUps for WebhookNotifier {
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError> {
        self.notify(&sign_up).await
    }
}
