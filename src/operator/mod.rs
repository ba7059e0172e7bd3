//! The operator's requests: by command, over `admin.sock` or on a stopped data directory in the command's own
//! process, and on the admin page.
//!
//! | Module | Contents |
//! |---|---|
//! | [`operation`] | a request, its answer, and its errors |
//! | [`contacts`], [`contact_csv`], [`import`], [`keys`], [`agents`], [`limits`], [`block`], [`questions`], [`queue`], [`mail`], [`ledger`], [`status`], [`links`] | a noun each: its rows, its operations, their lines in the log |
//! | [`socket`] | answers as JSON Lines, for commands |
//! | [`page`] | answers as HTML, for browsers |
//! | [`exposition`] | `/metrics`, `/live` and `/ready`, for monitors |
//! | `families` | the table of metrics |
//!
//! An operation is a row of `OPERATIONS` and works the same for every caller. Only the operator can call it,
//! so nothing here is rate-limited, and failures report their cause.

pub mod agents;
pub mod block;
pub mod contact_csv;
pub mod contacts;
pub mod exposition;
mod families;
pub mod import;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod links;
pub mod mail;
pub mod operation;
pub mod page;
pub mod questions;
pub mod queue;
pub mod sessions;
pub mod socket;
pub mod status;

use self::operation::{Answer, Operation, OperatorError, OperatorRequest};

/// All operations.
static OPERATIONS: &[&Operation] = &[
    &agents::LIST_REVOKED,
    &agents::REVOKE,
    &block::ADD,
    &block::LIST,
    &block::REMOVE,
    &contacts::COUNT,
    &contacts::FORGET,
    &contacts::LIST,
    &contacts::SHOW,
    &import::IMPORT,
    &keys::CHECK,
    &keys::LIST,
    &keys::REVOKE,
    &ledger::COMPACT,
    &limits::RESET,
    &limits::SHOW,
    &links::LINK,
    &mail::ALLOW,
    &mail::TEST,
    &questions::LIST,
    &queue::DROP,
    &queue::HOLD,
    &queue::LIST,
    &queue::RELEASE,
    &queue::RETRY,
    &queue::SHOW,
    &status::FLAGS,
    &status::SHOW,
];

/// Runs the operation of this name.
///
/// # Errors
/// [`OperatorError::Unknown`] if there is none, for example when the command has another version.
pub async fn operate(name: &str, request: OperatorRequest) -> Result<Answer, OperatorError> {
    let operation = OPERATIONS.iter().find(|operation| operation.name == name);
    operation.ok_or(OperatorError::Unknown)?.run(request).await
}
