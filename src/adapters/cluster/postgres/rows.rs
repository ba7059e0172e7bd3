//! Values of the domain as rows of JSON, so that any number of them is one parameter, and as columns of a result.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use tokio_postgres::Row;
use tokio_postgres::row::RowIndex;
use tokio_postgres::types::FromSqlOwned;

use crate::adapters::stored_json::Wire;
use crate::domain::{
    Channel, Contact, Counted, Counts, Delivery, EmailAddress, Hour, KeyRecord,
    RevokedRegistration, TextDigest, Timestamp, Tombstone,
};
use crate::ports::StoreError;

/// The last instant stored in columns, at the end of the year 9999: RFC 3339 has no later one.
const LAST: Timestamp = Timestamp::from_ms(253_402_300_799_999);

/// A value with a row in a table.
pub trait Stored {
    /// Name of the table.
    const TABLE: &'static str;
    /// The row, which has the same columns for all values of the type.
    fn row(&self) -> Value;
}

/// Values as a parameter, an array of rows.
pub(super) fn json_rows<'a, T: Stored + 'a>(values: impl IntoIterator<Item = &'a T>) -> String {
    Value::Array(values.into_iter().map(T::row).collect()).to_string()
}

impl Stored for Contact {
    const TABLE: &'static str = "contact";

    fn row(&self) -> Value {
        json!({"state": self.to_json()})
    }
}

impl Stored for Delivery {
    const TABLE: &'static str = "delivery";

    fn row(&self) -> Value {
        let network = self.network.as_ref();
        json!({
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
        })
    }
}

impl Stored for KeyRecord {
    const TABLE: &'static str = "api_key";

    fn row(&self) -> Value {
        json!({"state": self.to_json()})
    }
}

impl Stored for RevokedRegistration {
    const TABLE: &'static str = "revocation";

    fn row(&self) -> Value {
        let expires_at = timestamptz(self.registration.expires_at());
        json!({"state": self.to_json(), "expires_at": expires_at})
    }
}

impl Stored for Tombstone {
    const TABLE: &'static str = "tombstone";

    fn row(&self) -> Value {
        let refused_at = self.refused_at.map(timestamptz);
        json!({"address": bytea(&self.address), "refused_at": refused_at})
    }
}

/// The text of a consent.
impl Stored for String {
    const TABLE: &'static str = "consent_text";

    fn row(&self) -> Value {
        json!({"digest": bytea(TextDigest::of(self).as_bytes()), "text": self})
    }
}

/// A held channel.
impl Stored for Channel {
    const TABLE: &'static str = "held_channel";

    fn row(&self) -> Value {
        json!({"channel": self.as_str()})
    }
}

/// One of the counts of an hour.
impl Stored for (Hour, Counted, u64) {
    const TABLE: &'static str = "hourly_count";

    fn row(&self) -> Value {
        let (hour, counted, number) = self;
        json!({"hour": timestamptz(hour.start()), "counted": counted.as_str(), "number": number})
    }
}

/// Those counts of an hour that are not zero.
pub fn counts_of(hour: Hour, counts: &Counts) -> impl Iterator<Item = (Hour, Counted, u64)> {
    let counted = counts.iter().filter(|(_, number)| *number > 0);
    counted.map(move |(counted, number)| (hour, counted, number))
}

/// A statement that adds its parameter, these values as rows of JSON, to their table in order. Existing rows are left
/// unchanged. There must be a row.
pub(super) fn insert<T: Stored>(
    values: &[T],
    lock_timeout: &str,
    returning: &str,
) -> (String, String) {
    let first = values.first().map(T::row);
    let columns = first.as_ref().and_then(Value::as_object);
    let columns: Vec<_> = columns.into_iter().flat_map(Map::keys).cloned().collect();
    let (settings, table, columns) = (settings(lock_timeout), T::TABLE, columns.join(", "));
    let statement = format!(
        "{settings} INSERT INTO {table} ({columns}) SELECT {columns} \
         FROM settings, json_populate_recordset(NULL::{table}, $1::json) WITH ORDINALITY AS new \
         ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING {returning}"
    );
    (statement, json_rows(values))
}

/// Bytes in a row of JSON.
pub(super) fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", HEXLOWER.encode(bytes))
}

/// An instant in a row of JSON.
pub(super) fn timestamptz(at: Timestamp) -> String {
    at.min(LAST).to_rfc3339()
}

/// The settings of a change, until the end of its own transaction: a flush, and no wait for a lock that is longer than
/// `lock_timeout`. They are not settings of the connection, because a pooler may give each transaction another one. A
/// statement that follows this lists `settings` in `FROM`, so that it is evaluated before the first row is locked.
pub(super) fn settings(lock_timeout: &str) -> String {
    format!(
        "WITH settings AS (SELECT set_config('lock_timeout', '{lock_timeout}', true), \
             set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                 WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)) "
    )
}

/// Milliseconds since 1970, as in a stored state.
pub(super) fn ms(at: Timestamp) -> i64 {
    at.min(LAST).as_ms().cast_signed()
}

pub(super) fn instant(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.min(LAST).as_ms())
}

/// Instants before 1970, which only others can have written, become 1970.
pub(super) fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The state in the second column, as text.
pub(super) fn state<T: Wire>(row: &Row) -> Result<T, StoreError> {
    let json: String = column(row, 1)?;
    let json = serde_json::from_str(&json).ok();
    json.and_then(T::from_json).ok_or_else(unexpected)
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

/// The error for a value that this program does not write.
pub(super) fn unexpected() -> StoreError {
    StoreError::Unavailable("the database contains a value from another program".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_exact_to_the_millisecond_and_bounded() {
        for ms in [0, 1, 951_827_696_789, LAST.as_ms()] {
            let at = Timestamp::from_ms(ms);
            assert_eq!(timestamp(instant(at)), at);
        }
        assert_eq!(timestamp(instant(Timestamp::from_ms(u64::MAX))), LAST);
        let earlier = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(timestamp(earlier), Timestamp::default());
    }
}
