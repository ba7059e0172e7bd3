//! A connection of its own for work that takes long, so that no sign-up and no look-up waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Error, Row};

use crate::ports::StoreError;

use super::connection::{Connector, PostgresConnection};
use super::error::{Failure, too_late};
use super::link::Parameters;
use super::values::settings;

/// How long a statement may take.
const DEADLINE: Duration = Duration::from_secs(120);
/// How long one may take that reads and writes whole tables.
const TABLE_DEADLINE: Duration = Duration::from_secs(3600);

/// A connection that nobody else uses. A transaction on it is undone unless it is committed.
pub(super) struct DedicatedConnection {
    connection: PostgresConnection,
    connector: Arc<Connector>,
}

impl DedicatedConnection {
    /// Opens one. Each statement is a transaction of its own.
    pub(super) async fn open(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        Ok(Self {
            connection: connector.connection().await?,
            connector: Arc::clone(connector),
        })
    }

    /// Leaves it to the next one. Only after the last answer.
    pub(super) fn leave(self) {
        self.connector.leave(self.connection);
    }

    /// Opens one and begins a transaction. Those that add or remove contacts outside of sign-ups come one
    /// after the other, over all nodes: what one has forgotten the next must not add.
    pub(super) async fn begin(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        // The lock is any number that nobody else uses.
        const BEGIN: &str = concat!(
            "BEGIN; ",
            settings!("'0'"),
            " SELECT * FROM settings; SELECT pg_advisory_xact_lock(7235119206014)"
        );
        let transaction = Self::open(connector).await?;
        let begun = transaction.connection.client.batch_execute(BEGIN);
        within(DEADLINE, begun).await?;
        Ok(transaction)
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let asked = self.connection.client.query_typed(statement, parameters);
        within(DEADLINE, asked).await
    }

    /// Has the server free the space of a table's deleted rows, and look at what is left.
    pub(super) async fn vacuum(&self, table: &str) -> Result<(), StoreError> {
        let statement = format!("VACUUM (ANALYZE) {table}");
        within(
            TABLE_DEADLINE,
            self.connection.client.batch_execute(&statement),
        )
        .await
    }

    /// Commits the transaction that was begun.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        within(DEADLINE, self.connection.client.batch_execute("COMMIT")).await?;
        self.leave();
        Ok(())
    }
}

async fn within<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, StoreError> {
    let answered = timeout(deadline, asked).await;
    let answered = answered.map_err(|_elapsed| too_late())?;
    answered.map_err(|error| Failure::of(&error).into())
}
