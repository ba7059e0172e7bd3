//! The operator's requests: by command, over `admin.sock` or on a stopped data directory in the command's own
//! process, and on the admin page.
//!
//! | Module | Contents |
//! |---|---|
//! | [`operation`] | a request, its answer, and its errors |
//! | [`contacts`], [`contact_csv`], [`import`], [`keys`], [`agents`], [`limits`], [`block`], [`questions`], [`queue`], [`mail`], [`ledger`], [`status`], [`links`] | a noun each: its rows, its operations, their lines in the log |
//! | `signer` | the filter of contacts by the client that signed them up |
//! | [`socket`] | answers as JSON Lines, for commands |
//! | [`page`] | answers as HTML, for browsers |
//! | [`exposition`] | `/metrics`, `/live` and `/ready`, for monitors |
//! | [`words`] | numbers and times for people |
//!
//! An operation is a name and a function, joined in `operate`, and works the same for every caller. Only the operator
//! can call it, so nothing here is rate-limited, and failures report their cause.

pub mod agents;
pub mod block;
pub mod contact_csv;
pub mod contacts;
pub mod exposition;
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
mod signer;
pub mod socket;
pub mod status;
pub mod words;

use futures_util::future::BoxFuture;

use self::operation::{Answer, OperatorError, OperatorRequest};

/// Runs the operation of this name.
///
/// # Errors
/// [`OperatorError::Unknown`] if there is none, for example when the command has another version.
pub async fn operate(name: &str, request: OperatorRequest) -> Result<Answer, OperatorError> {
    let answer: BoxFuture<'_, Result<Answer, OperatorError>> = match name {
        agents::LIST_REVOKED => Box::pin(agents::list_revoked(request)),
        agents::REVOKE => Box::pin(agents::revoke(request)),
        block::ADD => Box::pin(block::add(request)),
        block::LIST => Box::pin(block::list(request)),
        block::REMOVE => Box::pin(block::remove(request)),
        contacts::COUNT => Box::pin(contacts::count(request)),
        contacts::FORGET => Box::pin(contacts::forget(request)),
        contacts::LIST => Box::pin(contacts::list(request)),
        contacts::SHOW => Box::pin(contacts::show(request)),
        import::IMPORT => Box::pin(import::import(request)),
        keys::CHECK => Box::pin(keys::check(request)),
        keys::LIST => Box::pin(keys::list(request)),
        keys::REVOKE => Box::pin(keys::revoke(request)),
        ledger::COMPACT => Box::pin(ledger::compact(request)),
        limits::RESET => Box::pin(limits::reset(request)),
        limits::SHOW => Box::pin(limits::show(request)),
        links::LINK => Box::pin(links::link(request)),
        mail::ALLOW => Box::pin(mail::allow(request)),
        mail::TEST => Box::pin(mail::test(request)),
        questions::LIST => Box::pin(questions::list(request)),
        queue::DROP => Box::pin(queue::drop_one(request)),
        queue::HOLD => Box::pin(queue::hold(request, true)),
        queue::LIST => Box::pin(queue::list(request)),
        queue::RELEASE => Box::pin(queue::hold(request, false)),
        queue::RETRY => Box::pin(queue::retry(request)),
        queue::SHOW => Box::pin(queue::show(request)),
        status::FLAGS => Box::pin(status::flags(request)),
        status::SHOW => Box::pin(status::show(request)),
        _ => return Err(OperatorError::Unknown),
    };
    answer.await
}
