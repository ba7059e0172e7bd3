//! Values of the domain as rows of JSON, so that any number of them is one parameter, and as columns of a result.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio_postgres::Row;
use tokio_postgres::row::RowIndex;
use tokio_postgres::types::FromSqlOwned;

use crate::adapters::entry::{ContactJson, KeyJson, RevocationJson};
use crate::domain::{
    Channel, Contact, Counts, Delivery, EmailAddress, Hour, KeyRecord, RevokedRegistration,
    TextDigest, Timestamp, Tombstone,
};
use crate::ports::StoreError;

/// The last instant in RFC 3339.
const LAST_IN_WORDS: Timestamp = Timestamp::from_ms(253_402_300_799_999);

/// A value with rows in a table.
pub trait Stored {
    /// Name of the table.
    const TABLE: &'static str;
    /// The rows, all with the same columns.
    fn rows(&self) -> Vec<Value>;
}

impl Stored for Contact {
    const TABLE: &'static str = "contact";

    fn rows(&self) -> Vec<Value> {
        vec![json!({"state": ContactJson(self.clone())})]
    }
}

/// Deliveries as a parameter.
pub(super) fn delivery_rows<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> String {
    let rows = deliveries.into_iter().flat_map(Delivery::rows);
    Value::Array(rows.collect()).to_string()
}

impl Stored for Delivery {
    const TABLE: &'static str = "delivery";

    fn rows(&self) -> Vec<Value> {
        let network = self.network.as_ref();
        vec![json!({
            "id": bytea(self.id.as_bytes()),
            "kind": self.kind.as_str(),
            "channel": self.kind.channel().as_str(),
            "email": self.email.as_ref().map(EmailAddress::as_str),
            "body": self.body,
            "network": network.map(|key| bytea(key.as_bytes())),
            "queued_at": timestamptz(self.queued_at),
            "due_at": timestamptz(self.due_at),
            "attempts": self.attempts,
            "last_error": self.last_error,
            "dead_at": self.dead_at.map(timestamptz),
        })]
    }
}

impl Stored for KeyRecord {
    const TABLE: &'static str = "api_key";

    fn rows(&self) -> Vec<Value> {
        vec![json!({"state": KeyJson(self.clone())})]
    }
}

impl Stored for RevokedRegistration {
    const TABLE: &'static str = "revocation";

    fn rows(&self) -> Vec<Value> {
        let expires_at = timestamptz(self.registration.expires_at());
        vec![json!({"state": RevocationJson(self.clone()), "expires_at": expires_at})]
    }
}

impl Stored for Tombstone {
    const TABLE: &'static str = "tombstone";

    fn rows(&self) -> Vec<Value> {
        let refused_at = self.refused_at.map(timestamptz);
        vec![json!({"address": bytea(&self.address), "refused_at": refused_at})]
    }
}

/// The text of a consent.
impl Stored for String {
    const TABLE: &'static str = "consent_text";

    fn rows(&self) -> Vec<Value> {
        vec![json!({"digest": bytea(TextDigest::of(self).as_bytes()), "text": self})]
    }
}

/// A held channel.
impl Stored for Channel {
    const TABLE: &'static str = "held_channel";

    fn rows(&self) -> Vec<Value> {
        vec![json!({"channel": self.as_str()})]
    }
}

impl Stored for (Hour, Counts) {
    const TABLE: &'static str = "hourly_count";

    fn rows(&self) -> Vec<Value> {
        let (hour, counts) = self;
        let hour = timestamptz(hour.start());
        let counted = counts.iter().filter(|(_, number)| *number > 0);
        counted
            .map(|(counted, number)| {
                json!({"hour": hour, "counted": counted.as_str(), "number": number})
            })
            .collect()
    }
}

