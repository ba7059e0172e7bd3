//! The hourly counts over all nodes.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::domain::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use crate::ports::{CountStore, StoreError};

use super::connection::Parameters;
use super::rows::{column, counts_of, instant, json_rows, timestamp};
use super::store::PostgresStore;

/// Counts over all nodes are added by one statement.
const ADD_COUNTS: &str = ", old AS (DELETE FROM hourly_count WHERE hour <= $2) \
     INSERT INTO hourly_count AS kept (hour, counted, number) \
     SELECT new.* FROM settings, json_populate_recordset(NULL::hourly_count, $1::json) AS new \
     ORDER BY new.counted \
     ON CONFLICT (hour, counted) DO UPDATE SET number = kept.number + excluded.number";

const LIST_COUNTS: &str = "SELECT hour, counted, number FROM hourly_count \
     WHERE hour >= $1 AND hour < $2";

#[async_trait]
impl CountStore for PostgresStore {
    /// If the response is lost, the counts may be added twice: these are figures for people.
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let counts: Vec<_> = counts_of(hour, counts).collect();
        let parameters: Parameters<'_> = &[
            (&json_rows(&counts), Type::TEXT),
            (&instant(hour.minus(KEPT_HOURS).start()), Type::TIMESTAMPTZ),
        ];
        self.change(ADD_COUNTS, parameters).await.map(drop)
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<HourlyCounts, StoreError> {
        let parameters: Parameters<'_> = &[
            (&instant(since.start()), Type::TIMESTAMPTZ),
            (&instant(until.start()), Type::TIMESTAMPTZ),
        ];
        let mut listed = HourlyCounts::new();
        for row in self.look_up(LIST_COUNTS, parameters).await? {
            let hour = Hour::of(timestamp(column(&row, 0)?));
            let counted: String = column(&row, 1)?;
            let number: i64 = column(&row, 2)?;
            // A later version may count more.
            if let Some(counted) = Counted::from_name(&counted) {
                let counts = listed.entry(hour).or_default();
                counts.add(counted, u64::try_from(number).unwrap_or(0));
            }
        }
        Ok(listed)
    }
}
