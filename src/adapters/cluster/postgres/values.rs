//! Values of the domain as columns.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_postgres::Row;
use tokio_postgres::row::RowIndex;
use tokio_postgres::types::FromSqlOwned;

use crate::adapters::consent_entry::ConsentEntry;
use crate::domain::{Consent, Fingerprint, LeaveToken, Origin, OriginHash, Signers, Timestamp};
use crate::ports::StoreError;

/// The settings of a change, until the end of its own transaction: a flush, and no long wait for a row. They are
/// not settings of the connection, because a pooler may give each transaction another one. A statement that
/// uses this lists `settings` in `FROM`, so that it is evaluated before the first row is locked. The argument
/// is the longest wait for a lock, by default that for one row.
macro_rules! settings {
    () => {
        settings!("'500ms'")
    };
    ($lock_timeout:literal) => {
        concat!(
            "WITH settings AS (SELECT set_config('lock_timeout', ",
            $lock_timeout,
            ", true), set_config('synchronous_commit', \
             CASE current_setting('synchronous_commit') \
             WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true))"
        )
    };
}
pub(super) use settings;

/// The last instant stored in columns, in the year 10889: later ones would overflow.
const INSTANT_MS_MAX: u64 = (1 << 48) - 1;

pub(super) fn instant(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.as_ms().min(INSTANT_MS_MAX))
}

/// Instants before 1970, which only others can have written, become 1970.
pub(super) fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The network's hash, and the credential's if there is one.
pub(super) fn signer(origin: &Origin) -> Vec<u8> {
    let mut bytes = origin.network.as_bytes().to_vec();
    if let Some(credential) = &origin.credential {
        bytes.extend_from_slice(credential.as_bytes());
    }
    bytes
}

/// The readable ones.
pub(super) fn signers(column: &[Vec<u8>]) -> Signers {
    column.iter().filter_map(|bytes| origin(bytes)).collect()
}

fn origin(bytes: &[u8]) -> Option<Origin> {
    let (network, credential) = bytes.split_first_chunk()?;
    let credential = if credential.is_empty() {
        None
    } else {
        Some(OriginHash::from_bytes(credential.try_into().ok()?))
    };
    Some(Origin {
        network: OriginHash::from_bytes(*network),
        credential,
    })
}

/// A column with an optional consent.
pub(super) fn consent_column(row: &Row, index: usize) -> Result<Option<Consent>, StoreError> {
    let json: Option<String> = column(row, index)?;
    let Some(json) = json else { return Ok(None) };
    let entry: ConsentEntry = serde_json::from_str(&json).map_err(|_other| unexpected())?;
    Ok(entry.into_consent())
}

/// A column with an optional token.
pub(super) fn token_column(row: &Row, index: usize) -> Result<Option<LeaveToken>, StoreError> {
    let bytes: Option<Vec<u8>> = column(row, index)?;
    let token = bytes.map(|bytes| bytes.try_into().map(LeaveToken::from_bytes));
    token.transpose().map_err(|_other_length| unexpected())
}

/// A column of a result.
pub(super) fn column<T: FromSqlOwned>(
    row: &Row,
    index: impl RowIndex + Display,
) -> Result<T, StoreError> {
    row.try_get(index).map_err(|_other_type| unexpected())
}

/// A column with an instant.
pub(super) fn instant_column(row: &Row, index: usize) -> Result<Timestamp, StoreError> {
    column(row, index).map(timestamp)
}

/// A column with a fingerprint.
pub(super) fn fingerprint_column(row: &Row, index: usize) -> Result<Fingerprint, StoreError> {
    let bytes: Vec<u8> = column(row, index)?;
    let bytes = bytes.try_into().map_err(|_other_length| unexpected())?;
    Ok(Fingerprint::from_bytes(bytes))
}

/// The error for a value that this program does not write.
pub(super) fn unexpected() -> StoreError {
    StoreError::Unavailable("the database contains a value from another program".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_are_read_as_they_were_written() {
        let hash = |seed| OriginHash::from_bytes([seed; 8]);
        let origins = [(1, None), (2, Some(3))].map(|(network, credential)| Origin {
            network: hash(network),
            credential: credential.map(hash),
        });
        let column: Vec<_> = origins.iter().map(signer).collect();
        assert_eq!(signers(&column), origins.into_iter().collect());
        for length in [0, 7, 9, 15, 17] {
            assert_eq!(origin(&vec![1; length]), None, "{length}");
        }
    }

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
