//! Lists, page by page, over a connection of their own.

use futures_util::stream;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::domain::Timestamp;
use crate::ports::{PageStream, StoreError};

use super::dedicated::DedicatedConnection;
use super::link::Parameters;
use super::store::PostgresStore;
use super::values::{column, instant};

/// How many rows a page has.
const PAGE_LEN: usize = 5000;

impl PostgresStore {
    /// Lists what `build` makes of the rows of `statement`, which has no order yet. Its columns begin with
    /// `place`; its values are the place to begin after, and two bounds that may be null.
    pub(super) async fn pages<T: Send + 'static>(
        &self,
        statement: &str,
        (since, until): (Option<Timestamp>, Option<Timestamp>),
        build: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<PageStream<T>, StoreError> {
        let (since, until) = (since.map(instant), until.map(instant));
        let connection = DedicatedConnection::open(&self.connector).await?;
        let statement = format!("{statement} ORDER BY place LIMIT {PAGE_LEN}");
        let begin = Some((connection, statement, i64::MIN));
        let pages = stream::try_unfold(begin, move |next| async move {
            let Some((connection, statement, after)) = next else {
                return Ok(None);
            };
            let parameters: Parameters<'_> = &[
                (&after, Type::INT8),
                (&since, Type::TIMESTAMPTZ),
                (&until, Type::TIMESTAMPTZ),
            ];
            let rows = connection.ask(&statement, parameters).await?;
            let Some(last) = rows.last() else {
                return Ok(None);
            };
            let has_more = rows.len() == PAGE_LEN;
            let next = (connection, statement, column(last, 0)?);
            let page = rows.iter().map(build).collect::<Result<Vec<_>, _>>()?;
            Ok(Some((page, has_more.then_some(next))))
        });
        Ok(Box::pin(pages))
    }
}
