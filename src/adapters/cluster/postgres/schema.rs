//! The tables.
//!
//! A later version adds a step to [`STEPS`], and what it adds must be good for the version before, so that
//! both may run while nodes are replaced. What is no longer needed is removed a version later.

use crate::ports::StoreError;

use super::connection::PostgresConnection;
use super::error::PostgresOpenError;
use super::values::column;

/// What makes the tables of each version out of those of the version before.
pub(super) const STEPS: [&str; 4] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
];

/// The tables that hold the record.
pub(super) const TABLES: [&str; 8] = [
    "contact",
    "delivery",
    "held_channel",
    "consent_text",
    "tombstone",
    "api_key",
    "revocation",
    "hourly_count",
];

/// The version of the tables that this version of the program needs.
pub(super) fn version() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// What the database says of itself.
pub(super) struct Meta {
    /// The version of the tables.
    pub(super) version: i32,
    /// The id of the secret that they were used with.
    pub(super) secret_id: String,
    /// Whether the server flushes what it acknowledges.
    flushes: bool,
}

/// Fails with [`PostgresOpenError::NoTables`] if nobody has made the tables.
pub(super) async fn read_meta(connection: &PostgresConnection) -> Result<Meta, PostgresOpenError> {
    const META: &str =
        "SELECT schema, secret_id, current_setting('fsync') = 'on' FROM landing_meta";
    let rows = connection.ask(META, &[]).await?;
    let row = rows.first().ok_or(PostgresOpenError::NoTables)?;
    let meta = || {
        Ok(Meta {
            version: column(row, 0)?,
            secret_id: column(row, 1)?,
            flushes: column(row, 2)?,
        })
    };
    meta().map_err(|error: StoreError| PostgresOpenError::Other(error.to_string()))
}

/// Checks that the tables are those of this version or a later one, that they were used with one of these
/// secrets, and that the server flushes what it acknowledges.
pub(super) async fn check(
    connection: &PostgresConnection,
    secret_ids: &[String],
) -> Result<(), PostgresOpenError> {
    let meta = read_meta(connection).await?;
    let (found, needed) = (meta.version, version());
    if found < needed {
        return Err(PostgresOpenError::OlderSchema { found, needed });
    }
    if !secret_ids.contains(&meta.secret_id) {
        return Err(PostgresOpenError::ForeignSecret);
    }
    if !meta.flushes {
        return Err(PostgresOpenError::FsyncOff);
    }
    Ok(())
}
