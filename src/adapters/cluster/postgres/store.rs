//! The store behind the ports.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::adapters::cluster::credential_cache::CredentialCache;
use crate::domain::{EmailAddress, KeyRecord, MacKey, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{PageStream, StoreError};

use super::address::PostgresSettings;
use super::connection::{CONNECT_DEADLINE, Connector, DedicatedConnection, Parameters};
use super::error::PostgresOpenError;
use super::link::Links;
use super::rows::{Stored, column, insert, ms, settings};

/// Deadline of a change, including the lookup of a credential before it: less than the three seconds after which
/// the client gets a response.
const WRITE_DEADLINE: Duration = Duration::from_secs(2);
const READ_DEADLINE: Duration = Duration::from_millis(700);
/// Longest wait of a change for a row that another transaction holds, and of the changes behind it, which then go first.
pub(super) const LOCK_TIMEOUT: &str = "50ms";
/// Most attempts of a change while another transaction holds one of its rows.
const LOCK_ATTEMPTS: usize = 10;
/// Most waiting changes.
const WAITING_MAX: usize = 1024;
/// Connections for changes: the server flushes those of several together.
const WRITERS: usize = 4;
/// Contacts that have the same place in this many take turns.
const TURNS: usize = 64;
/// Most waiting lookups: anybody can make up keys that have to be looked up.
const LOOK_UPS_MAX: usize = 256;
/// Most lookups by the token of an email's link, which are not rate-limited: the others wait their turn.
const TOKEN_LOOK_UPS_MAX: usize = 64;
/// Rows per page of a list.
const PAGE_LEN: usize = 5000;
/// Interval at which a start retries.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Contacts, keys, revocations and counts in a PostgreSQL database.
pub struct PostgresStore {
    pub(super) connector: Arc<Connector>,
    /// [`WRITERS`] for changes, and one for lookups.
    pub(super) links: Links,
    waiting: Semaphore,
    /// Locked by the changes of a contact, which would otherwise get in each other's way.
    turns: [Mutex<()>; TURNS],
    looking_up: Semaphore,
    pub(super) looking_up_tokens: Semaphore,
    tombstone_keys: Vec<MacKey>,
    pub(super) known_keys: CredentialCache<KeyRecord>,
    pub(super) known_revocations: CredentialCache<bool>,
}

impl PostgresStore {
    /// Opens the store. Retries for `patience` while the database is unreachable or not writable.
    pub async fn connect(
        settings: &PostgresSettings,
        metrics: Arc<Metrics>,
        patience: Duration,
    ) -> Result<Arc<Self>, PostgresOpenError> {
        let connector = Arc::new(Connector::new(settings)?);
        try_for(&connector, patience).await?;
        let links = Links::new(WRITERS + 1, &connector, metrics);
        links.connected(Instant::now() + CONNECT_DEADLINE).await;
        Ok(Arc::new(Self {
            connector,
            links,
            waiting: Semaphore::new(WAITING_MAX),
            turns: std::array::from_fn(|_| Mutex::default()),
            looking_up: Semaphore::new(LOOK_UPS_MAX),
            looking_up_tokens: Semaphore::new(TOKEN_LOOK_UPS_MAX),
            tombstone_keys: settings.tombstone_keys.clone(),
            known_keys: CredentialCache::default(),
            known_revocations: CredentialCache::default(),
        }))
    }

    /// The hashes under which these addresses may be remembered as forgotten: all under the first key, then under the
    /// next.
    pub(super) fn tombstones<'a>(
        &self,
        emails: impl IntoIterator<Item = &'a EmailAddress> + Clone,
    ) -> Vec<Vec<u8>> {
        let hashes = self.tombstone_keys.iter().flat_map(|key| {
            let emails = emails.clone().into_iter();
            emails.map(|email| email.tombstone(key).to_vec())
        });
        hashes.collect()
    }

    /// Makes an idempotent change by a statement that follows `settings`, with retries.
    pub(super) async fn change(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let statement = settings(LOCK_TIMEOUT) + statement;
        self.begin_change()?.ask(&statement, parameters).await
    }

    /// Begins a change of one or several statements.
    pub(super) fn begin_change(&self) -> Result<Change<'_>, StoreError> {
        Ok(Change {
            links: &self.links,
            _permit: permit(&self.waiting)?,
            // Changes at the same time take the connections in turn.
            turn: self.waiting.available_permits() % WRITERS,
            deadline: Instant::now() + WRITE_DEADLINE,
        })
    }

    /// The lock of the contact with this address or token.
    #[expect(clippy::indexing_slicing, reason = "a remainder is below the divisor")]
    pub(super) fn turn_of(&self, name: &str) -> &Mutex<()> {
        let mix = |hash: usize, byte: u8| hash.wrapping_mul(37).wrapping_add(byte.into());
        &self.turns[name.bytes().fold(0, mix) % TURNS]
    }

    pub(super) async fn look_up(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let _permit = permit(&self.looking_up)?;
        let deadline = Instant::now() + READ_DEADLINE;
        let links = &self.links;
        links.ask(WRITERS, statement, parameters, deadline).await
    }

    /// Runs a statement on a separate connection, because it takes longer than a lookup may.
    pub(super) async fn ask_apart(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let connection = DedicatedConnection::open(&self.connector).await?;
        let rows = connection.ask(statement, parameters).await?;
        connection.leave();
        Ok(rows)
    }

    /// Lists the result of `build` for the rows of `statement`, which must have no `ORDER BY`. It has a column
    /// `place`; its parameters are the place to begin after, and two bounds that may be null.
    pub(super) async fn pages<T: Send + 'static>(
        &self,
        statement: &str,
        (since, until): (Option<Timestamp>, Option<Timestamp>),
        build: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<PageStream<T>, StoreError> {
        let (since, until) = (since.map(ms), until.map(ms));
        let connection = DedicatedConnection::open(&self.connector).await?;
        let statement = format!("{statement} ORDER BY place LIMIT {PAGE_LEN}");
        let begin = Some((connection, statement, i64::MIN));
        let pages = stream::try_unfold(begin, move |next| async move {
            let Some((connection, statement, after)) = next else {
                return Ok(None);
            };
            let parameters: Parameters<'_> = &[
                (&after, Type::INT8),
                (&since, Type::INT8),
                (&until, Type::INT8),
            ];
            let rows = connection.ask(&statement, parameters).await?;
            let Some(last) = rows.last() else {
                return Ok(None);
            };
            let has_more = rows.len() == PAGE_LEN;
            let next = (connection, statement, column(last, "place")?);
            let page = rows.iter().map(build).collect::<Result<Vec<_>, _>>()?;
            Ok(Some((page, has_more.then_some(next))))
        });
        Ok(Box::pin(pages))
    }
}

