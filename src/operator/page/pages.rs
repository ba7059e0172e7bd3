//! The table of pages and their contents.

use serde_json::Value;

use crate::operator::operation::OperatorError;
use crate::operator::{agents, block, contacts, keys, limits, questions, queue, status};

use super::list::ListMembers;

/// The content of a page, or the effect of its form. The template is named after the path: that of
/// `/keys/revoke` is `keys-revoke.html`.
pub(super) enum View {
    /// Answers of operations, each under its name, and a list, searched and sorted.
    Page(
        &'static [(&'static str, &'static str)],
        Option<&'static ListMembers>,
    ),
    /// All contacts as a file.
    Export,
    Change(&'static Change),
    /// Dismisses the warning.
    PutAway,
    SignOut,
}

/// A change: a template that asks for a confirmation, and shows the result.
pub(super) struct Change {
    /// The parameters that identify its subject, at least one of them.
    pub(super) fields: &'static [&'static str],
    /// Looks up the subject, if it exists before the change.
    pub(super) ask: Option<&'static str>,
    /// The part of that for the template.
    ///
    /// # Errors
    /// When there is nothing to change.
    pub(super) asked: fn(Result<Value, OperatorError>) -> Result<Value, OperatorError>,
    pub(super) change: &'static str,
}

/// The pages: path and content.
pub(super) static PAGES: &[(&str, View)] = &[
    ("/", View::Page(&[STATUS], None)),
    ("/contacts", View::Page(&[], Some(&CONTACTS))),
    ("/contacts/show", View::Page(&[CONTACT], None)),
    ("/contacts/export", View::Export),
    ("/contacts/erase", View::Change(&ERASE_CONTACT)),
    ("/keys", View::Page(&[], Some(&KEYS))),
    ("/keys/revoke", View::Change(&REVOKE_KEY)),
    ("/policies", View::Page(&[LIMITS, STATUS], None)),
    ("/policies/reset", View::Change(&RESET_POLICY)),
    ("/agents", View::Page(&[], Some(&AGENTS))),
    ("/agents/revoke", View::Change(&REVOKE_AGENT)),
    ("/blocks", View::Page(&[], Some(&BLOCKS))),
    ("/blocks/add", View::Change(&ADD_BLOCK)),
    ("/blocks/remove", View::Change(&REMOVE_BLOCK)),
    ("/questions", View::Page(&[], Some(&QUESTIONS))),
    ("/queue", View::Page(&[STATUS], Some(&QUEUE))),
    ("/queue/retry", View::Change(&RETRY_DELIVERY)),
    ("/queue/drop", View::Change(&DROP_DELIVERY)),
    ("/queue/hold", View::Change(&HOLD_QUEUE)),
    ("/queue/release", View::Change(&RELEASE_QUEUE)),
    ("/warning/put-away", View::PutAway),
    ("/logout", View::SignOut),
];

const CONTACT: (&str, &str) = ("contact", contacts::SHOW);
const LIMITS: (&str, &str) = ("limits", limits::SHOW);
const STATUS: (&str, &str) = ("status", status::SHOW);

static CONTACTS: ListMembers = list(contacts::LIST, "email", "subscribed_at", &["email"]);
static KEYS: ListMembers = list(keys::LIST, "id", "issued_at", &["id", "label"]);
static AGENTS: ListMembers = list(
    agents::LIST_REVOKED,
    "client_id",
    "revoked_at",
    &["client_id"],
);
static BLOCKS: ListMembers = list(block::LIST, "network", "since", &["network"]);
static QUESTIONS: ListMembers = list(questions::LIST, "text", "asked_at", &[]);
static QUEUE: ListMembers = list(
    queue::LIST,
    "id",
    "queued_at",
    &["id", "state", "last_error"],
);

/// A list of `operation`, with the fields of its rows.
const fn list(
    operation: &'static str,
    id: &'static str,
    made_at: &'static str,
    searched: &'static [&'static str],
) -> ListMembers {
    ListMembers {
        operation,
        id,
        made_at,
        searched,
    }
}

static ERASE_CONTACT: Change = Change {
    fields: &["email"],
    ask: Some(contacts::SHOW),
    // An import skips erased addresses, even those without a contact.
    asked: |found| match found {
        Err(OperatorError::NotFound(_)) => Ok(Value::Null),
        found => found,
    },
    change: contacts::FORGET,
};
static REVOKE_KEY: Change = Change {
    fields: &["key"],
    ask: Some(keys::CHECK),
    asked: |found| match found? {
        found if found.pointer("/0/key").is_none_or(Value::is_null) => {
            Err(OperatorError::Input("There is no such key".to_owned()))
        }
        found => Ok(found),
    },
    change: keys::REVOKE,
};
static RESET_POLICY: Change = of(&["policy", "client"], Some(limits::SHOW), limits::RESET);
static REVOKE_AGENT: Change = of(&["client_id"], None, agents::REVOKE);
static ADD_BLOCK: Change = of(&["network"], None, block::ADD);
static REMOVE_BLOCK: Change = of(&["network"], None, block::REMOVE);
static RETRY_DELIVERY: Change = of(&["id"], Some(queue::SHOW), queue::RETRY);
static DROP_DELIVERY: Change = of(&["id"], Some(queue::SHOW), queue::DROP);
static HOLD_QUEUE: Change = of(&["channel"], None, queue::HOLD);
static RELEASE_QUEUE: Change = of(&["channel"], None, queue::RELEASE);

/// A change that shows the whole answer.
const fn of(
    fields: &'static [&'static str],
    ask: Option<&'static str>,
    change: &'static str,
) -> Change {
    Change {
        fields,
        ask,
        asked: |found| found,
        change,
    }
}
