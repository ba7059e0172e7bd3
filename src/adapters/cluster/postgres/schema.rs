//! The tables.
//!
//! A later version adds a step to [`STEPS`], which must be compatible with the version before, so that both may
//! run while nodes are replaced. Anything obsolete is removed one version later.

use crate::ports::StoreError;

use super::connection::PostgresConnection;
use super::error::PostgresOpenError;
use super::values::column;

/// Each step turns the tables of one version into those of the next.
pub(super) const STEPS: [&str; 4] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
];

/// The tables of the record.
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

/// The database's description of itself.
pub(super) struct Meta {
    /// The version of the tables.
    pub(super) version: i32,
    /// Id of the secret with which they were used.
    pub(super) secret_id: String,
    /// True if the server flushes acknowledged data.
    flushes: bool,
}

/// Fails with [`PostgresOpenError::NoTables`] if the tables do not exist.
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
/// secrets, and that the server flushes acknowledged data.
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
