//! Maintenance of the tables.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::address::NODE_PREFIX;
use super::dedicated::DedicatedConnection;
use super::schema::TABLES;
use super::store::PostgresStore;
use super::values::column;

const NODES: &str = "SELECT count(DISTINCT application_name) FROM pg_stat_activity \
     WHERE datname = current_database() AND starts_with(application_name, $1)";

#[async_trait]
impl StoreMaintenance for PostgresStore {
    /// Deletes expired rows, and lets the server free the space of deleted ones. Nothing waits for it.
    async fn compact(&self) -> Result<Compaction, StoreError> {
        let connection = DedicatedConnection::open(&self.connector).await?;
        let (entries_before, bytes_before) = size(&connection).await?;
        connection.sweep().await?;
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

    /// None if no connection has the name: then the URLs or a pooler set another one.
    async fn nodes(&self) -> Result<Option<u64>, StoreError> {
        let rows = self.look_up(NODES, &[(&NODE_PREFIX, Type::TEXT)]).await?;
        let count = rows.first().map(|row| column::<i64>(row, 0)).transpose()?;
        let count = count.and_then(|count| u64::try_from(count).ok());
        Ok(count.filter(|count| *count > 0))
    }
}

/// The number of rows, and the bytes, of all tables.
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
