//! What an error of the database means.

use tokio_postgres::Error;

use crate::adapters::outbound::error_chain;
use crate::ports::StoreError;

/// Why a statement has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is of no use any more. Whether the statement took effect is unknown.
    Lost,
    /// The server ended the statement, which another one was in the way of, and it took no effect.
    Again,
    /// Somebody else holds a row for long. It took no effect.
    Locked,
    /// Asking again does not help.
    Final(StoreError),
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        let Some(code) = error.code() else {
            return Self::Lost;
        };
        match code.code() {
            // Read-only, or on its way down or up.
            "25006" | "57P01" | "57P02" | "57P03" => Self::Lost,
            other if other.starts_with("08") => Self::Lost,
            "40P01" | "40001" => Self::Again,
            "55P03" => Self::Locked,
            "53100" => Self::Final(StoreError::Full(describe(error))),
            _ => Self::Final(StoreError::Unavailable(describe(error))),
        }
    }
}

impl From<Failure> for StoreError {
    /// For a statement that is not asked again.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost => Self::Unavailable("the connection was lost".to_owned()),
            Failure::Again | Failure::Locked => Self::Overloaded,
            Failure::Final(error) => error,
        }
    }
}

/// The error for the log and the operator. The server's own words may quote an address, so only its code is
/// told.
pub(super) fn describe(error: &Error) -> String {
    match error.code() {
        Some(code) => format!("SQLSTATE {}", code.code()),
        None => error_chain(error),
    }
}

/// No answer in time.
pub(super) fn too_late() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".to_owned())
}
