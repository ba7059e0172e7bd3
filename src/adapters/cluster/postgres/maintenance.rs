//! Maintenance of the tables: creating them, for `landing-api migrate`; filling them, for `landing-api move`; and
//! freeing the space of deleted rows.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use tokio_postgres::types::Type;

use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::address::{NODE_PREFIX, PostgresSettings};
use super::connection::{Parameters, PostgresConnection, VERSION};
use super::connector::{Connector, DedicatedConnection};
use super::error::PostgresOpenError;
use super::rows::{Stored, column, unexpected};
use super::store::PostgresStore;

/// The tables of the record.
const TABLES: [&str; 8] = [
    "contact",
    "delivery",
    "held_channel",
    "consent_text",
    "tombstone",
    "api_key",
    "revocation",
    "hourly_count",
];

/// Deadline of a migration, including the wait for another one.
const DEADLINE: Duration = Duration::from_secs(600);

/// The result of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The previous version of the tables, if they existed.
    pub before: Option<i32>,
    /// The present version of the tables.
    pub after: i32,
    /// True if the database was used with an earlier secret, and is now bound to the current one.
    pub secret_replaced: bool,
}

/// Creates the tables, and binds the database to the first of the secrets. Changes nothing if everything is up to date.
/// Concurrent migrations are safe.
pub async fn migrate(settings: &PostgresSettings) -> Result<Migration, PostgresOpenError> {
    let connection = Connector::new(settings)?.connect_unchecked().await?;
    let migrated = timeout(DEADLINE, migrate_within(&connection, &settings.secret_ids)).await;
    migrated.unwrap_or_else(|_elapsed| {
        let text = "no response in ten minutes".to_owned();
        Err(PostgresOpenError::Unreachable(text))
    })
}

/// In one transaction, which a lost connection rolls back.
async fn migrate_within(
    connection: &PostgresConnection,
    secret_ids: &[String],
) -> Result<Migration, PostgresOpenError> {
    // An arbitrary number for the lock that nobody else uses.
    let begin = "BEGIN; SELECT pg_advisory_xact_lock(7235119206013); SAVEPOINT begun";
    connection.run(begin).await?;
    let current = secret_ids.first().ok_or(PostgresOpenError::ForeignSecret)?;
    let found = match connection.meta(secret_ids).await {
        Ok(meta) => Some(meta),
        Err(PostgresOpenError::NoTables) => {
            connection.run("ROLLBACK TO begun").await?;
            connection.run(include_str!("schema.sql")).await?;
            None
        }
        Err(error) => return Err(error),
    };
    let before = found.as_ref().map(|meta| meta.version);
    let after = before.unwrap_or(VERSION);
    let pin = "INSERT INTO landing_meta (schema, secret_id) VALUES ($1, $2) \
               ON CONFLICT (single) DO UPDATE SET secret_id = excluded.secret_id";
    let values: Parameters<'_> = &[(&after, Type::INT4), (current, Type::TEXT)];
    connection.ask(pin, values).await?;
    connection.run("COMMIT").await?;
    Ok(Migration {
        before,
        after,
        secret_replaced: found.is_some_and(|meta| meta.secret_id != *current),
    })
}

/// The server ends a filling whose machine is gone.
const BOUND: &str = "SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// An empty database that is being filled, in one transaction: a move that breaks off leaves nothing behind.
pub struct Filling(DedicatedConnection);

impl PostgresStore {
    /// Begins to fill the database: everything added until [`Filling::commit`] is stored, or nothing.
    pub async fn begin_filling(&self) -> Result<Filling, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, BOUND).await?;
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

/// Deletes keys and revocations that expired more than 400 days ago: as long as in the ledger (`RETENTION_MS`), by the
/// server's clock. So a node whose clock is ahead deletes nothing that others still need.
const DROP_EXPIRED: &str = "WITH keys AS \
         (DELETE FROM api_key WHERE expires_at <= now() - interval '400 days') \
     DELETE FROM revocation WHERE expires_at <= now() - interval '400 days'";

const NODES: &str = "SELECT count(DISTINCT application_name) FROM pg_stat_activity \
     WHERE datname = current_database() AND starts_with(application_name, $1)";

#[async_trait]
impl StoreMaintenance for PostgresStore {
    /// Deletes expired keys and revocations, and lets the server free the space of deleted ones. Nothing waits for it.
    async fn compact(&self) -> Result<Compaction, StoreError> {
        let connection = DedicatedConnection::open(&self.connector).await?;
        let (entries_before, bytes_before) = size(&connection).await?;
        self.drop_expired().await?;
        connection.vacuum(&TABLES.join(", ")).await?;
        let (entries_after, bytes_after) = size(&connection).await?;
        Ok(Compaction {
            entries_before,
            entries_after,
            bytes_before,
            bytes_after,
        })
    }

    async fn drop_expired(&self) -> Result<(), StoreError> {
        self.ask_apart(DROP_EXPIRED, &[]).await.map(drop)
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
    let sizes = TABLES.map(|table| {
        format!("SELECT count(*) AS rows, pg_total_relation_size('{table}') AS bytes FROM {table}")
    });
    let sizes = sizes.join(" UNION ALL ");
    let sum = format!("SELECT sum(rows)::bigint, sum(bytes)::bigint FROM ({sizes}) AS sizes");
    let rows = connection.ask(&sum, &[]).await?;
    let row = rows.first().ok_or_else(unexpected)?;
    let (rows, bytes): (i64, i64) = (column(row, 0)?, column(row, 1)?);
    Ok((rows.cast_unsigned(), bytes.cast_unsigned()))
}
