//! The meaning of a database error, for a statement and for the operator.

use std::error::Error as _;

use tokio_postgres::Error;

use crate::adapters::outbound::root_cause;
use crate::domain::quoted;
use crate::ports::StoreError;

/// The reason why a statement has no result; `None` if the connection is unusable, and it is unknown whether the
/// statement took effect. With [`StoreError::Overloaded`] it took none: another transaction was in its way.
pub(super) fn failure(error: &Error) -> Option<StoreError> {
    failure_of(error.code()?.code())
}

fn failure_of(code: &str) -> Option<StoreError> {
    match code {
        // Read-only, or unknown whether it took effect.
        "25006" | "40003" => None,
        // No connection, or the server is stopping or starting.
        _ if code.starts_with("08") || code.starts_with("57P") => None,
        // A deadlock, a conflict, or a row that another transaction holds for a long time.
        "40P01" | "40001" | "55P03" => Some(StoreError::Overloaded),
        "53100" => Some(StoreError::Full(sqlstate(code))),
        _ => Some(StoreError::Unavailable(sqlstate(code))),
    }
}

/// An error of the server, for the log and the operator. Its own text may quote an address, and its language and
/// encoding vary, so only the code is reported.
fn sqlstate(code: &str) -> String {
    quoted(format!("SQLSTATE {code}").as_bytes(), None)
}

/// The error when there is no response in time.
pub(super) fn too_late() -> StoreError {
    StoreError::Unavailable("the database did not respond in time".to_owned())
}

pub(super) const READ_ONLY: &str = "the database is not writable: --store lists only standbys, or the primary is read-only \
     (default_transaction_read_only)";
const NO_DATABASE: &str =
    "the server has no such database: create it with CREATE DATABASE, or correct --store";
const FORBIDDEN: &str = "the user lacks a permission in the database: make it the owner of the tables, and run \
     GRANT CREATE ON SCHEMA public";
const FOREIGN_TABLE: &str =
    "a table in the database belongs to another program: use a separate database";

/// The database cannot be used. The text is one line for the operator: the problem and its solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresOpenError {
    /// No host is there and writable, which may change by itself.
    #[error("{0}")]
    Away(String),
    /// The tables do not exist.
    #[error("the database has no tables yet: run `landing-api migrate` with the same flags")]
    NoTables,
    /// The operator has to change something.
    #[error("{0}")]
    Refused(String),
}

impl PostgresOpenError {
    pub(super) fn unreachable(reason: &str) -> Self {
        Self::Away(format!(
            "the database cannot be reached: {reason}: is it running, and does --store list its hosts?"
        ))
    }

    fn credentials(reason: &str) -> Self {
        Self::Refused(format!(
            "the database rejects the user or the password ({reason}): check --store, --store-password-file and \
             the server's pg_hba.conf"
        ))
    }

    fn of_code(code: &str) -> Self {
        let state = sqlstate(code);
        match code {
            _ if code.starts_with("28") => Self::credentials(&state),
            "3D000" => Self::Refused(NO_DATABASE.to_owned()),
            "42P01" => Self::NoTables,
            "42P07" => Self::Refused(FOREIGN_TABLE.to_owned()),
            "42501" => Self::Refused(FORBIDDEN.to_owned()),
            "25006" => Self::Away(READ_ONLY.to_owned()),
            // Pooler without a server, conflict, out of resources, locked, starting or stopping.
            _ if ["08", "40", "53", "55", "57"].contains(&code.get(..2).unwrap_or(code)) => {
                Self::unreachable(&state)
            }
            _ => Self::Refused(format!("the database cannot be used: {state}")),
        }
    }
}

impl From<Error> for PostgresOpenError {
    /// The meaning of an error of connecting, or of the first statements.
    fn from(error: Error) -> Self {
        if let Some(code) = error.code() {
            return Self::of_code(code.code());
        }
        let (kind, text) = (error.to_string(), root_cause(&error));
        let text = quoted(text.as_bytes(), None);
        // The driver distinguishes these kinds only by their texts.
        if kind.starts_with("error performing TLS handshake") && !is_cut(&error) {
            Self::Refused(format!(
                "no TLS with the database: {text}: add its certificate authority with --store-ca, or use \
                 sslmode=disable in --store if the network is trusted"
            ))
        } else if kind.starts_with("invalid configuration")
            || kind.starts_with("authentication error")
        {
            Self::credentials(&text)
        } else {
            Self::unreachable(&text)
        }
    }
}

/// True if the network failed during the handshake.
fn is_cut(error: &Error) -> bool {
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| {
        io.get_ref()
            .is_none_or(|root| !root.is::<tokio_rustls::rustls::Error>())
    })
}

impl From<PostgresOpenError> for StoreError {
    fn from(error: PostgresOpenError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_what_becomes_of_a_statement() {
        for (codes, expected) in [
            (
                "25006 40003 57P01 57P02 57P03 57P05 08000 08006 08P01",
                "None",
            ),
            ("40P01 40001 55P03", "Overloaded"),
            ("53100", "Full"),
            (
                "53200 53300 57014 28P01 42501 42P01 58030 XX001 0 é",
                "Unavailable",
            ),
        ] {
            for code in codes.split(' ') {
                let failure = format!("{:?}", failure_of(code));
                assert!(failure.contains(expected), "{code}: {failure}");
            }
        }
    }
}
