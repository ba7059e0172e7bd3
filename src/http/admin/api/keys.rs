//! API keys.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::domain::credential::{KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::http::admin::reply::{self, AdminAnswer, AdminError};
use crate::http::admin::request::AdminRequest;
use crate::usecases::keys;

/// A key, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    /// Its id; of an old key `fp:` and the beginning of its fingerprint.
    pub id: String,
    /// The caller's name for it.
    pub label: Option<String>,
    /// `active`, `expired` or `revoked`.
    pub state: String,
    /// When it was issued, in RFC 3339.
    pub issued_at: String,
    /// When it expires, in RFC 3339.
    pub expires_at: String,
    /// When it was revoked, in RFC 3339.
    pub revoked_at: Option<String>,
}

impl KeyRow {
    fn of(record: &KeyRecord, now: Timestamp) -> Self {
        Self {
            id: record.name(),
            label: record.label.as_ref().map(|label| label.as_str().to_owned()),
            state: word(record.state(now)).to_owned(),
            issued_at: record.issued_at.to_rfc3339(),
            expires_at: record.expires_at.to_rfc3339(),
            revoked_at: record.revoked_at.map(Timestamp::to_rfc3339),
        }
    }
}

const fn word(state: KeyState) -> &'static str {
    match state {
        KeyState::Active => "active",
        KeyState::Expired => "expired",
        KeyState::Revoked => "revoked",
    }
}

/// Lists all keys.
pub(in crate::http::admin) async fn list(request: AdminRequest) -> AdminAnswer {
    let now = request.app.clock.now();
    let pages = request.app.keys.list().await?;
    tracing::info!(command = "keys list", "operator");
    Ok(reply::stream(pages.map(move |page| {
        let page = page?;
        Ok(reply::lines(
            page.iter().map(|record| KeyRow::of(record, now)),
        )?)
    })))
}

/// Names of keys: ids or whole keys.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeyNames {
    /// The names.
    pub(crate) names: Vec<String>,
}

/// What is known of one name, or was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAnswer {
    /// The id that was named.
    pub id: String,
    /// `unknown` if there is no key. When asked: `active`, `expired` or `revoked`. When revoking: `revoked`,
    /// `revoked before` or `expired before`.
    pub result: String,
    /// The key, if there is one.
    pub key: Option<KeyRow>,
}

/// Tells what is known of keys.
pub(in crate::http::admin) async fn check(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let now = app.clock.now();
    let mut answers = Vec::new();
    for name in names(request).await? {
        let found = keys::find(&*app.keys, &name).await?;
        let found = found.map(|record| (word(record.state(now)), KeyRow::of(&record, now)));
        answers.push(answer(&name, found));
    }
    reply::json(&answers)
}

/// Revokes keys.
pub(in crate::http::admin) async fn revoke(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let now = app.clock.now();
    let mut answers = Vec::new();
    for name in names(request).await? {
        let revoked = keys::revoke(&*app.keys, &name, now).await?;
        let revoked = revoked.map(|revoked| {
            let result = match revoked.before {
                KeyState::Active => "revoked",
                KeyState::Revoked => "revoked before",
                KeyState::Expired => "expired before",
            };
            let row = KeyRow::of(&revoked.record, now);
            tracing::info!(command = "keys revoke", key.id = row.id, result, "operator");
            (result, row)
        });
        answers.push(answer(&name, revoked));
    }
    reply::json(&answers)
}

async fn names(request: AdminRequest) -> Result<Vec<KeyName>, AdminError> {
    let KeyNames { names } = request.json().await?;
    let names = names.iter().map(|name| KeyName::parse(name));
    names
        .collect::<Result<_, _>>()
        .map_err(|error| AdminError::Input(error.to_string()))
}

fn answer(name: &KeyName, found: Option<(&str, KeyRow)>) -> KeyAnswer {
    let (result, key) = found.map_or(("unknown", None), |(result, key)| (result, Some(key)));
    KeyAnswer {
        id: key
            .as_ref()
            .map_or_else(|| name.public(), |key| key.id.clone()),
        result: result.to_owned(),
        key,
    }
}
