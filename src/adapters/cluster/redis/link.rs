//! The connection to the server, and the check that it can decide.
//!
//! The connection is the library's, which sends nothing twice. Every second the server has to make a test decision.
//! It counts as unavailable if it does not, or if a request's call gets no response within a second or is refused
//! (`READONLY` of a demoted primary, `OOM`, `LOADING`, `NOAUTH`): calls then fail at once until it decides again.
//! After each failed test it is connected to from scratch, by its name, which may have moved to another server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue, RedisError, Script, ScriptInvocation};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::cluster::{AnswerBound, TWO_PASSWORDS};
use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::{Roots, connect, root_cause};
use crate::domain::{Usage, quoted};
use crate::metrics::Metrics;
use crate::ports::LimiterError;

use super::address::RedisAddress;
use super::script::{answers, probe};

/// Deadline of a connection, with DNS, TLS and login, which takes several round trips. Only a start waits for
/// it.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Deadline of a response.
const ANSWER_DEADLINE: Duration = Duration::from_secs(1);
/// Most calls, and most bytes of them, collected for one write.
const COLLECTED_CALLS_MAX: usize = 1024;
const COLLECTED_BYTES_MAX: usize = 64 * 1024;
/// Largest response in bytes: a step of a scan has a few hundred thousand.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Pause between test decisions, whether the server responds or not.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The usage of each window, and the instant of its new charge.
pub(super) type Answers = Vec<(Usage, Option<u64>)>;

/// The location of the windows, and the login.
#[derive(Clone)]
pub struct RedisSettings {
    pub address: RedisAddress,
    /// The file with the password, unless the address contains it.
    pub password_file: Option<PasswordFile>,
    /// The trusted certificate authorities, for TLS.
    pub roots: Roots,
    /// Records whether the server is unavailable, for a service; a command records nothing.
    pub metrics: Option<Arc<Metrics>>,
}

impl RedisSettings {
    /// TLS for all connections, if the address asks for it.
    ///
    /// # Errors
    /// When the settings cannot be right.
    fn tls(&self) -> Result<Option<TlsConnector>, String> {
        let login = &self.address.login;
        match (login.password(), &self.password_file) {
            (Some(_), Some(_)) => return Err(TWO_PASSWORDS.to_owned()),
            (None, None) if login.username().is_some() => {
                return Err("the URL has a user but no password".to_owned());
            }
            (_, _) => {}
        }
        let is_tls = self.address.is_tls;
        Ok(is_tls.then(|| Arc::new(self.roots.clone().tls()).into()))
    }
}

/// The connection to the server.
pub(super) struct Link {
    settings: RedisSettings,
    tls: Option<TlsConnector>,
    pub(super) script: Script,
    /// The connection, or the reason why the server does not decide.
    connection: Mutex<Result<RedisConnection, LimiterError>>,
}

impl Link {
    /// Tries to connect, and keeps retrying until the value is dropped.
    ///
    /// # Errors
    /// When the settings cannot be right.
    pub(super) async fn open(settings: RedisSettings) -> Result<Arc<Self>, String> {
        let link = Arc::new(Self {
            connection: Mutex::new(Err(LimiterError("not connected".to_owned()))),
            tls: settings.tls()?,
            settings,
            script: Script::new(include_str!("window.lua")),
        });
        link.probe().await;
        tokio::spawn(keep(Arc::downgrade(&link)));
        Ok(link)
    }

    /// Fails while the server does not decide.
    pub(super) fn check(&self) -> Result<(), LimiterError> {
        self.connection.lock().clone().map(drop)
    }

    /// Lets the script decide about this many windows.
    pub(super) async fn decide(
        &self,
        call: &ScriptInvocation<'_>,
        windows: usize,
    ) -> Result<Answers, LimiterError> {
        let mut connection = self.connection.lock().clone()?;
        let decided = decide(&mut connection, call, windows).await;
        decided.inspect_err(|error| self.set(Err(error.clone())))
    }

    /// Another connection, for calls that would delay those of requests.
    pub(super) async fn another(&self) -> Result<RedisConnection, LimiterError> {
        self.check()?;
        self.connect().await
    }

    async fn connect(&self) -> Result<RedisConnection, LimiterError> {
        let connected = timeout(CONNECT_DEADLINE, self.connect_and_log_in()).await;
        let connected = connected.unwrap_or_else(|_| Err("no connection within 5 s".to_owned()));
        connected.map_err(LimiterError)
    }

