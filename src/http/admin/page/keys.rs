//! API keys: listed, revoked.

use minijinja::context;

use crate::domain::credential::{KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::usecases::keys;

use super::answer::PageError;
use super::page_request::{PageAnswer, PageRequest, minute};
use super::picked::{page_number, pick};
use super::views::{ConfirmationPage, MessagePage};

/// Shows the keys whose id or label holds `q`.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let part = request.params.get("q").unwrap_or_default().trim();
    // Ids have both cases, and people do not remember those of labels.
    let needle = part.to_lowercase();
    let is_wanted = |key: &KeyRecord| {
        key.name().to_lowercase().contains(&needle) || label(key).to_lowercase().contains(&needle)
    };
    let number = page_number(&request.params);
    let list = request.app.keys.list().await?;
    let picked = pick(list, number, is_wanted).await?;
    let row = |key: &KeyRecord| {
        context! {
            name => key.name(),
            label => label(key),
            issued_at => minute(key.issued_at),
            state => state(key, request.now),
            is_active => key.is_active(request.now),
            key => key.fingerprint.name(),
        }
    };
    let values = picked.values(number, row);
    request.page("keys.html", context! { q => part, ..values })
}

fn label(key: &KeyRecord) -> &str {
    key.label.as_ref().map_or("", |label| label.as_str())
}

fn state(key: &KeyRecord, now: Timestamp) -> String {
    match key.revoked_at {
        Some(at) => format!("revoked {}", minute(at)),
        None if key.is_active(now) => format!("good until {}", minute(key.expires_at)),
        None => format!("expired {}", minute(key.expires_at)),
    }
}

/// Asks whether to revoke the key that `key` names.
pub(super) async fn confirm_revocation(request: PageRequest) -> PageAnswer {
    let name = name(&request)?;
    let found = keys::find(&*request.app.keys, &name).await?;
    let key = found.ok_or_else(unknown)?;
    let fingerprint = key.fingerprint.name();
    request.confirm(&ConfirmationPage {
        title: "Revoke this key?",
        paragraphs: &[
            "From then on, requests with this key are answered with 401. It cannot be made good \
             again; its owner can issue another one.",
        ],
        facts: facts(&key, request.now),
        action: "/keys/revoke",
        fields: vec![("key", &fingerprint)],
        button: "Revoke it",
        back: "/keys",
    })
}

/// Revokes it.
pub(super) async fn revoke(request: PageRequest) -> PageAnswer {
    let name = name(&request)?;
    let revoked = keys::revoke(&*request.app.keys, &name, request.now).await?;
    let revoked = revoked.ok_or_else(unknown)?;
    let key = revoked.record;
    tracing::info!(page = "keys revoke", key.id = key.name(), "operator");
    let (title, paragraph) = match revoked.before {
        KeyState::Active => ("Revoked", "The key is good no longer."),
        KeyState::Revoked => ("Nothing to revoke", "The key was revoked before."),
        KeyState::Expired => ("Nothing to revoke", "The key had expired."),
    };
    request.message(&MessagePage {
        title,
        paragraphs: vec![paragraph.to_owned()],
        facts: facts(&key, request.now),
        next: Some(("/keys", "To the keys")),
    })
}

fn facts(key: &KeyRecord, now: Timestamp) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Key", key.name())];
    if key.label.is_some() {
        facts.push(("Label", label(key).to_owned()));
    }
    facts.push(("Issued", minute(key.issued_at)));
    facts.push(("State", state(key, now)));
    facts
}

fn name(request: &PageRequest) -> Result<KeyName, PageError> {
    let name = request.params.get("key").unwrap_or_default();
    KeyName::parse(name).map_err(|_no_name| unknown())
}

fn unknown() -> PageError {
    PageError::Input("There is no such key. Nothing was done.".to_owned())
}
