//! Connecting to the writable host, and connections of their own for long work.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, lookup_host};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::adapters::cluster::{AnswerBound, TWO_PASSWORDS};
use crate::adapters::outbound::{connect, root_cause};
use crate::ports::StoreError;

use super::address::PostgresSettings;
use super::error::{PostgresOpenError, READ_ONLY, failure, too_late};
use super::rows::{Stored, insert, settings};

/// The version of the tables in `schema.sql` and of what they store, which a program does not read in another one.
pub(super) const VERSION: i32 = 7;

/// Deadline of DNS, connecting, TLS and login together, which take seven round trips.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Deadline of the other hosts after one has refused. A host that is gone would delay the next attempt, and by then a
/// standby may have been promoted.
const OTHERS_DEADLINE: Duration = Duration::from_secs(3);

/// Deadline of a statement of long work.
const LONG_DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of the check of the spare connection.
const CHECK_DEADLINE: Duration = Duration::from_secs(1);

/// Most bytes between two responses: a page of deliveries has a few tens of millions.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

const FSYNC_OFF: &str =
    "the server runs with fsync=off and would lose sign-ups in a power cut: turn fsync on";
const FOREIGN_SECRET: &str = "this is not the secret of the database: give every node the same \
     --secret-file, with the earlier secret as its second line if it was replaced";

/// The parameters of a statement, each with its type.
pub(super) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A connection. It is closed when this value is dropped.
pub(super) struct PostgresConnection {
    client: Client,
    bound: AnswerBound,
    /// Cancelled when it is unusable. Cancelling it drops the connection, and with it everything that others await on
    /// it.
    pub(super) gone: CancellationToken,
    _guard: DropGuard,
}

impl PostgresConnection {
    /// Runs an unnamed statement, which a pooler may send to any server.
    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let rows = self.client.query_typed(statement, parameters).await?;
        self.bound.note_answer();
        Ok(rows)
    }

    /// Runs several statements that return no rows.
    pub(super) async fn run(&self, statements: &str) -> Result<(), Error> {
        self.client.batch_execute(statements).await?;
        self.bound.note_answer();
        Ok(())
    }

    /// Fails unless the server takes writes, and flushes them.
    pub(super) async fn check(&self) -> Result<(), PostgresOpenError> {
        const STATE: &str = "SELECT current_setting('transaction_read_only') = 'off', \
             current_setting('fsync') = 'on'";
        let rows = self.ask(STATE, &[]).await?;
        let is_true = |index: usize| {
            let row = rows.first();
            row.is_some_and(|row| row.try_get(index).unwrap_or(false))
        };
        match (is_true(0), is_true(1)) {
            (true, true) => Ok(()),
            (true, false) => Err(PostgresOpenError::Refused(FSYNC_OFF.to_owned())),
            (false, _) => Err(PostgresOpenError::Away(READ_ONLY.to_owned())),
        }
    }

    /// The id of the secret that the tables were used with. Fails unless it is one of these, and the version of the
    /// tables is [`VERSION`].
    pub(super) async fn meta(&self, secret_ids: &[String]) -> Result<String, PostgresOpenError> {
        let meta = "SELECT schema, secret_id FROM landing_meta";
        let rows = self.ask(meta, &[]).await?;
        let row = rows.first().ok_or(PostgresOpenError::NoTables)?;
        let (version, secret_id): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
        if version != VERSION {
            return Err(PostgresOpenError::Refused(format!(
                "the database has the tables of another version ({version}, this one needs {VERSION}): start the \
                 version that made them, or export the contacts with it and import them into a new database"
            )));
        }
        match secret_ids.contains(&secret_id) {
            true => Ok(secret_id),
            false => Err(PostgresOpenError::Refused(FOREIGN_SECRET.to_owned())),
        }
    }
}

/// The settings of connections.
pub(super) struct Connector {
    pub(super) settings: PostgresSettings,
    tls: MakeRustlsConnect,
    /// An unused connection: most dedicated work is short, such as one click.
    spare: Mutex<Option<PostgresConnection>>,
}

impl Connector {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, PostgresOpenError> {
        let password = settings.address.config.get_password();
        if password.is_some() && settings.password_file.is_some() {
            return Err(PostgresOpenError::Refused(TWO_PASSWORDS.to_owned()));
        }
        Ok(Self {
            settings: settings.clone(),
            tls: MakeRustlsConnect::new(settings.roots.clone().tls()),
            spare: Mutex::default(),
        })
    }

    /// Connects to the first writable host, and checks its tables.
    pub(super) async fn connect(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let connection = self.connect_unchecked().await?;
        let meta = timeout(CONNECT_DEADLINE, connection.meta(&self.settings.secret_ids)).await;
        meta.unwrap_or_else(|_elapsed| Err(silent()))?;
        Ok(connection)
    }

