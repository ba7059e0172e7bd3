//! The table of pages and their contents.

use serde_json::Value;

use crate::operator::operation::{Operation, OperatorError};
use crate::operator::{agents, contacts, keys, limits, questions, queue, status};

use super::list::ListMembers;

/// The content of a page, or the effect of its form.
pub(super) enum View {
    Overview,
    /// Answers of operations, each under its name in the template.
    Values(&'static str, &'static [(&'static str, &'static Operation)]),
    /// A list, searched and sorted.
    List(&'static str, &'static Operation, ListMembers),
    /// All contacts as a file.
    Export,
    Change(&'static Change),
    /// Dismisses the warning.
    PutAway,
    SignOut,
}

/// A change: a template that asks for a confirmation, and shows the result.
pub(super) struct Change {
    pub(super) template: &'static str,
    /// The parameters that identify its subject, at least one of them.
    pub(super) fields: &'static [&'static str],
    /// Looks up the subject.
    pub(super) ask: &'static Operation,
    /// The part of that for the template.
    ///
    /// # Errors
    /// When there is nothing to change.
    pub(super) asked: fn(Result<Value, OperatorError>) -> Result<Value, OperatorError>,
    pub(super) change: &'static Operation,
}

impl Change {
    /// A change that shows the whole answer.
    const fn of(
        template: &'static str,
        fields: &'static [&'static str],
        ask: &'static Operation,
        change: &'static Operation,
    ) -> Self {
        Self {
            template,
            fields,
            ask,
            asked: |found| found,
            change,
        }
    }
}

/// The pages: path and content.
pub(super) static PAGES: &[(&str, View)] = &[
    ("/", View::Overview),
    (
        "/contacts",
        View::List("contacts.html", &contacts::LIST, CONTACTS),
    ),
    ("/contacts/export", View::Export),
    ("/contacts/erase", View::Change(&ERASE_CONTACT)),
    ("/keys", View::List("keys.html", &keys::LIST, KEYS)),
    ("/keys/revoke", View::Change(&REVOKE_KEY)),
    (
        "/policies",
        View::Values(
            "policies.html",
            &[("limits", &limits::SHOW), ("status", &status::SHOW)],
        ),
    ),
    ("/policies/reset", View::Change(&RESET_POLICY)),
    (
        "/agents",
        View::List("agents.html", &agents::LIST_REVOKED, AGENTS),
    ),
    (
        "/questions",
        View::List("questions.html", &questions::LIST, QUESTIONS),
    ),
    ("/queue", View::List("queue.html", &queue::LIST, QUEUE)),
    ("/queue/retry", View::Change(&RETRY_DELIVERY)),
    ("/queue/drop", View::Change(&DROP_DELIVERY)),
    ("/queue/hold", View::Change(&HOLD_QUEUE)),
    ("/queue/release", View::Change(&RELEASE_QUEUE)),
    ("/warning/put-away", View::PutAway),
    ("/logout", View::SignOut),
];

const CONTACTS: ListMembers = ListMembers {
    id: "email",
    made_at: "subscribed_at",
    searched: &["email"],
};
const KEYS: ListMembers = ListMembers {
    id: "id",
    made_at: "issued_at",
    searched: &["id", "label"],
};
const AGENTS: ListMembers = ListMembers {
    id: "client_id",
    made_at: "revoked_at",
    searched: &["client_id"],
};
const QUESTIONS: ListMembers = ListMembers {
    id: "text",
    made_at: "asked_at",
    searched: &[],
};
const QUEUE: ListMembers = ListMembers {
    id: "id",
    made_at: "queued_at",
    searched: &["id", "state", "last_error"],
};

static ERASE_CONTACT: Change = Change {
    // An import skips erased addresses, even those without a contact.
    asked: |found| match found {
        Err(OperatorError::NotFound(_)) => Ok(Value::Null),
        found => found,
    },
    ..Change::of(
        "contacts-erase.html",
        &["email"],
        &contacts::SHOW,
        &contacts::FORGET,
    )
};

static REVOKE_KEY: Change = Change {
    asked: |found| match found? {
        found if found.pointer("/0/key").is_none_or(Value::is_null) => {
            Err(OperatorError::Input("There is no such key".to_owned()))
        }
        found => Ok(found),
    },
    ..Change::of("keys-revoke.html", &["key"], &keys::CHECK, &keys::REVOKE)
};

static RETRY_DELIVERY: Change =
    Change::of("queue-retry.html", &["id"], &queue::SHOW, &queue::RETRY);
static DROP_DELIVERY: Change = Change::of("queue-drop.html", &["id"], &queue::SHOW, &queue::DROP);
static HOLD_QUEUE: Change =
    Change::of("queue-hold.html", &["channel"], &status::SHOW, &queue::HOLD);
static RELEASE_QUEUE: Change = Change::of(
    "queue-release.html",
    &["channel"],
    &status::SHOW,
    &queue::RELEASE,
);
static RESET_POLICY: Change = Change::of(
    "policies-reset.html",
    &["policy", "client"],
    &limits::SHOW,
    &limits::RESET,
);
