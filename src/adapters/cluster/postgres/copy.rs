//! Filling the database from a data directory, in one transaction: a move that breaks off leaves nothing behind.

use crate::ports::StoreError;

use super::dedicated::DedicatedConnection;
use super::rows::Stored;
use super::schema::TABLES;
use super::store::PostgresStore;
use super::values::column;

/// The server ends a filling whose machine is gone.
const BOUND: &str = "SELECT set_config('idle_in_transaction_session_timeout', '60s', true)";

/// An empty database that is being filled.
pub struct Filling(DedicatedConnection);

impl PostgresStore {
    /// Begins to fill the database: everything added until [`Filling::commit`] is stored, or nothing.
    pub async fn begin_filling(&self) -> Result<Filling, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector).await?;
        transaction.ask(BOUND, &[]).await?;
        Ok(Filling(transaction))
    }
}

impl Filling {
    /// True if nothing is stored yet.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        let are_empty = TABLES.map(|table| format!("NOT EXISTS (SELECT FROM {table})"));
        let statement = format!("SELECT {}", are_empty.join(" AND "));
        let rows = self.0.ask(&statement, &[]).await?;
        rows.first().map_or(Ok(false), |row| column(row, 0))
    }

    /// Adds values in order.
    ///
    /// # Errors
    /// Also when one of them exists already.
    pub async fn add<T: Stored>(&self, values: &[T]) -> Result<(), StoreError> {
        let rows: Vec<_> = values.iter().flat_map(T::rows).collect();
        let count = rows.len();
        if self.0.insert(T::TABLE, || rows, "true").await?.len() == count {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "the table {} has some of the rows already: is another program changing it?",
            T::TABLE
        )))
    }

    /// Commits the added values.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.0.commit().await
    }
}