    /// Connects to the first writable host.
    pub(super) async fn connect_unchecked(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let address = &self.settings.address;
        let mut config = address.config.clone();
        if let Some(file) = &self.settings.password_file {
            let password = file.read().await;
            config.password(password.map_err(|error| {
                let text = format!("the password of the database cannot be read: {error}");
                PostgresOpenError::Refused(text)
            })?);
        }
        let hosts = address.hosts();
        first(hosts.map(|(host, port)| self.try_host(&config, host, port))).await
    }

    /// All addresses of a host are tried at once: one that drops packets delays no other.
    async fn try_host(
        &self,
        config: &Config,
        host: &Host,
        port: u16,
    ) -> Result<PostgresConnection, PostgresOpenError> {
        let name = match host {
            Host::Tcp(name) => name,
            Host::Unix(path) => {
                let path = path.join(format!(".s.PGSQL.{port}"));
                return self.log_in(config, "", UnixStream::connect(path)).await;
            }
        };
        let found = timeout(CONNECT_DEADLINE, lookup_host((name.as_str(), port))).await;
        let addresses = found.map_err(|_elapsed| silent())?.map_err(unreachable)?;
        first(
            addresses
                .map(|address| self.log_in(config, name, connect(address.ip(), address.port()))),
        )
        .await
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
                _guard: gone.clone().drop_guard(),
            };
            connection.check().await?;
            Ok(connection)
        };
        let logged_in = timeout(CONNECT_DEADLINE, gone.run_until_cancelled(logging_in)).await;
        logged_in.ok().flatten().unwrap_or_else(|| Err(silent()))
    }
}

/// A connection of its own for long work, so that no sign-up and no lookup waits for it. A transaction on it is rolled
/// back unless it is committed.
pub struct DedicatedConnection {
    connection: PostgresConnection,
    connector: Arc<Connector>,
}

impl DedicatedConnection {
    /// A connection on which each statement is its own transaction: the spare one, if it works, or a new one.
    pub(super) async fn open(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        let spare = connector.spare.lock().take();
        let works = async |spare: &PostgresConnection| {
            matches!(timeout(CHECK_DEADLINE, spare.check()).await, Ok(Ok(())))
        };
        let connection = match spare {
            Some(spare) if works(&spare).await => spare,
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
            settings("0")
        );
        let transaction = Self::open(connector).await?;
        answered(transaction.connection.run(&begin)).await?;
        Ok(transaction)
    }

    pub(super) async fn ask(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        answered(self.connection.ask(statement, parameters)).await
    }

    /// Adds values in order, except existing ones. Returns a column of the added rows. Thousands of rows are converted
    /// on a separate thread: sign-ups would wait behind them.
    pub(super) async fn insert<T: Stored + Send + 'static>(
        &self,
        values: Vec<T>,
        returning: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let encoded = spawn_blocking(move || insert(&values, "0", returning)).await;
        let (statement, rows) =
            encoded.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        self.ask(&statement, &[(&rows, Type::TEXT)]).await
    }

    /// Commits the transaction.
    pub async fn commit(self) -> Result<(), StoreError> {
        answered(self.connection.run("COMMIT")).await?;
        self.leave();
        Ok(())
    }
}

/// The response to a statement, in time.
async fn answered<T>(response: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    let response = timeout(LONG_DEADLINE, response).await;
    let response = response.map_err(|_elapsed| too_late())?;
    let lost = || StoreError::Unavailable("the connection was lost".to_owned());
    response.map_err(|error| failure(&error).unwrap_or_else(lost))
}

/// The first connection that succeeds. Of several errors, one that does not go away by itself is returned.
async fn first(
    trials: impl Iterator<Item = impl Future<Output = Result<PostgresConnection, PostgresOpenError>>>,
) -> Result<PostgresConnection, PostgresOpenError> {
    let mut trials: FuturesUnordered<_> = trials.collect();
    let (mut refusal, mut patience) = (silent(), CONNECT_DEADLINE);
    while let Ok(Some(tried)) = timeout(patience, trials.next()).await {
        match tried {
            Ok(connection) => return Ok(connection),
            Err(error) if matches!(refusal, PostgresOpenError::Away(_)) => refusal = error,
            Err(_) => {}
        }
        patience = OTHERS_DEADLINE;
    }
    Err(refusal)
}

fn unreachable(error: io::Error) -> PostgresOpenError {
    PostgresOpenError::unreachable(&root_cause(&error))
}

fn silent() -> PostgresOpenError {
    PostgresOpenError::unreachable("no response")
}
