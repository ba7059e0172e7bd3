//! The store behind the ports.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::{Builder, Uuid};

use crate::domain::{MacKey, SignUp, Subscription, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{Entropy, PageStream, StoreError, random};

use super::address::PostgresSettings;
use super::committer::{Committer, PendingSignUp};
use super::connection::Parameters;
use super::connector::{CONNECT_DEADLINE, Connector, DedicatedConnection};
use super::error::{PostgresOpenError, too_late};
use super::link::Link;
use super::rows::{column, instant, settings};

/// Deadline of a change, including the lookup of a credential before it: less than the three seconds after which
/// the client gets a response.
const WRITE_DEADLINE: Duration = Duration::from_secs(2);
const READ_DEADLINE: Duration = Duration::from_millis(700);
/// Most waiting changes.
const WAITING_MAX: usize = 1024;
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
    pub(super) writes: Link,
    reads: Link,
    queue: mpsc::UnboundedSender<PendingSignUp>,
    waiting: Arc<Semaphore>,
    looking_up: Semaphore,
    pub(super) looking_up_tokens: Semaphore,
    pub(super) tombstone_keys: Vec<MacKey>,
    entropy: Arc<dyn Entropy>,
    /// Aborted on drop.
    _tasks: JoinSet<()>,
}

impl PostgresStore {
    /// Opens the store. Retries for `patience` while the database is unreachable or not writable.
    pub async fn connect(
        settings: &PostgresSettings,
        metrics: Arc<Metrics>,
        entropy: Arc<dyn Entropy>,
        patience: Duration,
    ) -> Result<Arc<Self>, PostgresOpenError> {
        let connector = Arc::new(Connector::new(settings)?);
        try_for(&connector, patience).await?;
        let counted = Some(Arc::clone(&metrics));
        let (writes, keep_writes) = Link::new(Arc::clone(&connector), counted);
        let (reads, keep_reads) = Link::new(Arc::clone(&connector), None);
        let committer = Committer::new(writes.clone(), settings.tombstone_keys.clone(), metrics);
        let (queue, queued) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_writes);
        tasks.spawn(keep_reads);
        tasks.spawn(committer.run(queued));
        for link in [&writes, &reads] {
            // If there is no connection after all, changes and lookups report it.
            let _ = link.connection(Instant::now() + CONNECT_DEADLINE).await;
        }
        Ok(Arc::new(Self {
            connector,
            writes,
            reads,
            queue,
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            looking_up: Semaphore::new(LOOK_UPS_MAX),
            looking_up_tokens: Semaphore::new(TOKEN_LOOK_UPS_MAX),
            tombstone_keys: settings.tombstone_keys.clone(),
            entropy,
            _tasks: tasks,
        }))
    }

    /// Lets the committer store a sign-up, and waits for it. It may be stored even if nobody waits any more.
    pub(super) async fn commit(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let deadline = Instant::now() + WRITE_DEADLINE;
        let (answer, answered) = oneshot::channel();
        let waiting = PendingSignUp {
            sign_up,
            id: self.id(),
            deadline,
            answer,
            _permit: self.permit()?,
        };
        // Fails if the committer has ended, which the missing reply shows, too.
        let _ = self.queue.send(waiting);
        let answered = timeout_at(deadline, answered).await;
        let answered = answered.map_err(|_elapsed| too_late())?;
        answered.unwrap_or_else(|_ended| {
            let text = "no more sign-ups are accepted".to_owned();
            Err(StoreError::Unavailable(text))
        })
    }

    /// Makes an idempotent change by a statement that follows [`settings`], with retries.
    pub(super) async fn change(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let _permit = self.permit()?;
        let statement = format!("{} {statement}", settings("'500ms'"));
        let deadline = Instant::now() + WRITE_DEADLINE;
        self.writes.ask(&statement, parameters, deadline).await
    }

    pub(super) async fn look_up(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let permit = self.looking_up.try_acquire();
        let _permit = permit.map_err(|_none_left| StoreError::Overloaded)?;
        let deadline = Instant::now() + READ_DEADLINE;
        self.reads.ask(statement, parameters, deadline).await
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

    /// Lists the result of `build` for the rows of `statement`, which must have no `ORDER BY`. Its first column is
    /// `place`; its parameters are the place to begin after, and two bounds that may be null.
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
    /// An id for a change, by which a repetition is recognised.
    pub(super) fn id(&self) -> Uuid {
        Builder::from_custom_bytes(random(&*self.entropy)).into_uuid()
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let permit = Arc::clone(&self.waiting).try_acquire_owned();
        permit.map_err(|_none_left| StoreError::Overloaded)
    }
}

/// Connects once, retrying as long as that may help.
async fn try_for(connector: &Connector, patience: Duration) -> Result<(), PostgresOpenError> {
    let (begun, mut is_told) = (Instant::now(), false);
    loop {
        match connector.connect().await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() && begun.elapsed() < patience => {
                if !std::mem::replace(&mut is_told, true) {
                    let (database, seconds) =
                        (&connector.settings.address.name, patience.as_secs());
                    tracing::warn!(%error, database, "waiting for the database, at most {seconds} s");
                }
                sleep(RETRY_INTERVAL).await;
            }
            Err(error) => return Err(error),
        }
    }
}
