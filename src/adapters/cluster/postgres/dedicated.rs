//! Connections of their own for long work, so that no sign-up and no lookup waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::ports::StoreError;

use super::connection::{Connector, Parameters, PostgresConnection};
use super::error::{failure, too_late};
use super::rows::{Stored, insert, settings};

/// Deadline of a statement.
const DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of the check of the spare connection.
const CHECK_DEADLINE: Duration = Duration::from_secs(1);

/// An exclusive connection. A transaction on it is rolled back unless it is committed.
pub(super) struct DedicatedConnection {
    connection: PostgresConnection,
    connector: Arc<Connector>,
}

impl DedicatedConnection {
    /// A connection on which each statement is its own transaction: the spare one, if it works, or a new one.
    pub(super) async fn open(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        let spare = connector.spare.lock().take();
        let works = async |spare: &PostgresConnection| {
            matches!(timeout(CHECK_DEADLINE, spare.check()).await, Ok(Ok(())))
        };
        let connection = match spare {
            Some(spare) if works(&spare).await => spare,
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
            settings!("0")
        );
        let transaction = Self::open(connector).await?;
        answered(transaction.connection.run(&begin)).await?;
        Ok(transaction)
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        answered(self.connection.ask(statement, parameters)).await
    }

    /// Adds values in order, except existing ones. Returns a column of the added rows. Thousands of rows are converted
    /// on a separate thread: sign-ups would wait behind them.
    pub(super) async fn insert<T: Stored + Send + 'static>(
        &self,
        values: Vec<T>,
        returning: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        // An hour without counts has no row.
        if values.iter().all(|value| value.rows().is_empty()) {
            return Ok(Vec::new());
        }
        let encoded = spawn_blocking(move || insert(&values, returning)).await;
        let (statement, rows) =
            encoded.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let statement = format!("{} {statement}", settings!("0"));
        self.ask(&statement, &[(&rows, Type::TEXT)]).await
    }

    /// Commits the transaction.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        answered(self.connection.run("COMMIT")).await?;
        self.leave();
        Ok(())
    }
}

/// The response to a statement, in time.
async fn answered<T>(response: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    let response = timeout(DEADLINE, response).await;
    let response = response.map_err(|_elapsed| too_late())?;
    let lost = || StoreError::Unavailable("the connection was lost".to_owned());
    response.map_err(|error| failure(&error).unwrap_or_else(lost))
}
