//! Maintenance of the tables: creating them, for `landing-api migrate`; filling them, for `landing-api move`; and
//! deleting what has expired. The server frees the space of deleted rows by itself.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use tokio_postgres::types::Type;

use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::address::PostgresSettings;
use super::connection::{Connector, DedicatedConnection, Parameters, PostgresConnection, VERSION};
use super::error::PostgresOpenError;
use super::rows::{Stored, column};
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
    let late = PostgresOpenError::unreachable("no response in ten minutes");
    migrated.unwrap_or(Err(late))
}

/// In one transaction, which a lost connection rolls back.
async fn migrate_within(
    connection: &PostgresConnection,
    secret_ids: &[String],
) -> Result<Migration, PostgresOpenError> {
    // An arbitrary number for the lock that nobody else uses.
    let begin = "BEGIN; SELECT pg_advisory_xact_lock(7235119206013); SAVEPOINT begun";
    connection.run(begin).await?;
    let used_with = match connection.meta(secret_ids).await {
        Ok(secret_id) => Some(secret_id),
        Err(PostgresOpenError::NoTables) => {
            connection.run("ROLLBACK TO begun").await?;
            connection.run(include_str!("schema.sql")).await?;
            None
        }
        Err(error) => return Err(error),
    };
    let current = secret_ids.first().map_or("", String::as_str);
    let pin = "INSERT INTO landing_meta (schema, secret_id) VALUES ($1, $2) \
               ON CONFLICT (single) DO UPDATE SET secret_id = excluded.secret_id";
    let values: Parameters<'_> = &[(&VERSION, Type::INT4), (&current, Type::TEXT)];
    connection.ask(pin, values).await?;
    connection.run("COMMIT").await?;
    Ok(Migration {
        before: used_with.is_some().then_some(VERSION),
        after: VERSION,
        secret_replaced: used_with.is_some_and(|secret_id| secret_id != current),
    })
}

/// The server ends a filling whose machine is gone.
const BOUND: &str = "SET LOCAL idle_in_transaction_session_timeout = '60s'";

impl PostgresStore {
    /// Begins to fill the database: everything added until [`DedicatedConnection::commit`] is stored, or nothing.
    pub async fn begin_filling(&self) -> Result<DedicatedConnection, StoreError> {
        DedicatedConnection::begin(&self.connector, BOUND).await
    }
}

impl DedicatedConnection {
    /// True if nothing is stored yet.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        let are_empty = TABLES.map(|table| format!("NOT EXISTS (SELECT FROM {table})"));
        let statement = format!("SELECT {}", are_empty.join(" AND "));
        let rows = self.ask(&statement, &[]).await?;
        rows.first().map_or(Ok(false), |row| column(row, 0))
    }

    /// Adds values in order.
    ///
    /// # Errors
    /// Also when one of them exists already.
    pub async fn add<T: Stored + Send + 'static>(&self, values: Vec<T>) -> Result<(), StoreError> {
        let count = values.len();
        if self.insert(values, "true").await?.len() == count {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "the table {} already has some of the rows: is another program changing it?",
            T::TABLE
        )))
    }
}

/// Deletes keys and revocations that expired more than 400 days ago: as long as in the ledger (`RETENTION_MS`), by the
/// server's clock. So a node whose clock is ahead deletes nothing that others still need.
const DROP_EXPIRED: &str = "WITH keys AS \
         (DELETE FROM api_key \
             WHERE to_timestamp((state -> 'expires_at')::bigint / 1000) <= now() - interval '400 days') \
     DELETE FROM revocation WHERE expires_at <= now() - interval '400 days'";

#[async_trait]
impl StoreMaintenance for PostgresStore {
    async fn compact(&self) -> Result<Compaction, StoreError> {
        let text = "PostgreSQL frees the space of deleted rows by itself (autovacuum)";
        Err(StoreError::Unavailable(text.to_owned()))
    }

    async fn drop_expired(&self) -> Result<(), StoreError> {
        self.ask_apart(DROP_EXPIRED, &[]).await.map(drop)
    }
}
