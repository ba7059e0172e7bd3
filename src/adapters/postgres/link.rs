//! A connection that is replaced when it fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::ports::StoreError;

use super::connection::{Connector, Session};
use super::failure::{Failure, too_late};
use super::presence::Presence;

/// How often the connection is asked whether it takes writes.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// As long as a change may take, since a probe waits for the changes before it.
const PROBE_DEADLINE: Duration = Duration::from_secs(3);
/// How soon after an attempt to connect the next one may follow.
const CONNECT_INTERVAL: Duration = Duration::from_millis(100);

/// The values of a statement, each with its type.
pub(super) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// The way to the database.
#[derive(Clone, Debug)]
pub(super) struct Link(watch::Receiver<Option<Arc<Session>>>);

impl Link {
    /// A link, and the task that keeps a connection for it. With `presence` it tells whether there is one.
    pub(super) fn new(
        connector: Arc<Connector>,
        presence: Option<Arc<Presence>>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, receiver) = watch::channel(None);
        (Self(receiver), keep(connector, presence, sender))
    }

    /// Asks once. A connection that does not answer until `deadline` is dropped.
    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
        deadline: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let session = self.session(deadline).await.map_err(Failure::Final)?;
        let asked = session.client.query_typed(statement, parameters);
        match timeout_at(deadline, asked).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                let failure = Failure::of(&error);
                if let Failure::Lost = failure {
                    session.give_up();
                }
                Err(failure)
            }
            Err(_elapsed) => {
                session.give_up();
                Err(Failure::Final(too_late()))
            }
        }
    }

    /// Asks until there is an answer, for a statement that may be asked again.
    pub(super) async fn ask_until(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
        deadline: Instant,
    ) -> Result<Vec<Row>, StoreError> {
        loop {
            match self.ask(statement, parameters, deadline).await {
                Ok(rows) => return Ok(rows),
                Err(Failure::Lost | Failure::Again) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// A connection that works as far as is known.
    pub(super) async fn session(&self, deadline: Instant) -> Result<Arc<Session>, StoreError> {
        let mut sessions = self.0.clone();
        let is_there = |it: &Option<Arc<Session>>| it.as_ref().is_some_and(|it| !it.is_gone());
        let session = timeout_at(deadline, sessions.wait_for(is_there)).await;
        let session = session.map_err(|_elapsed| away())?;
        let session = session.map_err(|_closed| away())?;
        session.clone().ok_or_else(away)
    }
}

fn away() -> StoreError {
    StoreError::Unavailable("the database is away".to_owned())
}

/// Connects, watches the connection, and connects again, until nobody asks any more.
async fn keep(
    connector: Arc<Connector>,
    presence: Option<Arc<Presence>>,
    sessions: watch::Sender<Option<Arc<Session>>>,
) {
    while !sessions.is_closed() {
        let begun = Instant::now();
        match connector.connect().await {
            Ok(session) => {
                let session = Arc::new(session);
                sessions.send_replace(Some(Arc::clone(&session)));
                if let Some(presence) = &presence {
                    presence.set_back();
                }
                watch_over(&session).await;
                sessions.send_replace(None);
                if let Some(presence) = &presence {
                    presence.set_lost();
                }
            }
            Err(error) => {
                if let Some(presence) = &presence {
                    presence.set_away(&error.to_string());
                }
            }
        }
        sleep_until(begun + CONNECT_INTERVAL).await;
    }
}

/// Returns when the connection is of no use any more.
async fn watch_over(session: &Session) {
    loop {
        tokio::select! {
            () = session.gone() => return,
            () = sleep(PROBE_INTERVAL) => {}
        }
        let probe = session
            .client
            .query_typed("SHOW transaction_read_only", &[]);
        let answered = timeout(PROBE_DEADLINE, probe).await;
        let takes_writes = match answered {
            Ok(Ok(rows)) => rows
                .first()
                .is_some_and(|row| row.try_get(0).is_ok_and(|is_on: &str| is_on == "off")),
            Ok(Err(_)) | Err(_) => false,
        };
        if !takes_writes {
            session.give_up();
            return;
        }
    }
}
