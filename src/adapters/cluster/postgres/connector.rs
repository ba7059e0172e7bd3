//! Connecting to the writable host, and separate connections for long work, so that no sign-up and no lookup waits
//! for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, lookup_host};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::Type;
use tokio_postgres::{Config, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::answers::AnswerBound;
use crate::adapters::outbound::connect::connect_to;
use crate::adapters::outbound::{root_cause, tls_config};
use crate::ports::StoreError;

use super::address::PostgresSettings;
use super::connection::{Parameters, PostgresConnection};
use super::error::{PostgresOpenError, failure, too_late};
use super::rows::{insert, settings};

/// Deadline of DNS, connecting, TLS and login together, which take seven round trips.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Deadline of the other hosts after one has refused. A host that is gone would delay the next attempt, and by
/// then a standby may have been promoted.
const OTHERS_DEADLINE: Duration = Duration::from_secs(3);

/// Deadline of a statement on a separate connection.
const DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of a statement that reads and writes whole tables.
const TABLE_DEADLINE: Duration = Duration::from_secs(3600);

/// Most bytes between two responses: a page of deliveries has a few tens of millions.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The settings of connections.
pub(super) struct Connector {
    pub(super) settings: PostgresSettings,
    tls: MakeRustlsConnect,
    /// An unused connection: most dedicated work is short, such as one click.
    spare: Mutex<Option<PostgresConnection>>,
}

impl Connector {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, PostgresOpenError> {
        let tls = tls_config(settings.roots.clone());
        let tls = tls.map_err(|error| PostgresOpenError::Tls(error.to_string()))?;
        if settings.address.has_password() && settings.password_file.is_some() {
            return Err(PostgresOpenError::TwoPasswords);
        }
        Ok(Self {
            settings: settings.clone(),
            tls: MakeRustlsConnect::new(tls),
            spare: Mutex::default(),
        })
    }

    /// Connects to the first writable host, and checks its tables.
    pub(super) async fn connect(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let connection = self.connect_unchecked().await?;
        let meta = timeout(CONNECT_DEADLINE, connection.meta(&self.settings.secret_ids)).await;
        match meta.unwrap_or_else(|_elapsed| Err(silent()))?.flushes {
            true => Ok(connection),
            false => Err(PostgresOpenError::FsyncOff),
        }
    }

    /// Connects to the first writable host.
    pub(super) async fn connect_unchecked(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let password = match &self.settings.password_file {
            Some(file) => Some(file.read().await.map_err(PostgresOpenError::PasswordFile)?),
            None => None,
        };
        let password = password.as_deref();
        let hosts = self.settings.address.hosts.iter();
        first(
            hosts
                .map(|(host, port)| self.try_host(host, *port, password))
                .collect(),
        )
        .await
    }

    /// All addresses of a host are tried at once: one that drops packets delays no other.
    async fn try_host(
        &self,
        host: &Host,
        port: u16,
        password: Option<&str>,
    ) -> Result<PostgresConnection, PostgresOpenError> {
        let config = &self.settings.address.config(host, password);
        let name = match host {
            Host::Tcp(name) => name,
            Host::Unix(path) => {
                let path = path.join(format!(".s.PGSQL.{port}"));
                return self.log_in(config, "", UnixStream::connect(path)).await;
            }
        };
        let found = timeout(CONNECT_DEADLINE, lookup_host((name.as_str(), port))).await;
        let addresses = found.map_err(|_elapsed| silent())?.map_err(unreachable)?;
        let trials = addresses.map(|address| self.log_in(config, name, connect_to(address)));
        first(trials.collect()).await
    }

    /// Logs in over a stream, with TLS for this name if the configuration asks for it.
    async fn log_in<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        &self,
        config: &Config,
        name: &str,
        connecting: impl Future<Output = io::Result<S>>,
    ) -> Result<PostgresConnection, PostgresOpenError> {
        let gone = CancellationToken::new();
        let bound = AnswerBound::new(&gone);
        let logging_in = async {
            let stream = connecting.await.map_err(unreachable)?;
            let stream = bound.reader(stream, ANSWER_BYTES_MAX);
            let Ok(tls) = MakeTlsConnect::<S>::make_tls_connect(&mut self.tls.clone(), name);
            let (client, driver) = config.connect_raw(stream, tls).await?;
            let ended = gone.clone();
            tokio::spawn(async move {
                // Its errors are also those of the statements.
                drop(ended.run_until_cancelled(driver).await);
                ended.cancel();
            });
            let connection = PostgresConnection {
                client,
                bound,
                gone: gone.clone(),
            };
            match connection.takes_writes().await? {
                true => Ok(connection),
                false => Err(PostgresOpenError::ReadOnly),
            }
        };
        let logged_in = timeout(CONNECT_DEADLINE, gone.run_until_cancelled(logging_in)).await;
        logged_in.ok().flatten().unwrap_or_else(|| Err(silent()))
    }
}

