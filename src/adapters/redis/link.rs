//! The connection to one server.
//!
//! A call waits for its answer for four times as long as the server last took for one, and at least 250 ms, at
//! most 1 s. When three in a row were not answered, or the connection is lost,
//! or the server refuses to decide (`READONLY` of a demoted primary, `OOM`, `LOADING`, `NOAUTH`), the link
//! is down: calls fail at once, and each second the server is connected to anew, by its name, which may
//! have come to mean another one. The link is up again when that server has decided something.

use parking_lot::Mutex;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::ready;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, FromRedisValue, RedisConnectionInfo, RedisError, RedisResult,
    Value, cmd, from_redis_value,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

use crate::adapters::connect::connect as tcp;
use crate::adapters::operator_file::PasswordFile;
use crate::domain::{Timestamp, quoted};
use crate::ports::LimiterError;

use super::script::{WindowAnswer, answers, probe, whole};

/// The deadline of a connection, with DNS, TLS and the log-in, which takes several round trips. Nobody
/// waits for it but a start.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long it may take to answer, at least.
const PATIENCE_MIN: Duration = Duration::from_millis(250);
/// And at most, however slow it has become.
const PATIENCE_MAX: Duration = Duration::from_secs(1);
/// How many times as long as the last answer to a probe the next answer may take.
const PATIENCE_FACTOR: u32 = 4;
/// After so many calls in a row without an answer the connection is given up.
const SILENT_CALLS_MAX: u32 = 3;
/// How often a server is tried, whether it answers or not.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// How many calls, and how many bytes of them, are collected for one write.
const COLLECTED_CALLS_MAX: usize = 1024;
const COLLECTED_BYTES_MAX: usize = 64 * 1024;

const NOT_AN_ANSWER: &str = "an answer that is none of the script's";

/// The most bytes of an answer: a step of a scan has some hundred thousand.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

/// A host and a port.
type ServerAddress = (String, u16);

/// How the server is connected to.
#[derive(Clone)]
pub(super) struct Access {
    /// Who logs in, and the database.
    pub(super) login: RedisConnectionInfo,
    /// Has the password, unless the log-in does.
    pub(super) password_file: Option<PasswordFile>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// Of the script.
    pub(super) hash: Arc<str>,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// It was not sent, or may have been and was not answered. The text is for the log.
    Away(String),
    /// The server refused, and did nothing. The text is for the log.
    Refused(String),
}

impl From<CallFailure> for LimiterError {
    fn from(failure: CallFailure) -> Self {
        Self(match failure {
            CallFailure::Away(why) | CallFailure::Refused(why) => why,
        })
    }
}

/// A connection, which ends with its last user.
struct ServerConnection {
    multiplexed: MultiplexedConnection,
    /// Without it, the task of a silent connection would wait for ever.
    driver: AbortHandle,
    /// How many calls in a row were not answered.
    silent: AtomicU32,
    /// The bytes that came since the last answer that was understood.
    unanswered: Arc<AtomicUsize>,
    /// How long a call waits. Learnt from each probe.
    patience: Mutex<Duration>,
}

impl ServerConnection {
    fn patience(&self) -> Duration {
        *self.patience.lock()
    }

