//! Which of an identity's events still count: one rule for the index and for compaction.
//!
//! | Event | Nothing kept before | Something kept before |
//! |---|---|---|
//! | contact subscribed, contact imported, tombstone set | kept as the first | does not count |
//! | contact seen | does not count | kept as the last, instead of any other |
//! | contact forgotten, tombstone removed | does not count | nothing is kept |
//! | key issued, token revoked | kept as the first | kept as the first, and alone |
//! | key revoked | does not count | kept as the last, unless there is one |

use std::io;

use crate::domain::time::Timestamp;

use super::event::{Event, Identity};

/// What is kept of an identity: the event that created it, and the one that last changed it. `T` is
/// the event or its place in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept<T> {
    pub(crate) first: T,
    pub(crate) last: Option<T>,
}

/// What an event does to what is kept of its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Creates the identity, if it is new.
    Create,
    /// Creates the identity anew.
    Replace,
    /// Changes it; the last such event counts.
    Update,
    /// Changes it; the first such event counts.
    Settle,
    /// Removes it.
    Remove,
}

impl Effect {
    fn of(event: &Event) -> Self {
        match event {
            Event::ContactSubscribed { .. }
            | Event::ContactImported { .. }
            | Event::TombstoneSet { .. } => Self::Create,
            Event::ContactSeen { .. } => Self::Update,
            Event::ContactForgotten { .. } | Event::TombstoneRemoved { .. } => Self::Remove,
            Event::KeyIssued { .. } | Event::TokenRevoked { .. } => Self::Replace,
            Event::KeyRevoked { .. } => Self::Settle,
        }
    }
}

/// Folds an event with `effect` into `before`; `this` is its stored form.
fn after<T>(before: Option<Kept<T>>, effect: Effect, this: T) -> Option<Kept<T>> {
    match (effect, before) {
        (Effect::Create, Some(kept)) => Some(kept),
        (Effect::Create, None) | (Effect::Replace, _) => Some(Kept {
            first: this,
            last: None,
        }),
        (Effect::Remove, _) | (Effect::Update | Effect::Settle, None) => None,
        (Effect::Update, Some(kept)) => Some(Kept {
            last: Some(this),
            ..kept
        }),
        (Effect::Settle, Some(kept)) => Some(Kept {
            last: kept.last.or(Some(this)),
            ..kept
        }),
    }
}

/// Folds the event into `before`; `this` is its stored form.
pub(crate) fn fold<T>(before: Option<Kept<T>>, event: &Event, this: T) -> Option<Kept<T>> {
    after(before, Effect::of(event), this)
}

/// An event on its way into the ledger or the index.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) identity: Identity,
    effect: Effect,
    /// The event as the ledger has it.
    pub(crate) json: Box<[u8]>,
    /// As [`Event::at`].
    pub(crate) at: Option<Timestamp>,
}

impl Entry {
    pub(crate) fn new(event: &Event) -> io::Result<Self> {
        Ok(Self::recorded(event, &serde_json::to_vec(event)?))
    }

    /// The event that the ledger has as `json`.
    pub(crate) fn recorded(event: &Event, json: &[u8]) -> Self {
        Self {
            identity: event.identity(),
            effect: Effect::of(event),
            json: json.into(),
            at: event.at(),
        }
    }

    /// Removes what is kept of `identity`. It is for the index only.
    pub(crate) fn removal(identity: Identity) -> Self {
        Self {
            identity,
            effect: Effect::Remove,
            json: Box::default(),
            at: None,
        }
    }

    /// What is kept after it.
    pub(crate) fn fold(self, before: Option<Kept<Box<[u8]>>>) -> Option<Kept<Box<[u8]>>> {
        after(before, self.effect, self.json)
    }
}
