//! Signatures of the Standard Webhooks specification, version 1.0: HMAC-SHA256 over id, time and
//! body.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use ring::hmac::{self, HMAC_SHA256};

use crate::domain::macros::hidden;

/// Some providers omit the padding of a secret.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secret shared with the provider, or two of them while one replaces the other.
#[derive(Clone)]
pub struct WebhookSecrets(Vec<hmac::Key>);

/// More would be a mistake: nobody rotates a secret twice at once.
const SECRETS_MAX: usize = 2;

/// Errors about a secret. No message quotes it.
const NO_PREFIX: &str = "must contain a secret that begins with whsec_";
const NO_BASE64: &str = "must contain Base64 after whsec_";
const BAD_LENGTH: &str = "must contain 24 to 64 bytes in Base64 after whsec_";
const TOO_MANY: &str = "must contain one secret, or two during a rotation, one per line";

impl WebhookSecrets {
    /// Reads one or two secrets, one per line: `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// # Errors
    /// The required form of the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let lines: Vec<_> = text.split('\n').collect();
        if lines.len() > SECRETS_MAX {
            return Err(TOO_MANY);
        }
        let secrets = lines.into_iter().map(|line| {
            // Editors on Windows end lines with CRLF.
            let secret = line.strip_suffix('\r').unwrap_or(line);
            let encoded = secret.strip_prefix("whsec_").ok_or(NO_PREFIX)?;
            let key = LENIENT.decode(encoded).map_err(|_error| NO_BASE64)?;
            let key = Some(key).filter(|key| (24..=64).contains(&key.len()));
            Ok(hmac::Key::new(HMAC_SHA256, &key.ok_or(BAD_LENGTH)?))
        });
        secrets.collect::<Result<_, _>>().map(Self)
    }

    /// The value of `webhook-signature`: the signatures of the message `id` by each secret, separated by a space. The
    /// provider accepts the message if it knows one of them. `sent_s` is in seconds since the Unix epoch.
    pub fn sign(&self, id: &str, sent_s: u64, body: &[u8]) -> String {
        let signatures = self.0.iter().map(|secret| {
            let mut code = hmac::Context::with_key(secret);
            code.update(format!("{id}.{sent_s}.").as_bytes());
            code.update(body);
            let code = code.sign();
            format!("v1,{}", STANDARD.encode(code))
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
    fn secrets_have_a_prefix_and_24_to_64_bytes() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for bytes in [24, 25, 26, 32, 64] {
            assert!(WebhookSecrets::parse(&of(bytes)).is_ok(), "{bytes}");
            let unpadded = of(bytes).trim_end_matches('=').to_owned();
            assert!(WebhookSecrets::parse(&unpadded).is_ok(), "{bytes}");
        }
        for (text, error) in [
            (String::new(), NO_PREFIX),
            (of(32).replace("whsec_", ""), NO_PREFIX),
            (of(32).replace("whsec_", "WHSEC_"), NO_PREFIX),
            (of(32).replace("whsec_", "whsec_!"), NO_BASE64),
            (format!("{} ", of(32)), NO_BASE64),
            ("whsec_".to_owned(), BAD_LENGTH),
            (of(23), BAD_LENGTH),
            (of(65), BAD_LENGTH),
        ] {
            assert_eq!(WebhookSecrets::parse(&text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn two_secrets_on_a_line_each_sign_at_once() {
        let [old, new] = [7, 8].map(|byte| format!("whsec_{}", STANDARD.encode([byte; 24])));
        let signature = |text: &str| {
            let secrets = WebhookSecrets::parse(text).unwrap();
            secrets.sign("msg_1", 1_614_265_330, b"{}")
        };
        let both = [signature(&old), signature(&new)].join(" ");
        assert_ne!(signature(&old), signature(&new));
        assert_eq!(signature(&format!("{old}\n{new}")), both);
        assert_eq!(signature(&format!("{old}\r\n{new}")), both);
        for (text, error) in [
            (String::new(), NO_PREFIX),
            (format!("{old}\n"), NO_PREFIX),
            (format!("\n{old}"), NO_PREFIX),
            (format!("{old} {new}"), NO_BASE64),
            (format!("{old}\n# {new}"), NO_PREFIX),
            (format!("{old}\nwhsec_AAAA"), BAD_LENGTH),
            (format!("{old}\n\n{new}"), TOO_MANY),
            (format!("{old}\n{new}\n{old}"), TOO_MANY),
        ] {
            assert_eq!(WebhookSecrets::parse(&text).unwrap_err(), error, "{text}");
        }
        let secrets = WebhookSecrets::parse(&old).unwrap();
        assert_eq!(format!("{secrets:?}"), "WebhookSecrets(..)");
    }
}