/// A change, from its first statement on.
pub(super) struct Change<'a> {
    links: &'a Links,
    _permit: SemaphorePermit<'a>,
    turn: usize,
    deadline: Instant,
}

impl Change<'_> {
    /// Adds the rows of a value, except existing ones. Returns whether one is new.
    pub(super) async fn add_new(&self, value: &impl Stored) -> Result<bool, StoreError> {
        let (statement, rows) = insert(slice::from_ref(value), LOCK_TIMEOUT, "true");
        let added = self.ask(&statement, &[(&rows, Type::TEXT)]).await?;
        Ok(!added.is_empty())
    }

    /// Runs an idempotent statement, several times if another transaction holds one of its rows.
    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut attempts = 1..LOCK_ATTEMPTS;
        loop {
            let asked = self
                .links
                .ask(self.turn, statement, parameters, self.deadline);
            match asked.await {
                Err(StoreError::Overloaded) if attempts.next().is_some() => {}
                done => return done,
            }
        }
    }
}

/// A permit to wait for the database.
fn permit(waiting: &Semaphore) -> Result<SemaphorePermit<'_>, StoreError> {
    let permit = waiting.try_acquire();
    permit.map_err(|_none_left| StoreError::Overloaded)
}

/// Connects once, retrying as long as that may help.
async fn try_for(connector: &Connector, patience: Duration) -> Result<(), PostgresOpenError> {
    let (begun, mut tried) = (Instant::now(), connector.connect().await);
    if let Err(error @ PostgresOpenError::Away(_)) = &tried
        && !patience.is_zero()
    {
        let (database, seconds) = (&connector.settings.address.name, patience.as_secs());
        tracing::warn!(%error, database, "waiting for the database, at most {seconds} s");
    }
    while let Err(PostgresOpenError::Away(_)) = &tried
        && begun.elapsed() < patience
    {
        sleep(RETRY_INTERVAL).await;
        tried = connector.connect().await;
    }
    tried.map(drop)
}
