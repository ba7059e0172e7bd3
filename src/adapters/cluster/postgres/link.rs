//! A connection that is replaced when it fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
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

/// The connection, or the time from which there has been none.
type Connection = Result<Arc<PostgresConnection>, Instant>;

/// The connection to the database.
#[derive(Clone)]
pub(super) struct Link(watch::Receiver<Connection>);

impl Link {
    /// A link, and the task that maintains its connection. With `metrics` it records and logs whether there is one.
    pub(super) fn new(
        connector: Arc<Connector>,
        metrics: Option<Arc<Metrics>>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (connections, connection) = watch::channel(Err(Instant::now()));
        (Self(connection), keep(connector, metrics, connections))
    }

    /// Fails if the database has been unavailable for a while. Does not wait.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let away = self.0.borrow().as_ref().err().map(Instant::elapsed);
        match away.filter(|away| *away >= PATIENCE) {
            Some(away) => {
                let text = format!("the database has been unavailable for {} s", away.as_secs());
                Err(StoreError::Unavailable(text))
            }
            None => Ok(()),
        }
    }

    /// Runs an idempotent statement until there is a result. A connection that does not respond before `deadline` is
    /// dropped.
    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
        deadline: Instant,
    ) -> Result<Vec<Row>, StoreError> {
        loop {
            let connection = self.connection(deadline).await?;
            let sent = Instant::now();
            match timeout_at(deadline, connection.ask(statement, parameters)).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) => match failure(&error) {
                    Some(failure) => return Err(failure),
                    // The next attempt waits for a new connection.
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

    /// A connection that works as far as known.
    pub(super) async fn connection(
        &self,
        deadline: Instant,
    ) -> Result<Arc<PostgresConnection>, StoreError> {
        let mut connections = self.0.clone();
        let is_there = |new: &Connection| new.as_ref().is_ok_and(|one| !one.gone.is_cancelled());
        let connection = timeout_at(deadline, connections.wait_for(is_there)).await;
        let connection = connection.ok().and_then(|found| found.ok()?.clone().ok());
        connection.ok_or_else(|| StoreError::Unavailable("the database is unavailable".to_owned()))
    }
}

/// Connects, watches the connection, and reconnects, until the link is dropped. A change is logged once.
async fn keep(
    connector: Arc<Connector>,
    metrics: Option<Arc<Metrics>>,
    connections: watch::Sender<Connection>,
) {
    let is_change = |is_away| {
        let metrics = metrics.as_ref();
        metrics.is_some_and(|metrics| metrics.store_engine.set_away(is_away))
    };
    while !connections.is_closed() {
        let begun = Instant::now();
        match connector.connect().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let before = connections.send_replace(Ok(Arc::clone(&connection)));
                if is_change(false) {
                    let away_ms = before.err().map(|since| since.elapsed().as_millis());
                    tracing::info!(away_ms, "the database is back");
                }
                watch_over(&connection).await;
                drop(connections.send_replace(Err(Instant::now())));
            }
            Err(error) => {
                if is_change(true) {
                    tracing::warn!(
                        reason = error.to_string(),
                        "the database is unavailable: sign-ups and new keys are refused until it is back"
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
    loop {
        tokio::select! {
            () = connection.gone.cancelled() => return,
            () = sleep(PROBE_INTERVAL) => {}
        }
        let Ok(Ok(())) = timeout(PROBE_DEADLINE, connection.check()).await else {
            connection.gone.cancel();
            return;
        };
    }
}
