//! Signatures of the Standard Webhooks specification, version 1.0: HMAC-SHA256 over id, time and
//! body.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::macros::hidden;

/// Some providers omit the padding of a secret.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The key shared with the provider.
#[derive(Clone)]
pub struct WebhookSecret(Vec<u8>);

/// Why a text is no secret. The messages do not repeat it.
const NO_PREFIX: &str = "must hold a secret that begins with whsec_";
const NO_BASE64: &str = "must hold Base64 after whsec_";
const BAD_LENGTH: &str = "must hold 24 to 64 bytes in Base64 after whsec_";

impl WebhookSecret {
    /// Reads `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// # Errors
    /// What the text must hold.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let encoded = text.strip_prefix("whsec_").ok_or(NO_PREFIX)?;
        let key = LENIENT.decode(encoded).map_err(|_error| NO_BASE64)?;
        if (24..=64).contains(&key.len()) {
            Ok(Self(key))
        } else {
            Err(BAD_LENGTH)
        }
    }

    /// The value of `webhook-signature` for the message `id`, sent at `sent_s` in seconds since the
    /// Unix epoch.
    pub fn sign(&self, id: &str, sent_s: u64, body: &[u8]) -> String {
        // HMAC takes a key of any length, so this does not fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{sent_s}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

hidden!(WebhookSecret);

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference libraries of Standard Webhooks.
    #[test]
    fn the_published_vector_is_met() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
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
            assert!(WebhookSecret::parse(&of(bytes)).is_ok(), "{bytes}");
            let unpadded = of(bytes).trim_end_matches('=').to_owned();
            assert!(WebhookSecret::parse(&unpadded).is_ok(), "{bytes}");
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
            assert_eq!(WebhookSecret::parse(&text).unwrap_err(), error, "{text}");
        }
        let secret = WebhookSecret::parse(&of(24)).unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret(..)");
    }
}
