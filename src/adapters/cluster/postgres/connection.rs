//! A connection, and the check of its tables.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::answers::AnswerBound;
use crate::ports::StoreError;

use super::error::PostgresOpenError;
use super::rows::column;

/// The version of the tables in `schema.sql`. A program accepts those of a later version, so that both may run while
/// nodes are replaced.
pub(super) const VERSION: i32 = 4;

/// The parameters of a statement, each with its type.
pub(super) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A connection. It is closed when this value is dropped.
pub(super) struct PostgresConnection {
    pub(super) client: Client,
    pub(super) bound: AnswerBound,
    /// Cancelled when it is unusable. Cancelling it drops the connection, and with it everything that others await on
    /// it.
    pub(super) gone: CancellationToken,
}

/// The database's description of itself.
pub(super) struct Meta {
    /// The version of the tables.
    pub(super) version: i32,
    /// Id of the secret with which they were used.
    pub(super) secret_id: String,
    /// True if the server flushes acknowledged data.
    pub(super) flushes: bool,
}

impl PostgresConnection {
    /// Runs an unnamed statement, which a pooler may send to any server.
    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let rows = self.client.query_typed(statement, parameters).await?;
        self.bound.note_answer();
        Ok(rows)
    }

    /// Runs several statements that return no rows.
    pub(super) async fn run(&self, statements: &str) -> Result<(), Error> {
        self.client.batch_execute(statements).await?;
        self.bound.note_answer();
        Ok(())
    }

    /// True if it responds within a second, and is writable.
    pub(super) async fn works(&self) -> bool {
        let takes_writes = timeout(Duration::from_secs(1), self.takes_writes()).await;
        matches!(takes_writes, Ok(Ok(true)))
    }

    /// True if it is writable.
    pub(super) async fn takes_writes(&self) -> Result<bool, Error> {
        let rows = self.ask("SHOW transaction_read_only", &[]).await?;
        let is_off = |row: &Row| row.try_get(0).is_ok_and(|is_on: &str| is_on == "off");
        Ok(rows.first().is_some_and(is_off))
    }

    /// Checks that the tables are those of this version or a later one, and that they were used with one of these
    /// secrets.
    pub(super) async fn meta(&self, secret_ids: &[String]) -> Result<Meta, PostgresOpenError> {
        const META: &str =
            "SELECT schema, secret_id, current_setting('fsync') = 'on' FROM landing_meta";
        let rows = self.ask(META, &[]).await?;
        let row = rows.first().ok_or(PostgresOpenError::NoTables)?;
        let read = || {
            Ok(Meta {
                version: column(row, 0)?,
                secret_id: column(row, 1)?,
                flushes: column(row, 2)?,
            })
        };
        let meta =
            read().map_err(|error: StoreError| PostgresOpenError::Other(error.to_string()))?;
        if meta.version < VERSION {
            return Err(PostgresOpenError::OlderSchema {
                found: meta.version,
                needed: VERSION,
            });
        }
        match secret_ids.contains(&meta.secret_id) {
            true => Ok(meta),
            false => Err(PostgresOpenError::ForeignSecret),
        }
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}
