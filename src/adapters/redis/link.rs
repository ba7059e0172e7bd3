//! The connection to the server, and whether it can decide.
//!
//! The connection is the library's, which sends nothing twice. Each second the server has to decide something. It is
//! away when it does not, and when a request's call is not answered within a second or is refused (`READONLY` of a
//! demoted primary, `OOM`, `LOADING`, `NOAUTH`): calls then fail at once until it decides again. After each trial
//! that failed it is connected to from scratch, by its name, which may have come to mean another server.

use std::error::Error;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::ConnectionManager;
use redis::{Cmd, FromRedisValue, RedisError, RedisResult, Value};
use tokio::time::{MissedTickBehavior, interval};

use crate::domain::quoted;
use crate::ports::LimiterError;

use super::script::{WindowAnswer, answers, probe, whole};
use super::settings::RedisSettings;

/// How often the server is tried, whether it answers or not.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

const NOT_AN_ANSWER: &str = "an answer that is none of the script's";

/// The connection to the server.
pub(super) struct Link {
    settings: RedisSettings,
    probe: Cmd,
    connection: Mutex<ConnectionManager>,
    /// Why the server does not decide, while it does not.
    away: Mutex<Option<LimiterError>>,
}

impl Link {
    /// Tries to connect, and keeps on trying until the value is dropped.
    ///
    /// # Errors
    /// When the settings cannot be right.
    pub(super) async fn open(settings: RedisSettings, hash: &str) -> Result<Arc<Self>, String> {
        let link = Arc::new(Self {
            connection: Mutex::new(settings.connection().await?),
            settings,
            probe: probe(hash),
            away: Mutex::new(None),
        });
        link.probe().await;
        tokio::spawn(keep(Arc::downgrade(&link)));
        Ok(link)
    }

    /// Whether the server decides.
    pub(super) fn check(&self) -> Result<(), LimiterError> {
        self.away.lock().clone().map_or(Ok(()), Err)
    }

    /// Has the script decide about so many windows.
    pub(super) async fn decide(
        &self,
        call: &Cmd,
        windows: usize,
    ) -> Result<Vec<WindowAnswer>, LimiterError> {
        self.check()?;
        let connection = self.connection.lock().clone();
        let decided = decide(connection, call, windows).await;
        decided.inspect_err(|error| *self.away.lock() = Some(error.clone()))
    }

    /// Another connection, for calls that would hold up those of requests.
    pub(super) async fn another(&self) -> Result<ConnectionManager, LimiterError> {
        self.check()?;
        self.settings.connection().await.map_err(LimiterError)
    }

    /// Has the server decide something.
    async fn probe(&self) {
        let connection = self.connection.lock().clone();
        let mut away = decide(connection, &self.probe, 1).await.err();
        if away.is_some() {
            match self.settings.connection().await {
                Ok(connection) => *self.connection.lock() = connection,
                Err(why) => away = Some(LimiterError(why)),
            }
        }
        *self.away.lock() = away;
    }
}

async fn keep(link: Weak<Link>) {
    let mut ticks = interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        match link.upgrade() {
            Some(link) => link.probe().await,
            None => return,
        }
    }
}

async fn decide(
    mut connection: ConnectionManager,
    call: &Cmd,
    windows: usize,
) -> Result<Vec<WindowAnswer>, LimiterError> {
    let answer = match send(&mut connection, call).await {
        // The server did nothing. Boxed, because every call would have to make room for it.
        Err(error) if error.code() == Some("NOSCRIPT") => {
            Box::pin(send(&mut connection, &whole(call))).await
        }
        answer => answer,
    };
    answers(&answer.map_err(failure)?, windows)
        .ok_or_else(|| LimiterError(NOT_AN_ANSWER.to_owned()))
}

async fn send(connection: &mut ConnectionManager, call: &Cmd) -> RedisResult<Value> {
    connection.send_packed_command(call).await?.extract_error()
}

/// Sends a command of the operator's.
pub(super) async fn query<T: FromRedisValue>(
    connection: &mut ConnectionManager,
    command: &Cmd,
) -> Result<T, LimiterError> {
    command.query_async(connection).await.map_err(failure)
}

/// The error in words of this program, or by the code that the server's begin with: other words may hold names.
pub(super) fn failure(error: RedisError) -> LimiterError {
    LimiterError(match error.code() {
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
        None => io_failure(&error).unwrap_or_else(|| error.category().to_owned()),
    })
}

fn io_failure(error: &RedisError) -> Option<String> {
    let source = error
        .source()?
        .downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let io: &io::Error = source.downcast_ref()?;
    Some(match io.get_ref() {
        Some(inner) if inner.is::<rustls::Error>() => "the TLS handshake failed".to_owned(),
        Some(_) => io.kind().to_string(),
        None => io.to_string(),
    })
}
