//! What an error of the database means: for a statement, and for whoever opens it.

use std::error::Error as _;

use tokio_postgres::Error;

use crate::adapters::outbound::root_cause;
use crate::domain::quoted;
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
        error
            .code()
            .map_or(Self::Lost, |code| Self::of_code(code.code()))
    }

    fn of_code(code: &str) -> Self {
        let text = sqlstate(code);
        match code {
            // Read-only, or nobody knows whether it took effect.
            "25006" | "40003" => Self::Lost,
            // No connection, or the server is on its way down or up.
            _ if code.starts_with("08") || code.starts_with("57P") => Self::Lost,
            "40P01" | "40001" => Self::Again,
            "55P03" => Self::Locked,
            "53100" => Self::Final(StoreError::Full(text)),
            _ => Self::Final(StoreError::Unavailable(text)),
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

/// An error of the server, for the log and the operator. Its own words may quote an address, and are in a language and an
/// encoding of its own, so only the code is told.
fn sqlstate(code: &str) -> String {
    quoted(format!("SQLSTATE {code}").as_bytes(), None)
}

/// No answer in time.
pub(super) fn too_late() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".to_owned())
}

/// The database cannot be used. Its text is one line for the operator: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresOpenError {
    /// No host answered.
    #[error("the database cannot be reached: {0}: does it run, and does --store name its hosts?")]
    Unreachable(String),
    /// No host takes writes.
    #[error(
        "the database takes no writes: --store names only standbys, or the primary is read-only \
         (default_transaction_read_only)"
    )]
    ReadOnly,
    /// It does not let this user in.
    #[error(
        "the database refuses the user or the password ({0}): check --store, --store-password-file and \
         the server's pg_hba.conf"
    )]
    Credentials(String),
    /// Which of them holds is not guessed.
    #[error("the password is in the URL and in a file: remove one of them")]
    TwoPasswords,
    /// It cannot be read any more.
    #[error("the password of the database cannot be read: {0}")]
    PasswordFile(String),
    /// There is no database of this name.
    #[error("the server has no such database: create it with CREATE DATABASE, or correct --store")]
    NoDatabase,
    /// TLS was not agreed on.
    #[error(
        "no TLS with the database: {0}: name the authority of its certificate with --store-ca, or \
         say sslmode=disable in --store if the network is trusted"
    )]
    Tls(String),
    /// The user lacks a right.
    #[error(
        "the user may not do that in the database: make it the owner of the tables, and run \
         GRANT CREATE ON SCHEMA public"
    )]
    Forbidden,
    /// Nobody has made the tables.
    #[error("the database has no tables yet: run `landing-api migrate` with the same flags")]
    NoTables,
    /// The tables were made by an earlier version.
    #[error(
        "the database has the tables of an earlier version ({found}, this one needs {needed}): run \
         `landing-api migrate` with the same flags"
    )]
    OlderSchema {
        /// What there is.
        found: i32,
        /// What this version needs.
        needed: i32,
    },
    /// There is a table of one of the names, made by somebody else.
    #[error(
        "the database has a table of another program by one of the names that this one needs: give it a \
         database of its own"
    )]
    ForeignTable,
    /// The database was used with another secret.
    #[error(
        "the secret is not the one that the database was used with: give every node the same \
         --secret-file, with the earlier secret as its second line if it was replaced"
    )]
    ForeignSecret,
    /// The server does not flush.
    #[error("the server runs with fsync=off and would lose sign-ups in a power cut: turn fsync on")]
    FsyncOff,
    /// It refused something else.
    #[error("the database cannot be used: {0}")]
    Other(String),
}

impl PostgresOpenError {
    /// Whether it may go away by itself.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::ReadOnly)
    }

    fn of_code(code: &str) -> Self {
        let text = sqlstate(code);
        match code {
            _ if code.starts_with("28") => Self::Credentials(text),
            "3D000" => Self::NoDatabase,
            "42P01" => Self::NoTables,
            "42P07" => Self::ForeignTable,
            "42501" => Self::Forbidden,
            "25006" => Self::ReadOnly,
            // A pooler without a server, in the way of another, out of something, locked, starting or stopping.
            _ if ["08", "40", "53", "55", "57"].contains(&code.get(..2).unwrap_or(code)) => {
                Self::Unreachable(text)
            }
            _ => Self::Other(text),
        }
    }
}

impl From<Error> for PostgresOpenError {
    /// What an error of connecting, or of the first statements, means.
    fn from(error: Error) -> Self {
        if let Some(code) = error.code() {
            return Self::of_code(code.code());
        }
        let (kind, text) = (error.to_string(), root_cause(&error));
        let text = quoted(text.as_bytes(), None);
        // The driver tells these kinds apart only by their texts.
        if kind.starts_with("error performing TLS handshake") && !is_cut(&error) {
            Self::Tls(text)
        } else if kind.starts_with("invalid configuration")
            || kind.starts_with("authentication error")
        {
            Self::Credentials(text)
        } else {
            Self::Unreachable(text)
        }
    }
}

/// Whether the network failed during the handshake.
fn is_cut(error: &Error) -> bool {
    let io = error
        .source()
        .and_then(|it| it.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.get_ref().is_none_or(|it| !it.is::<rustls::Error>()))
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
                "Lost",
            ),
            ("40P01 40001", "Again"),
            ("55P03", "Locked"),
            ("53100", "Full"),
            (
                "53200 53300 57014 28P01 42501 42P01 58030 XX001 0 é",
                "Unavailable",
            ),
        ] {
            for code in codes.split(' ') {
                let failure = format!("{:?}", Failure::of_code(code));
                assert!(failure.contains(expected), "{code}: {failure}");
            }
        }
    }
}
