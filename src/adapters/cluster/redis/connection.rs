//! The settings, a connection to the server, and its errors in words.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue, RedisError};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::cluster::answers::AnswerBound;
use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::connect::connect;
use crate::adapters::outbound::{Roots, root_cause, tls_config};
use crate::domain::quoted;
use crate::metrics::Metrics;
use crate::ports::LimiterError;

use super::address::RedisAddress;

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
    pub(super) fn tls(&self) -> Result<Option<TlsConnector>, String> {
        let login = &self.address.login;
        match (login.password(), &self.password_file) {
            // The program does not guess which one is right.
            (Some(_), Some(_)) => {
                return Err(
                    "the password is in the URL and in a file: remove one of them".to_owned(),
                );
            }
            (None, None) if login.username().is_some() => {
                return Err("the URL has a user but no password".to_owned());
            }
            (_, _) => {}
        }
        if !self.address.is_tls {
            return Ok(None);
        }
        let config = tls_config(self.roots.clone()).map_err(|error| format!("TLS: {error}"))?;
        Ok(Some(Arc::new(config).into()))
    }

    /// Connects and logs in. All addresses of the name are tried.
    ///
    /// # Errors
    /// The reason why there is no connection.
    pub(super) async fn connect(
        &self,
        tls: Option<&TlsConnector>,
    ) -> Result<RedisConnection, String> {
        let connecting = async {
            let RedisAddress { host, port, .. } = &self.address;
            let tcp = connect(host, *port).await;
            let tcp = tcp.map_err(|error| root_cause(&error))?;
            let Some(tls) = tls else {
                return self.log_in(tcp).await;
            };
            let name = ServerName::try_from(host.clone());
            let name = name.map_err(|_not_a_name| "not a valid name for TLS".to_owned())?;
            let secured = tls.connect(name, tcp).await;
            self.log_in(secured.map_err(|_names_the_host| "the TLS handshake failed".to_owned())?)
                .await
        };
        let connected = timeout(CONNECT_DEADLINE, connecting).await;
        connected.unwrap_or_else(|_elapsed| Err("no connection within 5 s".to_owned()))
    }

    async fn log_in(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<RedisConnection, String> {
        let mut login = self.address.login.clone();
        if let Some(file) = &self.password_file {
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
}

/// The library's connection, which sends nothing twice. It ends with its last user, or at an endless response.
#[derive(Clone)]
pub(super) struct RedisConnection {
    pub(super) multiplexed: MultiplexedConnection,
    pub(super) bound: AnswerBound,
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
