//! The connection to the server, and the check that it can decide.
//!
//! The connection is the library's, which sends nothing twice. Every second the server has to make a test decision.
//! It counts as unavailable if it does not, or if a request's call gets no response within a second or is refused
//! (`READONLY` of a demoted primary, `OOM`, `LOADING`, `NOAUTH`): calls then fail at once until it decides again.
//! After each failed test it is connected to from scratch, by its name, which may have moved to another server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Script, ScriptInvocation};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsConnector;

use crate::domain::Usage;
use crate::metrics::Metrics;
use crate::ports::LimiterError;

use super::connection::{RedisConnection, RedisSettings, failure};
use super::script::{answers, probe, script};

/// Interval of test decisions, whether the server responds or not.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The usage of each window, and the instant of its new charge.
pub(super) type Answers = Vec<(Usage, Option<u64>)>;

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
            script: script(),
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
        let connected = self.settings.connect(self.tls.as_ref()).await;
        connected.map_err(LimiterError)
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
