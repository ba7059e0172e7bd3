//! A connection of its own for work that takes long, so that no sign-up and no look-up waits for it.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Error, Row};

use crate::ports::StoreError;

use super::connection::{Connector, Session};
use super::failure::{Failure, describe, too_late};
use super::link::Parameters;
use super::values::settings;

/// How long all of it may take.
const DEADLINE: Duration = Duration::from_secs(120);

/// One transaction. It is undone unless it is committed.
#[derive(Debug)]
pub(super) struct Transaction {
    session: Session,
    deadline: Instant,
}

impl Transaction {
    /// Begins one. Those that add or remove contacts outside of sign-ups come one after the other, over all
    /// nodes: what one has forgotten the next must not add.
    pub(super) async fn begin(connector: &Connector) -> Result<Self, StoreError> {
        // The lock is any number that nobody else uses.
        const BEGIN: &str = concat!(
            "BEGIN; ",
            settings!("'0'"),
            " SELECT * FROM settings; SELECT pg_advisory_xact_lock(7235119206014)"
        );
        let transaction = Self::open(connector).await?;
        transaction.run(BEGIN).await?;
        Ok(transaction)
    }

    /// The connection alone: each statement is a transaction of its own.
    pub(super) async fn open(connector: &Connector) -> Result<Self, StoreError> {
        Ok(Self {
            session: connector.connect().await?,
            deadline: Instant::now() + DEADLINE,
        })
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let asked = self.session.client.query_typed(statement, parameters);
        self.within(asked).await
    }

    /// Runs statements without values and answers.
    pub(super) async fn run(&self, statements: &str) -> Result<(), StoreError> {
        self.within(self.session.client.batch_execute(statements))
            .await
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        self.run("COMMIT").await
    }

    async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let answered = timeout_at(self.deadline, asked).await;
        let answered = answered.map_err(|_elapsed| too_late())?;
        answered.map_err(|error| match Failure::of(&error) {
            Failure::Final(error) => error,
            Failure::Lost | Failure::Again | Failure::Locked => {
                StoreError::Unavailable(describe(&error))
            }
        })
    }
}
