//! Hourly counts over all nodes.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::domain::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use crate::ports::{CountStore, StoreError};

use super::connection::Parameters;
use super::rows::{column, instant, instant_column};
use super::store::PostgresStore;

const ADD: &str = ", old AS (DELETE FROM hourly_count WHERE hour <= $4) \
     INSERT INTO hourly_count AS kept (hour, counted, number) \
     SELECT $1, new.counted, new.number FROM settings, unnest($2, $3) AS new (counted, number) \
     ORDER BY new.counted \
     ON CONFLICT (hour, counted) DO UPDATE SET number = kept.number + excluded.number";

const LIST: &str = "SELECT hour, counted, number FROM hourly_count \
     WHERE hour >= $1 AND hour < $2 ORDER BY hour";

#[async_trait]
impl CountStore for PostgresStore {
    /// If the response is lost, the counts may be added twice: these are figures for people.
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let (names, numbers) = columns(counts);
        let parameters: Parameters<'_> = &[
            (&instant(hour.start()), Type::TIMESTAMPTZ),
            (&names, Type::TEXT_ARRAY),
            (&numbers, Type::INT8_ARRAY),
            (&instant(hour.minus(KEPT_HOURS).start()), Type::TIMESTAMPTZ),
        ];
        self.change(ADD, parameters).await.map(drop)
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<Vec<HourlyCounts>, StoreError> {
        let parameters: Parameters<'_> = &[
            (&instant(since.start()), Type::TIMESTAMPTZ),
            (&instant(until.start()), Type::TIMESTAMPTZ),
        ];
        let rows = self.look_up(LIST, parameters).await?;
        let mut listed: Vec<HourlyCounts> = Vec::new();
        for row in rows {
            let hour = Hour::of(instant_column(&row, 0)?);
            let counted: String = column(&row, 1)?;
            let number: i64 = column(&row, 2)?;
            // A later version may count more.
            let Some(counted) = Counted::from_name(&counted) else {
                continue;
            };
            let number = u64::try_from(number).unwrap_or(0);
            match listed.last_mut().filter(|last| last.hour == hour) {
                Some(last) => last.counts.add(counted, number),
                None => {
                    let mut counts = Counts::default();
                    counts.add(counted, number);
                    listed.push(HourlyCounts { hour, counts });
                }
            }
        }
        Ok(listed)
    }
}

/// The nonzero numbers with their names.
fn columns(counts: &Counts) -> (Vec<&'static str>, Vec<i64>) {
    let counted = counts.iter().filter(|(_, number)| *number > 0);
    counted
        .map(|(counted, number)| (counted.as_str(), i64::try_from(number).unwrap_or(i64::MAX)))
        .unzip()
}
