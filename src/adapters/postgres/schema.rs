//! The tables.
//!
//! A later version adds a step to [`STEPS`], and what it adds must be good for the version before, so that
//! both may run while nodes are replaced. What is no longer needed is removed a version later.

use tokio_postgres::Client;

use crate::ports::StoreError;

use super::error::PostgresOpenError;
use super::values::column;

/// What makes the tables of each version out of those of the version before.
pub(super) const STEPS: [&str; 1] = [
    // `place` is the order in which rows were added. `id` is the sign-up that created the contact,
    // `sign_up` the last one, `signers` are the clients after it and `earlier` those before it. A signer is
    // the hash of its network, and that of its credential if it had one.
    "CREATE TABLE landing_meta (
         single boolean PRIMARY KEY DEFAULT true CHECK (single),
         schema integer NOT NULL,
         secret_id text NOT NULL
     );
     CREATE TABLE contact (
         email text COLLATE \"C\" PRIMARY KEY,
         place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
         id uuid NOT NULL,
         sign_up uuid NOT NULL,
         signers bytea[] NOT NULL,
         earlier bytea[] NOT NULL,
         subscribed_at timestamptz NOT NULL,
         last_seen_at timestamptz NOT NULL
     ) WITH (fillfactor = 90);
     CREATE TABLE tombstone (
         address bytea PRIMARY KEY
     );
     CREATE TABLE api_key (
         fingerprint bytea PRIMARY KEY,
         place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
         key_id text NOT NULL,
         label text,
         issued_at timestamptz NOT NULL,
         expires_at timestamptz NOT NULL,
         revoked_at timestamptz,
         revoked_by uuid
     );
     CREATE TABLE revocation (
         fingerprint bytea PRIMARY KEY,
         place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
         id uuid NOT NULL,
         client_id text NOT NULL,
         revoked_at timestamptz NOT NULL,
         expires_at timestamptz NOT NULL
     );
     CREATE TABLE hourly_count (
         hour timestamptz,
         counted text,
         number bigint NOT NULL,
         PRIMARY KEY (hour, counted)
     )",
];

/// The tables that hold the record.
pub(super) const TABLES: [&str; 5] = [
    "contact",
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
pub(super) async fn read_meta(client: &Client) -> Result<Meta, PostgresOpenError> {
    const META: &str =
        "SELECT schema, secret_id, current_setting('fsync') = 'on' FROM landing_meta";
    let rows = client.query_typed(META, &[]).await?;
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
pub(super) async fn check(client: &Client, secret_ids: &[String]) -> Result<(), PostgresOpenError> {
    let meta = read_meta(client).await?;
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