    /// All addresses of the name are tried.
    async fn connect_and_log_in(&self) -> Result<RedisConnection, String> {
        let RedisAddress { host, port, .. } = &self.settings.address;
        let tcp = connect(host, *port).await;
        let tcp = tcp.map_err(|error| root_cause(&error))?;
        let Some(tls) = &self.tls else {
            return self.log_in(tcp).await;
        };
        let name = ServerName::try_from(host.clone());
        let name = name.map_err(|_not_a_name| "not a valid name for TLS".to_owned())?;
        let secured = tls.connect(name, tcp).await;
        let secured = secured.map_err(|_names_the_host| "the TLS handshake failed".to_owned())?;
        self.log_in(secured).await
    }

    async fn log_in(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<RedisConnection, String> {
        let mut login = self.settings.address.login.clone();
        if let Some(file) = &self.settings.password_file {
            login = login.set_password(file.read().await?);
        }
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(ANSWER_DEADLINE))
            .set_pipeline_buffer_size(COLLECTED_CALLS_MAX)
            .set_write_backpressure_boundary(COLLECTED_BYTES_MAX);
        let flooded = CancellationToken::new();
        let bound = AnswerBound::new(&flooded);
        let stream = bound.reader(stream, ANSWER_BYTES_MAX);
        let opening = MultiplexedConnection::new_with_config(&login, stream, config);
        let opened = flooded.run_until_cancelled(opening).await;
        let opened = opened.ok_or("an endless response")?;
        let (multiplexed, driver) = opened.map_err(|error| failure(error).0)?;
        let driver = tokio::spawn(flooded.run_until_cancelled_owned(driver));
        Ok(RedisConnection {
            multiplexed,
            bound,
            _driver: Arc::new(AbortOnDropHandle::new(driver)),
        })
    }

    /// Lets the server make a test decision, on another connection if this one fails.
    async fn probe(&self) {
        let current = self.connection.lock().clone();
        let mut tested = self.tested(current).await;
        if tested.is_err() {
            tested = self.tested(self.connect().await).await;
        }
        self.set(tested);
    }

    /// The connection, if the server decides over it.
    async fn tested(
        &self,
        connection: Result<RedisConnection, LimiterError>,
    ) -> Result<RedisConnection, LimiterError> {
        let mut connection = connection?;
        decide(&mut connection, &probe(&self.script), 1).await?;
        Ok(connection)
    }

    /// Sets the connection, or the reason why the server does not decide. A service logs a change.
    fn set(&self, connection: Result<RedisConnection, LimiterError>) {
        // Held so that metric, log and state agree.
        let mut current = self.connection.lock();
        let is_new = |metrics: &Arc<Metrics>| metrics.limits_engine.set_away(connection.is_err());
        if self.settings.metrics.as_ref().is_some_and(is_new) {
            match &connection {
                Ok(_) => tracing::info!("the rate-limit engine is available again"),
                Err(error) => tracing::warn!(
                    %error,
                    "the rate-limit engine is unavailable: this node decides alone, with its share of each limit"
                ),
            }
        }
        *current = connection;
    }
}

async fn keep(link: Weak<Link>) {
    loop {
        sleep(PROBE_INTERVAL).await;
        match link.upgrade() {
            Some(link) => link.probe().await,
            None => return,
        }
    }
}

/// Sends the script, too, if the server does not know it: then it did nothing.
pub(super) async fn decide(
    connection: &mut RedisConnection,
    call: &ScriptInvocation<'_>,
    windows: usize,
) -> Result<Answers, LimiterError> {
    let answer = call.invoke_async(&mut connection.multiplexed).await;
    connection.bound.note_answer();
    let answers = answers(answer.map_err(failure)?, windows);
    answers.ok_or_else(|| LimiterError("the script returned an unexpected result".to_owned()))
}

/// The library's connection, which sends nothing twice. It ends with its last user, or at an endless response.
#[derive(Clone)]
pub(super) struct RedisConnection {
    pub(super) multiplexed: MultiplexedConnection,
    bound: AnswerBound,
    /// Without it, the task of a silent connection would wait forever.
    _driver: Arc<AbortOnDropHandle<Option<()>>>,
}

impl RedisConnection {
    /// Sends a command.
    pub(super) async fn query<T: FromRedisValue>(
        &mut self,
        command: &Cmd,
    ) -> Result<T, LimiterError> {
        let answer = command.query_async(&mut self.multiplexed).await;
        self.bound.note_answer();
        answer.map_err(failure)
    }
}

/// The error in this program's words, or as the server's error code: the server's words may contain names.
pub(super) fn failure(error: RedisError) -> LimiterError {
    LimiterError(match error.code() {
        Some("READONLY") => "it is a read-only replica: point --limits to the primary".to_owned(),
        Some(code @ ("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
            format!("{code}: check the user, the password and the permissions of --limits")
        }
        Some(code) => quoted(code.as_bytes(), None),
        None if error.is_timeout() => "no response in time".to_owned(),
        None => error.category().to_owned(),
    })
}
