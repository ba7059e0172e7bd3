//! The table of pages and their contents.

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
    /// A change: a template that asks for a confirmation, and shows the result. It has the parameters that
    /// identify its subject, at least one of them; the operation that looks it up, if it exists before; and the
    /// one that changes it.
    Change(&'static [&'static str], Option<&'static str>, &'static str),
    /// Dismisses the warning.
    PutAway,
    SignOut,
}

/// The pages: path and content.
pub(super) static PAGES: &[(&str, View)] = &[
    ("/", View::Page(&[STATUS], None)),
    ("/contacts", View::Page(&[], Some(&CONTACTS))),
    ("/contacts/show", View::Page(&[CONTACT], None)),
    ("/contacts/export", View::Export),
    (
        "/contacts/erase",
        View::Change(&["email"], Some(contacts::SHOW), contacts::FORGET),
    ),
    ("/keys", View::Page(&[], Some(&KEYS))),
    (
        "/keys/revoke",
        View::Change(&["key"], Some(keys::CHECK), keys::REVOKE),
    ),
    ("/policies", View::Page(&[LIMITS, STATUS], None)),
    (
        "/policies/reset",
        View::Change(&["policy", "client"], Some(limits::SHOW), limits::RESET),
    ),
    ("/agents", View::Page(&[], Some(&AGENTS))),
    (
        "/agents/revoke",
        View::Change(&["client_id"], None, agents::REVOKE),
    ),
    ("/blocks", View::Page(&[], Some(&BLOCKS))),
    ("/blocks/add", View::Change(&["network"], None, block::ADD)),
    (
        "/blocks/remove",
        View::Change(&["network"], None, block::REMOVE),
    ),
    ("/questions", View::Page(&[], Some(&QUESTIONS))),
    ("/queue", View::Page(&[STATUS], Some(&QUEUE))),
    (
        "/queue/retry",
        View::Change(&["id"], Some(queue::SHOW), queue::RETRY),
    ),
    (
        "/queue/drop",
        View::Change(&["id"], Some(queue::SHOW), queue::DROP),
    ),
    ("/queue/hold", View::Change(&["channel"], None, queue::HOLD)),
    (
        "/queue/release",
        View::Change(&["channel"], None, queue::RELEASE),
    ),
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