/// An exclusive connection. A transaction on it is rolled back unless it is committed.
pub(super) struct DedicatedConnection {
    connection: PostgresConnection,
    connector: Arc<Connector>,
}

impl DedicatedConnection {
    /// A connection on which each statement is its own transaction: the spare one, if it works, or a new one.
    pub(super) async fn open(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        let spare = connector.spare.lock().take();
        let connection = match spare {
            Some(spare) if spare.works().await => spare,
            _ => connector.connect().await?,
        };
        Ok(Self {
            connection,
            connector: Arc::clone(connector),
        })
    }

    /// Keeps the connection as the spare one. Only after the last response.
    pub(super) fn leave(self) {
        *self.connector.spare.lock() = Some(self.connection);
    }

    /// Opens a connection and begins a transaction, with more statements for its settings. Transactions that add or
    /// remove contacts other than by sign-ups run one after the other, over all nodes: one must not add what another
    /// has just forgotten.
    pub(super) async fn begin(connector: &Arc<Connector>, more: &str) -> Result<Self, StoreError> {
        // An arbitrary number for the lock that nobody else uses.
        let begin = format!(
            "BEGIN; {} SELECT * FROM settings; SELECT pg_advisory_xact_lock(7235119206014); {more}",
            settings("'0'")
        );
        let transaction = Self::open(connector).await?;
        within(DEADLINE, transaction.connection.run(&begin)).await?;
        Ok(transaction)
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let asked = self.connection.ask(statement, parameters);
        within(DEADLINE, asked).await
    }

    /// Adds rows to a table, in order, except existing ones. Returns a column of the added rows. Thousands of rows are
    /// converted on a separate thread: sign-ups would wait behind them.
    pub(super) async fn insert(
        &self,
        table: &'static str,
        rows: impl FnOnce() -> Vec<Value> + Send + 'static,
        returning: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        let encode = move || {
            let rows = rows();
            let statement = settings("'0'") + &insert(table, &rows, returning);
            (!rows.is_empty()).then(|| (statement, Value::Array(rows).to_string()))
        };
        let encoded = spawn_blocking(encode).await;
        let encoded = encoded.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let Some((statement, rows)) = encoded else {
            return Ok(Vec::new());
        };
        self.ask(&statement, &[(&rows, Type::TEXT)]).await
    }

    /// Lets the server free the space of the tables' deleted rows and analyse the rest.
    pub(super) async fn vacuum(&self, tables: &str) -> Result<(), StoreError> {
        let statement = format!("VACUUM (ANALYZE) {tables}");
        within(TABLE_DEADLINE, self.connection.run(&statement)).await
    }

    /// Commits the transaction.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        within(DEADLINE, self.connection.run("COMMIT")).await?;
        self.leave();
        Ok(())
    }
}

async fn within<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, StoreError> {
    let answered = timeout(deadline, asked).await;
    let answered = answered.map_err(|_elapsed| too_late())?;
    let lost = || StoreError::Unavailable("the connection was lost".to_owned());
    answered.map_err(|error| failure(&error).unwrap_or_else(lost))
}

/// The first connection that succeeds. Of several errors, one that is not transient is returned.
async fn first(
    mut trials: FuturesUnordered<
        impl Future<Output = Result<PostgresConnection, PostgresOpenError>>,
    >,
) -> Result<PostgresConnection, PostgresOpenError> {
    let (mut refused, mut patience) = (None, CONNECT_DEADLINE);
    while let Ok(Some(tried)) = timeout(patience, trials.next()).await {
        match tried {
            Ok(connection) => return Ok(connection),
            Err(error) if refused.as_ref().is_none_or(PostgresOpenError::is_transient) => {
                refused = Some(error);
            }
            Err(_) => {}
        }
        patience = OTHERS_DEADLINE;
    }
    Err(refused.unwrap_or_else(silent))
}

fn unreachable(error: io::Error) -> PostgresOpenError {
    PostgresOpenError::Unreachable(root_cause(&error))
}

fn silent() -> PostgresOpenError {
    PostgresOpenError::Unreachable("no response".to_owned())
}