/// A statement after `settings!` that adds its parameter, these values as rows of JSON, to their table in order.
/// Existing rows are left unchanged. There must be a row.
pub(super) fn insert<T: Stored>(values: &[T], returning: &str) -> (String, String) {
    let rows: Vec<_> = values.iter().flat_map(T::rows).collect();
    let columns = rows.first().and_then(Value::as_object);
    let columns: Vec<_> = columns.into_iter().flat_map(Map::keys).cloned().collect();
    let (table, columns) = (T::TABLE, columns.join(", "));
    let statement = format!(
        " INSERT INTO {table} ({columns}) SELECT {columns} \
         FROM settings, json_populate_recordset(NULL::{table}, $1::json) WITH ORDINALITY AS new \
         ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING {returning}"
    );
    (statement, Value::Array(rows).to_string())
}

/// Bytes in a row of JSON.
pub(super) fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", HEXLOWER.encode(bytes))
}

/// An instant in a row of JSON, at most the end of the year 9999.
pub(super) fn timestamptz(at: Timestamp) -> String {
    at.min(LAST_IN_WORDS).to_rfc3339()
}

/// The settings of a change, until the end of its own transaction: a flush, and no long wait for a lock. They are
/// not settings of the connection, because a pooler may give each transaction another one. A statement that
/// follows this lists `settings` in `FROM`, so that it is evaluated before the first row is locked.
macro_rules! settings {
    ($lock_timeout:literal) => {
        concat!(
            "WITH settings AS (SELECT set_config('lock_timeout', '",
            $lock_timeout,
            "', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                 WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true))"
        )
    };
}
pub(super) use settings;

/// Milliseconds since 1970, as in a stored state.
pub(super) fn ms(at: Timestamp) -> i64 {
    at.as_ms().min(INSTANT_MS_MAX).cast_signed()
}

/// The last instant stored in columns, in the year 10889: later ones would overflow.
const INSTANT_MS_MAX: u64 = (1 << 48) - 1;

pub(super) fn instant(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.as_ms().min(INSTANT_MS_MAX))
}

/// Instants before 1970, which only others can have written, become 1970.
fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A column with a stored state, as text.
pub(super) fn state_column<S: DeserializeOwned>(row: &Row, index: usize) -> Result<S, StoreError> {
    let json: String = column(row, index)?;
    serde_json::from_str(&json).map_err(|_other| unexpected())
}

/// A column with optional bytes.
pub(super) fn bytes_column<const N: usize>(
    row: &Row,
    index: impl RowIndex + Display,
) -> Result<Option<[u8; N]>, StoreError> {
    let bytes: Option<Vec<u8>> = column(row, index)?;
    let bytes = bytes.map(|bytes| bytes.try_into().map_err(|_other_length| unexpected()));
    bytes.transpose()
}

/// A column of a result.
pub(super) fn column<T: FromSqlOwned>(
    row: &Row,
    index: impl RowIndex + Display,
) -> Result<T, StoreError> {
    row.try_get(index).map_err(|_other_type| unexpected())
}

/// A column with an instant.
pub(super) fn instant_column(
    row: &Row,
    index: impl RowIndex + Display,
) -> Result<Timestamp, StoreError> {
    column(row, index).map(timestamp)
}

/// A column with an optional instant.
pub(super) fn optional_instant(
    row: &Row,
    index: impl RowIndex + Display,
) -> Result<Option<Timestamp>, StoreError> {
    Ok(column::<Option<_>>(row, index)?.map(timestamp))
}

/// The error for a value that this program does not write.
pub(super) fn unexpected() -> StoreError {
    StoreError::Unavailable("the database contains a value from another program".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_exact_to_the_millisecond_and_bounded() {
        for ms in [0, 1, 951_827_696_789, INSTANT_MS_MAX] {
            let at = Timestamp::from_ms(ms);
            assert_eq!(timestamp(instant(at)), at);
        }
        let last = timestamp(instant(Timestamp::from_ms(u64::MAX)));
        assert_eq!(last.as_ms(), INSTANT_MS_MAX);
        let earlier = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(timestamp(earlier), Timestamp::default());
    }
}
