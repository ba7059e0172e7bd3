//! Looking after the tables as a whole.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::address::NODE_PREFIX;
use super::dedicated::DedicatedConnection;
use super::expiry::sweep;
use super::schema::TABLES;
use super::store::PostgresStore;
use super::values::column;

const NODES: &str = "SELECT count(DISTINCT application_name), pg_backend_pid() FROM pg_stat_activity \
     WHERE datname = current_database() AND starts_with(application_name, $1)";
const SESSION: &str = "SELECT pg_backend_pid()";

#[async_trait]
impl StoreMaintenance for PostgresStore {
    /// Deletes what has expired, and has the server free the space of deleted rows. Nobody waits for it.
    async fn compact(&self) -> Result<Compaction, StoreError> {
        let connection = DedicatedConnection::open(&self.connector).await?;
        let (entries_before, bytes_before) = size(&connection).await?;
        sweep(&connection).await?;
        for table in TABLES {
            connection.vacuum(table).await?;
        }
        let (entries_after, bytes_after) = size(&connection).await?;
        Ok(Compaction {
            entries_before,
            entries_after,
            bytes_before,
            bytes_after,
        })
    }

    /// None if the URL names the connections, or behind a pooler: its few connections have the name of whoever used
    /// them last. It shows itself by serving both of the store's with the same one, or one with several.
    async fn nodes(&self) -> Result<Option<u64>, StoreError> {
        if self.connector.is_name_given() {
            return Ok(None);
        }
        let rows = self.look_up(NODES, &[(&NODE_PREFIX, Type::TEXT)]).await?;
        let of_changes = self.change(SESSION, &[]).await?;
        let again = self.look_up(SESSION, &[]).await?;
        let (Some(row), Some(of_changes), Some(again)) =
            (rows.first(), of_changes.first(), again.first())
        else {
            return Ok(None);
        };
        let (count, session): (i64, i32) = (column(row, 0)?, column(row, 1)?);
        let (of_changes, again): (i32, i32) = (column(of_changes, 0)?, column(again, 0)?);
        let is_pooled = session == of_changes || session != again;
        Ok(u64::try_from(count).ok().filter(|_| !is_pooled))
    }
}

/// The rows and bytes of all tables.
async fn size(connection: &DedicatedConnection) -> Result<(u64, u64), StoreError> {
    let (mut rows, mut bytes) = (0, 0);
    for table in TABLES {
        let statement = format!("SELECT count(*), pg_total_relation_size('{table}') FROM {table}");
        let answer = connection.ask(&statement, &[]).await?;
        for row in &answer {
            let (count, size): (i64, i64) = (column(row, 0)?, column(row, 1)?);
            rows += u64::try_from(count).unwrap_or(0);
            bytes += u64::try_from(size).unwrap_or(0);
        }
    }
    Ok((rows, bytes))
}
