//! Connections that are replaced when they fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::{join_all, select_ok};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::Row;

use crate::metrics::Metrics;
use crate::ports::StoreError;

use super::connection::{Connector, Parameters, PostgresConnection};
use super::error::{PostgresOpenError, failure, too_late};

/// Interval at which the connection is checked for being writable.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// As long as a change may take, since a probe waits for the changes before it.
const PROBE_DEADLINE: Duration = Duration::from_secs(3);
/// Shortest time without a response after which a statement gives up its connection.
const SILENCE_MIN: Duration = Duration::from_millis(500);
/// Shortest time between two attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(100);
/// The same after an error that is unlikely to go away by itself.
const REFUSED_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which the database may be unavailable before health reports it. A planned failover takes less.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection, or the time from which there has been none.
type Connection = Result<Arc<PostgresConnection>, Instant>;

/// Connections to the database. One that is missing is replaced by the next.
pub(super) struct Links {
    links: Vec<watch::Receiver<Connection>>,
    /// Aborted on drop.
    _tasks: JoinSet<()>,
}

impl Links {
    /// Maintains this many connections, and records and logs whether there is one.
    pub(super) fn new(count: usize, connector: &Arc<Connector>, metrics: Arc<Metrics>) -> Self {
        let live = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        let link = |_number| {
            let (sender, link) = watch::channel(Err(Instant::now()));
            let (connector, metrics) = (Arc::clone(connector), Arc::clone(&metrics));
            tasks.spawn(keep(connector, metrics, Arc::clone(&live), sender));
            link
        };
        Self {
            links: (0..count).map(link).collect(),
            _tasks: tasks,
        }
    }

    /// Returns when all are connected, or at the deadline.
    pub(super) async fn connected(&self, deadline: Instant) {
        let all = join_all(self.links.iter().cloned().map(connection));
        let _ = timeout_at(deadline, all).await;
    }

    /// The connection whose turn it is, or the next that there is.
    async fn connection(&self, turn: usize) -> Result<Arc<PostgresConnection>, Instant> {
        let links = self.links.iter().cycle().skip(turn);
        let links = links.take(self.links.len()).cloned();
        // Those that come first are preferred.
        let (found, _others) = select_ok(links.map(|link| Box::pin(connection(link)))).await?;
        Ok(found)
    }

    /// Fails if the database has been unavailable for a while. Does not wait.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let away = |link: &watch::Receiver<Connection>| {
            let since = link.borrow().as_ref().err().copied();
            since.map(|since| since.elapsed())
        };
        // None if there is a connection.
        let away = self.links.iter().map(away).min().flatten();
        match away.filter(|away| *away >= PATIENCE) {
            Some(away) => {
                let text = format!("the database has been unavailable for {} s", away.as_secs());
                Err(StoreError::Unavailable(text))
            }
            None => Ok(()),
        }
    }

    /// Runs an idempotent statement until there is a result: over the connection whose turn it is, or the next that
    /// there is. A connection that does not respond before `deadline` is dropped.
    pub(super) async fn ask(
        &self,
        turn: usize,
        statement: &str,
        parameters: Parameters<'_>,
        deadline: Instant,
    ) -> Result<Vec<Row>, StoreError> {
        loop {
            let connecting = timeout_at(deadline, self.connection(turn));
            let Ok(Ok(connection)) = connecting.await else {
                let text = "the database is unavailable".to_owned();
                return Err(StoreError::Unavailable(text));
            };
            let sent = Instant::now();
            match timeout_at(deadline, connection.ask(statement, parameters)).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) => match failure(&error) {
                    Some(failure) => return Err(failure),
                    // The next attempt takes another connection.
                    None => connection.gone.cancel(),
                },
                Err(_elapsed) => {
                    // A statement that waited long for a connection reveals nothing about it.
                    if sent.elapsed() >= SILENCE_MIN {
                        connection.gone.cancel();
                    }
                    return Err(too_late());
                }
            }
        }
    }
}

/// The connection of a link, as soon as there is one that works as far as known. Fails if the link has ended.
async fn connection(
    mut link: watch::Receiver<Connection>,
) -> Result<Arc<PostgresConnection>, Instant> {
    let is_live = |new: &Connection| new.as_ref().is_ok_and(|one| !one.gone.is_cancelled());
    let found = link.wait_for(is_live).await;
    found.map_or_else(|_ended| Err(Instant::now()), |found| found.clone())
}

/// Connects, watches the connection, and reconnects, until the links are dropped. A change is logged once. `live` is
/// the number of connections of all links.
async fn keep(
    connector: Arc<Connector>,
    metrics: Arc<Metrics>,
    live: Arc<AtomicUsize>,
    connections: watch::Sender<Connection>,
) {
    let (mut since, mut is_told) = (Instant::now(), false);
    while !connections.is_closed() {
        let begun = Instant::now();
        match connector.connect().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                live.fetch_add(1, Relaxed);
                drop(connections.send_replace(Ok(Arc::clone(&connection))));
                let away_ms = since.elapsed().as_millis();
                if metrics.store_engine.set_away(false) {
                    tracing::info!(away_ms, "the database is back");
                } else if is_told {
                    tracing::info!(away_ms, "the missing connection to the database is back");
                }
                watch_over(&connection).await;
                (since, is_told) = (Instant::now(), false);
                live.fetch_sub(1, Relaxed);
                drop(connections.send_replace(Err(since)));
            }
            Err(error) => {
                let reason = error.to_string();
                if live.load(Relaxed) == 0 {
                    if metrics.store_engine.set_away(true) {
                        tracing::warn!(
                            reason,
                            "the database is unavailable: sign-ups and new keys are refused until it is back"
                        );
                    }
                } else if !is_told && since.elapsed() >= PATIENCE {
                    is_told = true;
                    tracing::warn!(
                        reason,
                        "a connection to the database is missing: the others do its work"
                    );
                }
                if !matches!(error, PostgresOpenError::Away(_)) {
                    // Frequent attempts with a wrong password may lock the user out.
                    sleep(REFUSED_INTERVAL).await;
                }
            }
        }
        sleep_until(begun + CONNECT_INTERVAL).await;
    }
}

/// Returns when the connection is unusable.
async fn watch_over(connection: &PostgresConnection) {
    while timeout(PROBE_INTERVAL, connection.gone.cancelled())
        .await
        .is_err()
    {
        let Ok(Ok(())) = timeout(PROBE_DEADLINE, connection.check()).await else {
            return connection.gone.cancel();
        };
    }
}
