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

/// The required form. It quotes nothing.
const FORM: &str = "must contain one secret, or two during a rotation, one per line: whsec_ and 24 to 64 bytes in Base64";

impl WebhookSecrets {
    /// Reads one or two secrets, one per line: `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// # Errors
    /// The required form of the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let secrets = text.split('\n').map(|line| {
            // Editors on Windows end lines with CRLF.
            let secret = line.strip_suffix('\r').unwrap_or(line);
            let key = LENIENT.decode(secret.strip_prefix("whsec_")?).ok()?;
            let key = Some(key).filter(|key| (24..=64).contains(&key.len()))?;
            Some(hmac::Key::new(HMAC_SHA256, &key))
        });
        let secrets: Option<Vec<_>> = secrets.collect();
        let secrets = secrets.filter(|secrets| secrets.len() <= SECRETS_MAX);
        secrets.map(Self).ok_or(FORM)
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
        for text in [
            String::new(),
            of(32).replace("whsec_", ""),
            of(32).replace("whsec_", "WHSEC_"),
            of(32).replace("whsec_", "whsec_!"),
            format!("{} ", of(32)),
            "whsec_".to_owned(),
            of(23),
            of(65),
        ] {
            assert_eq!(WebhookSecrets::parse(&text).unwrap_err(), FORM, "{text}");
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
        for text in [
            String::new(),
            format!("{old}\n"),
            format!("\n{old}"),
            format!("{old} {new}"),
            format!("{old}\n# {new}"),
            format!("{old}\nwhsec_AAAA"),
            format!("{old}\n\n{new}"),
            format!("{old}\n{new}\n{old}"),
        ] {
            assert_eq!(WebhookSecrets::parse(&text).unwrap_err(), FORM, "{text}");
        }
        let secrets = WebhookSecrets::parse(&old).unwrap();
        assert_eq!(format!("{secrets:?}"), "WebhookSecrets(..)");
    }
}
