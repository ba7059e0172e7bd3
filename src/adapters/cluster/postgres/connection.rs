//! A connection.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::answers::AnswerBound;

/// The parameters of a statement, each with its type.
pub(super) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A connection. It is closed when this value is dropped.
pub(super) struct PostgresConnection {
    pub(super) client: Client,
    pub(super) bound: AnswerBound,
    /// Cancelled when it is unusable.
    pub(super) gone: CancellationToken,
}

impl PostgresConnection {
    /// Drops the connection, and with it everything that others await on it.
    pub(super) fn give_up(&self) {
        self.gone.cancel();
    }

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

    /// True if it is writable.
    pub(super) async fn takes_writes(&self) -> Result<bool, Error> {
        let rows = self.ask("SHOW transaction_read_only", &[]).await?;
        let is_off = |row: &Row| row.try_get(0).is_ok_and(|is_on: &str| is_on == "off");
        Ok(rows.first().is_some_and(is_off))
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Waits until it is unusable.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}
