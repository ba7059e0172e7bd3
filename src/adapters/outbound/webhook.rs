//! The operator's webhook, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! Messages come from the queue. In direct mode sign-ups are posted while their visitors wait, and nothing is stored.

use std::time::Duration;

use async_trait::async_trait;
use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER};
use http_body_util::Full;
use hyper::Uri;
use hyper::body::Bytes;
use ring::hmac::{self, HMAC_SHA256};
use serde_json::{Map, json};
use tokio::sync::Semaphore;

use crate::domain::macros::hidden;
use crate::domain::{
    DeliveryId, DeliveryKind, EmailAddress, Failure, LeaveToken, TextDigest, Timestamp,
};
use crate::ports::WebhookSender;

use crate::adapters::outbound::{
    self, HttpClient, Roots, post_json, refusal_in_words, retry_after, send,
};

/// Deadline of a message from the queue: waiting for a connection, DNS, TCP, TLS and the response.
const QUEUED_DEADLINE: Duration = Duration::from_secs(15);

/// The same while a visitor waits.
const DIRECT_DEADLINE: Duration = Duration::from_secs(5);

/// Most idle connections, and most sign-ups posted at the same time in direct mode; more are refused at once.
const POSTS_MAX: usize = 64;

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
        Ok(Self {
            http: outbound::client(roots, POSTS_MAX),
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
        let mut data = Map::new();
        let mut insert = |name: &str, value: String| data.insert(name.to_owned(), value.into());
        if let Some(email) = email {
            insert("email", email.as_str().to_owned());
        }
        if self.direct.is_none() {
            insert("contact", contact_name(token));
            if let Some(base_url) = self.base_url.as_ref().filter(|_| email.is_some()) {
                let link = format!("{base_url}/newsletter/leave/{token}");
                insert("unsubscribe_url", link);
            }
        }
        let (kind, timestamp) = (kind.as_str(), at.to_rfc3339());
        json!({ "type": kind, "timestamp": timestamp, "data": data }).to_string()
    }

    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), Failure> {
        let direct = self.direct.as_ref();
        let permit = direct.map(Semaphore::try_acquire);
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
        let deadline = direct.map_or(QUEUED_DEADLINE, |_| DIRECT_DEADLINE);
        let sent = send(&self.http, request, deadline).await;
        let response = sent.map_err(|error| later(error, None))?;
        let (status, headers) = (response.status(), response.headers());
        match status.is_success() {
            true => Ok(()),
            false => Err(later(
                refusal_in_words(status, headers),
                retry_after(headers),
            )),
        }
    }
}

/// The id of a contact in messages: a hash of its token, which does not allow anyone to unsubscribe it.
fn contact_name(token: &LeaveToken) -> String {
    let digest = TextDigest::of(&token.to_string());
    format!("con_{}", HEXLOWER.encode_display(digest.as_bytes()))
}

/// The secret shared with the provider, or two of them while one replaces the other.
#[derive(Clone)]
pub struct WebhookSecrets(Vec<hmac::Key>);

/// More would be a mistake: nobody rotates a secret twice at once.
const SECRETS_MAX: usize = 2;

/// The fault of a secret, without a quote.
const NO_SECRET: &str = "must contain a secret that begins with whsec_, followed by 24 to 64 bytes in Base64; during a \
     rotation two of them, one per line";

impl WebhookSecrets {
    /// Reads one or two secrets, one per line: `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// # Errors
    /// The form, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let secrets = text.split('\n').map(|line| {
            // Editors on Windows end lines with CRLF.
            let secret = line.strip_suffix('\r').unwrap_or(line);
            // Some providers omit the padding.
            let encoded = secret.strip_prefix("whsec_")?.trim_end_matches('=');
            let key = BASE64_NOPAD.decode(encoded.as_bytes()).ok()?;
            let has_length = (24..=64).contains(&key.len());
            has_length.then(|| hmac::Key::new(HMAC_SHA256, &key))
        });
        let secrets: Option<Vec<_>> = secrets.collect();
        let secrets = secrets.filter(|secrets| secrets.len() <= SECRETS_MAX);
        secrets.map(Self).ok_or(NO_SECRET)
    }

    /// The value of `webhook-signature`: the signatures of the message `id` by each secret, separated by a space. The
    /// provider accepts the message if it knows one of them. `sent_s` is in seconds since the Unix epoch.
    pub fn sign(&self, id: &str, sent_s: u64, body: &[u8]) -> String {
        let signatures = self.0.iter().map(|secret| {
            let mut code = hmac::Context::with_key(secret);
            code.update(format!("{id}.{sent_s}.").as_bytes());
            code.update(body);
            let code = code.sign();
            format!("v1,{}", BASE64.encode(code.as_ref()))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

hidden!(WebhookSecrets);

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference libraries of Standard Webhooks.
    #[test]
    fn the_published_vector_is_met() {
        let secret = WebhookSecrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_are_one_or_two_each_with_a_prefix_and_24_to_64_bytes() {
        let of = |bytes: usize| format!("whsec_{}", BASE64.encode(&vec![7; bytes]));
        for bytes in [24, 25, 26, 32, 64] {
            assert!(WebhookSecrets::parse(&of(bytes)).is_ok(), "{bytes}");
            let unpadded = of(bytes).trim_end_matches('=').to_owned();
            assert!(WebhookSecrets::parse(&unpadded).is_ok(), "{bytes}");
        }
        let [old, new] = [32, 24].map(of);
        for text in [
            String::new(),
            of(32).replace("whsec_", ""),
            of(32).replace("whsec_", "WHSEC_"),
            of(32).replace("whsec_", "whsec_!"),
            format!("{old} "),
            "whsec_".to_owned(),
            of(23),
            of(65),
            format!("{old}\n"),
            format!("\n{old}"),
            format!("{old} {new}"),
            format!("{old}\n# {new}"),
            format!("{old}\nwhsec_AAAA"),
            format!("{old}\n\n{new}"),
            format!("{old}\n{new}\n{old}"),
        ] {
            assert_eq!(
                WebhookSecrets::parse(&text).unwrap_err(),
                NO_SECRET,
                "{text}"
            );
        }
    }

    #[test]
    fn two_secrets_on_a_line_each_sign_at_once() {
        let [old, new] = [7, 8].map(|byte| format!("whsec_{}", BASE64.encode(&[byte; 24])));
        let signature = |text: &str| {
            let secrets = WebhookSecrets::parse(text).unwrap();
            secrets.sign("msg_1", 1_614_265_330, b"{}")
        };
        let both = [signature(&old), signature(&new)].join(" ");
        assert_ne!(signature(&old), signature(&new));
        assert_eq!(signature(&format!("{old}\n{new}")), both);
        assert_eq!(signature(&format!("{old}\r\n{new}")), both);
        let secrets = WebhookSecrets::parse(&old).unwrap();
        assert_eq!(format!("{secrets:?}"), "WebhookSecrets(..)");
    }
}
