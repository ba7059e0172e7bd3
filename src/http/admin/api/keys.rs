//! API keys.

use std::sync::Arc;

use futures_util::StreamExt as _;
use hyper::Response;
use serde::{Deserialize, Serialize};

use crate::domain::credential::{KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::http::admin::reply::{self, AdminBody, AdminError};
use crate::http::admin::request::AdminRequest;
use crate::usecases::keys::{self, RevokeKeyError};

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
pub(in crate::http::admin) async fn list(
    request: AdminRequest,
) -> Result<Response<AdminBody>, AdminError> {
    let now = request.app.clock.now();
    let pages = keys::list(&*request.app.keys).await?;
    tracing::info!(command = "keys list", "operator");
    Ok(reply::stream(pages.map(move |page| {
        let page = page?;
        reply::lines(page.iter().map(|record| KeyRow::of(record, now)))
    })))
}

/// Names of keys: ids or whole keys.
#[derive(Clone, Serialize, Deserialize)]
pub struct KeyNames {
    /// The names.
    pub names: Vec<String>,
}

impl std::fmt::Debug for KeyNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyNames(..)")
    }
}

/// What is known of one name, or was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAnswer {
    /// The id that was named.
    pub id: String,
    /// `unknown`, or `ambiguous` if several keys happen to have the id. When asked: `active`, `expired` or
    /// `revoked`. When revoking: `revoked`, `revoked before` or `expired before`.
    pub result: String,
    /// The key, if there is one.
    pub key: Option<KeyRow>,
}

/// Tells what is known of keys.
pub(in crate::http::admin) async fn check(
    request: AdminRequest,
) -> Result<Response<AdminBody>, AdminError> {
    let app = Arc::clone(&request.app);
    let now = app.clock.now();
    let mut answers = Vec::new();
    for name in names(request).await? {
        let found = keys::find(&*app.keys, &name).await?;
        let (result, key) = match found.as_slice() {
            [] => ("unknown", None),
            [record] => (word(record.state(now)), Some(KeyRow::of(record, now))),
            [_, ..] => ("ambiguous", None),
        };
        answers.push(answer(&name, result, key));
    }
    reply::json(&answers)
}

/// Revokes keys.
pub(in crate::http::admin) async fn revoke(
    request: AdminRequest,
) -> Result<Response<AdminBody>, AdminError> {
    let app = Arc::clone(&request.app);
    let now = app.clock.now();
    let mut answers = Vec::new();
    for name in names(request).await? {
        let (result, key) = match keys::revoke(&*app.keys, &name, now).await {
            Ok(revoked) => {
                let result = match revoked.before {
                    KeyState::Active => "revoked",
                    KeyState::Revoked => "revoked before",
                    KeyState::Expired => "expired before",
                };
                let row = KeyRow::of(&revoked.record, now);
                tracing::info!(command = "keys revoke", key.id = row.id, result, "operator");
                (result, Some(row))
            }
            Err(RevokeKeyError::Unknown) => ("unknown", None),
            Err(RevokeKeyError::Ambiguous(_)) => ("ambiguous", None),
            Err(RevokeKeyError::Store(error)) => return Err(error.into()),
        };
        answers.push(answer(&name, result, key));
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

fn answer(name: &KeyName, result: &str, key: Option<KeyRow>) -> KeyAnswer {
    let id = match (&key, name) {
        (Some(key), _) => key.id.clone(),
        (None, KeyName::Id(id)) => id.to_string(),
        (None, KeyName::Fingerprint(digits)) => format!("fp:{digits}"),
        (None, KeyName::Whole(key)) => key.id().to_string(),
    };
    KeyAnswer {
        id,
        result: result.to_owned(),
        key,
    }
}
