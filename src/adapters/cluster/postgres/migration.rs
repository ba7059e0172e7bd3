//! Creating and updating the tables.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::types::Type;

use super::address::PostgresSettings;
use super::connection::{Parameters, PostgresConnection};
use super::connector::Connector;
use super::error::PostgresOpenError;
use super::schema::{Meta, STEPS, read_meta, version};

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

/// Creates or updates the tables, and binds the database to the first of the secrets. Changes nothing if everything is
/// up to date. Concurrent migrations are safe.
pub async fn migrate(settings: &PostgresSettings) -> Result<Migration, PostgresOpenError> {
    let connection = Connector::new(settings)?.connect_unchecked().await?;
    let migrated = migrate_within(&connection, &settings.secret_ids);
    let migrated = timeout(DEADLINE, migrated).await;
    migrated.unwrap_or_else(|_elapsed| {
        Err(PostgresOpenError::Unreachable(
            "no response in ten minutes".to_owned(),
        ))
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
    let found = match read_meta(connection).await {
        Ok(meta) => Some(meta),
        Err(PostgresOpenError::NoTables) => {
            connection.run("ROLLBACK TO begun").await?;
            None
        }
        Err(error) => return Err(error),
    };
    let is_foreign = |meta: &Meta| !secret_ids.contains(&meta.secret_id);
    if found.as_ref().is_some_and(is_foreign) {
        return Err(PostgresOpenError::ForeignSecret);
    }
    let before = found.as_ref().map(|meta| meta.version);
    let done = before.and_then(|version| usize::try_from(version).ok());
    for step in STEPS.iter().skip(done.unwrap_or(0)) {
        connection.run(step).await?;
    }
    // The tables of a later version stay as they are.
    let after = before.unwrap_or(0).max(version());
    let pin = "INSERT INTO landing_meta (schema, secret_id) VALUES ($1, $2) ON CONFLICT (single) DO UPDATE \
               SET schema = excluded.schema, secret_id = excluded.secret_id";
    let values: Parameters<'_> = &[(&after, Type::INT4), (current, Type::TEXT)];
    connection.ask(pin, values).await?;
    connection.run("COMMIT").await?;
    Ok(Migration {
        before,
        after,
        secret_replaced: found.is_some_and(|meta| meta.secret_id != *current),
    })
}
