//! A consent as the stores keep it, in JSON.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::adapters::hex::Hex;
use crate::domain::{Consent, Language, SignUpWay, Source, TextDigest, Timestamp};

/// A consent: when, by what, and what else is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConsentEntry {
    at: u64,
    by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Hex<16>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<IpAddr>,
}

impl From<&Consent> for ConsentEntry {
    fn from(consent: &Consent) -> Self {
        Self {
            at: consent.at.as_ms(),
            by: consent.way.as_str().to_owned(),
            language: consent.language.map(|it| it.tag().to_owned()),
            text: consent.text.map(|it| Hex(*it.as_bytes())),
            source: consent.source.as_ref().map(|it| it.as_str().to_owned()),
            ip: consent.ip,
        }
    }
}

impl ConsentEntry {
    /// `None` if it is one of a later version.
    pub(super) fn into_consent(self) -> Option<Consent> {
        Some(Consent {
            at: Timestamp::from_ms(self.at),
            way: SignUpWay::from_name(&self.by)?,
            language: self.language.as_deref().and_then(Language::of_tag),
            text: self.text.map(|it| TextDigest::from_bytes(it.0)),
            source: self.source.as_deref().and_then(Source::parse),
            ip: self.ip,
        })
    }
}
