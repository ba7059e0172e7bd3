//! The stored form of a consent, in JSON.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::adapters::hex::Hex;
use crate::domain::{Confirmation, Consent, Language, SignUpWay, Source, TextDigest, Timestamp};

/// A consent: its time, its channel, and further details if known.
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
            language: consent.language.map(|language| language.tag().to_owned()),
            text: consent.text.map(|digest| Hex(*digest.as_bytes())),
            source: consent.source.as_ref().map(|name| name.as_str().to_owned()),
            ip: consent.ip,
        }
    }
}

impl ConsentEntry {
    /// `None` for a consent of a later version.
    pub(super) fn into_consent(self) -> Option<Consent> {
        Some(Consent {
            at: Timestamp::from_ms(self.at),
            way: SignUpWay::from_name(&self.by)?,
            language: self.language.as_deref().and_then(Language::of_tag),
            text: self.text.map(|digest| TextDigest::from_bytes(digest.0)),
            source: self.source.as_deref().and_then(Source::parse),
            ip: self.ip,
        })
    }
}

/// A confirmation: that it was requested, and how it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfirmationEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mailed_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undeliverable_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<IpAddr>,
}

impl From<&Confirmation> for ConfirmationEntry {
    fn from(confirmation: &Confirmation) -> Self {
        Self {
            mailed_at: confirmation.mailed_at.map(Timestamp::as_ms),
            undeliverable_at: confirmation.undeliverable_at.map(Timestamp::as_ms),
            confirmed_at: confirmation.confirmed_at.map(Timestamp::as_ms),
            ip: confirmation.ip,
        }
    }
}

impl From<ConfirmationEntry> for Confirmation {
    fn from(entry: ConfirmationEntry) -> Self {
        Self {
            mailed_at: entry.mailed_at.map(Timestamp::from_ms),
            undeliverable_at: entry.undeliverable_at.map(Timestamp::from_ms),
            confirmed_at: entry.confirmed_at.map(Timestamp::from_ms),
            ip: entry.ip,
        }
    }
}
