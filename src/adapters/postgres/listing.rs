//! Lists, page by page, over a connection of their own.

use futures_util::stream;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::domain::time::Timestamp;
use crate::ports::{PageStream, StoreError};

use super::dedicated::DedicatedConnection;
use super::link::Parameters;
use super::store::PostgresStore;
use super::values::{column, instant};

/// How many rows a page has.
const PAGE_LEN: usize = 5000;

/// What the next page is read with.
struct Listing<F> {
    connection: DedicatedConnection,
    statement: String,
    after: i64,
    build: F,
}

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
        let begin = Listing {
            connection: DedicatedConnection::open(&self.connector).await?,
            statement: format!("{statement} ORDER BY place LIMIT {PAGE_LEN}"),
            after: i64::MIN,
            build,
        };
        let pages = stream::try_unfold(Some(begin), move |listing| async move {
            let Some(mut listing) = listing else {
                return Ok(None);
            };
            let parameters: Parameters<'_> = &[
                (&listing.after, Type::INT8),
                (&since, Type::TIMESTAMPTZ),
                (&until, Type::TIMESTAMPTZ),
            ];
            let rows = listing
                .connection
                .ask(&listing.statement, parameters)
                .await?;
            let Some(last) = rows.last() else {
                return Ok(None);
            };
            listing.after = column(last, 0)?;
            let is_last = rows.len() < PAGE_LEN;
            let page = rows
                .iter()
                .map(listing.build)
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Some((page, Some(listing).filter(|_| !is_last))))
        });
        Ok(Box::pin(pages))
    }
}
