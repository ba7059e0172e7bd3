//! A separate connection for long work, so that no sign-up and no lookup waits for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::ports::StoreError;

use super::connection::{Parameters, PostgresConnection};
use super::connector::Connector;
use super::error::{failure, too_late};
use super::rows::{insert, settings};

/// Deadline of a statement.
const DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of a statement that reads and writes whole tables.
const TABLE_DEADLINE: Duration = Duration::from_secs(3600);

/// An exclusive connection. A transaction on it is rolled back unless it is committed.
pub(super) struct DedicatedConnection {
    connection: PostgresConnection,
    connector: Arc<Connector>,
}

impl DedicatedConnection {
    /// A connection on which each statement is its own transaction: the spare one, if it works, or a new one.
    pub(super) async fn open(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        let spare = connector.spare.lock().take();
        let connection = match spare {
            Some(spare) if spare.works().await => spare,
            _ => connector.connect().await?,
        };
        Ok(Self {
            connection,
            connector: Arc::clone(connector),
        })
    }

    /// Keeps the connection as the spare one. Only after the last response.
    pub(super) fn leave(self) {
        *self.connector.spare.lock() = Some(self.connection);
    }

    /// Opens a connection and begins a transaction, with more statements for its settings. Transactions that add or
    /// remove contacts other than by sign-ups run one after the other, over all nodes: one must not add what another
    /// has just forgotten.
    pub(super) async fn begin(connector: &Arc<Connector>, more: &str) -> Result<Self, StoreError> {
        // An arbitrary number for the lock that nobody else uses.
        let begin = format!(
            "BEGIN; {} SELECT * FROM settings; SELECT pg_advisory_xact_lock(7235119206014); {more}",
            settings("'0'")
        );
        let transaction = Self::open(connector).await?;
        within(DEADLINE, transaction.connection.run(&begin)).await?;
        Ok(transaction)
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let asked = self.connection.ask(statement, parameters);
        within(DEADLINE, asked).await
    }

    /// Adds rows to a table, in order, except existing ones. Returns a column of the added rows. Thousands of rows are
    /// converted on a separate thread: sign-ups would wait behind them.
    pub(super) async fn insert(
        &self,
        table: &'static str,
        rows: impl FnOnce() -> Vec<Value> + Send + 'static,
        returning: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        let encode = move || {
            let rows = rows();
            let statement = settings("'0'") + &insert(table, &rows, returning);
            (!rows.is_empty()).then(|| (statement, Value::Array(rows).to_string()))
        };
        let encoded = spawn_blocking(encode).await;
        let encoded = encoded.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let Some((statement, rows)) = encoded else {
            return Ok(Vec::new());
        };
        self.ask(&statement, &[(&rows, Type::TEXT)]).await
    }

    /// Lets the server free the space of the tables' deleted rows and analyse the rest.
    pub(super) async fn vacuum(&self, tables: &str) -> Result<(), StoreError> {
        let statement = format!("VACUUM (ANALYZE) {tables}");
        within(TABLE_DEADLINE, self.connection.run(&statement)).await
    }

    /// Commits the transaction.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        within(DEADLINE, self.connection.run("COMMIT")).await?;
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
    let lost = || StoreError::Unavailable("the connection was lost".to_owned());
    answered.map_err(|error| failure(&error).unwrap_or_else(lost))
}