    /// The server has taken so long for an answer.
    fn learn(&self, taken: Duration) {
        *self.patience.lock() = (taken * PATIENCE_FACTOR).clamp(PATIENCE_MIN, PATIENCE_MAX);
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Either a connection, or why there is none.
type Reached = Result<Arc<ServerConnection>, String>;

/// The connection to one server, which is replaced when it fails.
pub(super) struct ServerLink {
    address: ServerAddress,
    access: Access,
    probe: Cmd,
    connected: Mutex<Reached>,
    lost: Arc<Notify>,
}

impl ServerLink {
    /// Tries to connect, and keeps on trying until the value is dropped.
    pub(super) async fn open(address: ServerAddress, access: Access) -> Arc<Self> {
        let link = Arc::new(Self {
            address,
            probe: probe(&access.hash),
            access,
            connected: Mutex::new(Err("not connected yet".to_owned())),
            lost: Arc::new(Notify::new()),
        });
        link.probe().await;
        tokio::spawn(keep(Arc::downgrade(&link), Arc::clone(&link.lost)));
        link
    }

    /// Another link to the same server, for calls that would hold up those of requests.
    pub(super) async fn another(&self) -> Arc<Self> {
        Self::open(self.address.clone(), self.access.clone()).await
    }

    /// Whether the server answers; if not, why.
    pub(super) fn check(&self) -> Result<(), String> {
        self.connection().map(|_connection| ())
    }

    /// Sends a command.
    pub(super) async fn call(&self, command: &Cmd) -> Result<Value, CallFailure> {
        let connection = self.connection().map_err(CallFailure::Away)?;
        let answer = send(&connection, command, connection.patience()).await;
        self.judge(&connection, answer)
    }

    /// The server's time.
    pub(super) async fn time(&self) -> Result<Timestamp, LimiterError> {
        let (seconds, micros): (u64, u64) = read(self.call(&cmd("TIME")).await?)?;
        Ok(Timestamp::from_ms(seconds * 1000 + micros / 1000))
    }

    /// Sends commands together.
    pub(super) async fn call_all(
        &self,
        commands: &redis::Pipeline,
        count: usize,
    ) -> Result<Vec<Value>, CallFailure> {
        let connection = self.connection().map_err(CallFailure::Away)?;
        let answers = send_all(&connection, commands, count).await;
        self.judge(&connection, answers)
    }

    /// Has the script decide about so many windows. A server that refuses that is taken for down.
    pub(super) async fn decide(
        &self,
        call: &Cmd,
        windows: usize,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let connection = self.connection().map_err(CallFailure::Away)?;
        let patience = connection.patience();
        self.decide_within(&connection, call, windows, patience)
            .await
    }

    async fn decide_within(
        &self,
        connection: &Arc<ServerConnection>,
        call: &Cmd,
        windows: usize,
        patience: Duration,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let answer = send_script(connection, call, patience).await;
        let value = self.judge(connection, answer).inspect_err(|failure| {
            if let CallFailure::Refused(why) = failure {
                self.lose(connection, why.clone());
            }
        })?;
        answers(&value, windows).ok_or_else(|| {
            self.lose(connection, NOT_AN_ANSWER.to_owned());
            CallFailure::Away(NOT_AN_ANSWER.to_owned())
        })
    }

    fn connection(&self) -> Reached {
        self.connected.lock().clone()
    }

    /// Draws the consequences of an answer, or of none, for the connection.
    fn judge<T>(
        &self,
        connection: &Arc<ServerConnection>,
        answer: RedisResult<T>,
    ) -> Result<T, CallFailure> {
        let is_silent = answer.as_ref().is_err_and(RedisError::is_timeout);
        let silent = if is_silent {
            connection.silent.fetch_add(1, Relaxed) + 1
        } else {
            connection.silent.store(0, Relaxed);
            connection.unanswered.store(0, Relaxed);
            0
        };
        answer.map_err(|error| {
            let why = describe(&error);
            match error.code() {
                Some(_code) => CallFailure::Refused(why),
                None => {
                    if !is_silent || silent >= SILENT_CALLS_MAX {
                        self.lose(connection, why.clone());
                    }
                    CallFailure::Away(why)
                }
            }
        })
    }

    /// Gives up `connection`, unless it has been replaced.
    fn lose(&self, connection: &Arc<ServerConnection>, why: String) {
        let mut connected = self.connected.lock();
        if connected
            .as_ref()
            .is_ok_and(|current| Arc::ptr_eq(current, connection))
        {
            *connected = Err(why);
            self.lost.notify_one();
        }
    }

    /// Has the server decide something, after connecting to it if it is down.
    async fn probe(&self) {
        if let Ok(connection) = self.connection() {
            let asked = Instant::now();
            // A failure has its consequences.
            let decided = self.decide_within(&connection, &self.probe, 1, PATIENCE_MAX);
            if decided.await.is_ok() {
                connection.learn(asked.elapsed());
            }
            return;
        }
        let connected = self.connect_and_decide().await;
        *self.connected.lock() = connected;
    }

    async fn connect_and_decide(&self) -> Reached {
        let connection = connect_in_time(&self.address, &self.access).await?;
        let asked = Instant::now();
        match send_script(&connection, &self.probe, PATIENCE_MAX).await {
            Ok(value) if answers(&value, 1).is_some() => {
                connection.learn(asked.elapsed());
                Ok(Arc::new(connection))
            }
            Ok(_another_form) => Err(NOT_AN_ANSWER.to_owned()),
            Err(error) => Err(describe(&error)),
        }
    }
}

async fn connect(address: &ServerAddress, access: &Access) -> Result<ServerConnection, String> {
    let (host, port) = address;
    let io = |error: io::Error| match error.raw_os_error() {
        Some(_) => error.to_string(),
        None => error.kind().to_string(),
    };
    let tcp = tcp(host, *port).await.map_err(io)?;
    let Some(tls) = &access.tls else {
        return log_in(tcp, access).await;
    };
    let name = ServerName::try_from(host.clone())
        .map_err(|_not_a_name| "not a name for TLS".to_owned())?;
    let tls = TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await;
    log_in(
        tls.map_err(|_names_the_host| "the TLS handshake failed".to_owned())?,
        access,
    )
    .await
}

async fn log_in(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    access: &Access,
) -> Result<ServerConnection, String> {
    let config = AsyncConnectionConfig::new()
        // Each call has its own.
        .set_response_timeout(None)
        .set_pipeline_buffer_size(COLLECTED_CALLS_MAX)
        .set_write_backpressure_boundary(COLLECTED_BYTES_MAX);
    let mut login = access.login.clone();
    if let Some(file) = &access.password_file {
        login = login.set_password(file.read().await?);
    }
    let (unanswered, flooded) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
    let (received, cut) = (Arc::clone(&unanswered), flooded.clone());
    let stream = InspectReader::new(stream, move |bytes: &[u8]| {
        if received.fetch_add(bytes.len(), Relaxed) > ANSWER_MAX {
            cut.cancel();
        }
    });
    let opening = MultiplexedConnection::new_with_config(&login, stream, config);
    let opened = flooded.run_until_cancelled(opening).await;
    let opened = opened.ok_or("an answer without an end")?;
    let (multiplexed, driver) = opened.map_err(|error| describe(&error))?;
    let driver = flooded.run_until_cancelled_owned(after_others(driver));
    Ok(ServerConnection {
        multiplexed,
        driver: tokio::spawn(driver).abort_handle(),
        unanswered,
        silent: AtomicU32::new(0),
        patience: Mutex::new(PATIENCE_MIN),
    })
}

/// Drives `driver`, each time after the tasks that can run now: what they send goes out in one write.
async fn after_others(driver: impl Future<Output = ()>) {
    let (mut driver, mut others) = (pin!(driver), pin!(yield_now()));
    poll_fn(|context| {
        ready!(others.as_mut().poll(context));
        others.set(yield_now());
        driver.as_mut().poll(context)
    })
    .await;
}

async fn connect_in_time(
    address: &ServerAddress,
    access: &Access,
) -> Result<ServerConnection, String> {
    let connecting = timeout(CONNECT_DEADLINE, connect(address, access));
    connecting
        .await
        .unwrap_or_else(|_elapsed| Err("no connection within 5 s".to_owned()))
}

/// Tries the server each second, and at once when its connection is lost.
async fn keep(link: Weak<ServerLink>, lost: Arc<Notify>) {
    let mut ticks = interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = lost.notified() => {}
        }
        match link.upgrade() {
            Some(link) => link.probe().await,
            None => return,
        }
    }
}

async fn send(
    connection: &ServerConnection,
    command: &Cmd,
    patience: Duration,
) -> RedisResult<Value> {
    let mut multiplexed = connection.multiplexed.clone();
    let answer = timeout(patience, multiplexed.send_packed_command(command)).await;
    answer.map_err(too_late)??.extract_error()
}

fn too_late(_elapsed: Elapsed) -> RedisError {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

async fn send_all(
    connection: &ServerConnection,
    commands: &redis::Pipeline,
    count: usize,
) -> RedisResult<Vec<Value>> {
    let mut multiplexed = connection.multiplexed.clone();
    let sent = multiplexed.send_packed_commands(commands, 0, count);
    let answers = timeout(connection.patience(), sent).await;
    let answers = answers.map_err(too_late)??;
    answers.into_iter().map(Value::extract_error).collect()
}

async fn send_script(
    connection: &ServerConnection,
    call: &Cmd,
    patience: Duration,
) -> RedisResult<Value> {
    match send(connection, call, patience).await {
        // Boxed, because every call would have to make room for it.
        Err(error) if error.code() == Some("NOSCRIPT") => {
            Box::pin(send(connection, &whole(call), patience)).await
        }
        answer => answer,
    }
}

/// Reads an answer.
pub(super) fn read<T: FromRedisValue>(answer: Value) -> Result<T, LimiterError> {
    from_redis_value(answer).map_err(|_another_form| {
        LimiterError("an answer of another form than asked for".to_owned())
    })
}

/// The error in words, by the code that the server's begin with: the others may hold names.
fn describe(error: &RedisError) -> String {
    match error.code() {
        Some("READONLY") => {
            "it is a replica and takes no writes: let --limits lead to the primary".to_owned()
        }
        Some(code @ ("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
            format!(
                "{code}: check the user, the password and the rights that --limits logs in with"
            )
        }
        Some(code) => quoted(code.as_bytes(), None),
        None if error.is_timeout() => "no answer in time".to_owned(),
        None => error.category().to_owned(),
    }
}
