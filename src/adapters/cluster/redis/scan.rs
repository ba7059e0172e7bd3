//! Listing and removing the server's windows for the operator.

use redis::{FromRedisValue, cmd, pipe};

use crate::domain::{PolicyName, Quota, Timestamp};
use crate::ports::{BusyWindow, LimiterError};

use super::failure::failure;
use super::link::query;
use super::script::{decode, parse_key, pattern};
use super::settings::RedisConnection;

/// Keys examined per step.
const KEYS_PER_STEP: usize = 1000;

/// The keys of windows, page by page. Some may occur twice.
pub(super) struct Scan {
    connection: RedisConnection,
    pattern: String,
    /// `None` at the end.
    cursor: Option<u64>,
}

impl Scan {
    /// The windows of `policy`, or all.
    pub(super) fn new(connection: RedisConnection, policy: Option<PolicyName>) -> Self {
        Self {
            connection,
            pattern: pattern(policy),
            cursor: Some(0),
        }
    }

    /// The server's time.
    pub(super) async fn time(&mut self) -> Result<Timestamp, LimiterError> {
        let (seconds, micros): (u64, u64) = query(&mut self.connection, &cmd("TIME")).await?;
        Ok(Timestamp::from_ms(seconds * 1000 + micros / 1000))
    }

    async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, LimiterError> {
        let Some(cursor) = self.cursor else {
            return Ok(None);
        };
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern);
        scan.arg("COUNT").arg(KEYS_PER_STEP);
        let (next, mut keys): (u64, Vec<Vec<u8>>) = query(&mut self.connection, &scan).await?;
        self.cursor = (next != 0).then_some(next);
        keys.retain(|key| parse_key(key).is_some());
        Ok(Some(keys))
    }

    /// Sends a command with each of `keys`.
    async fn send_each<T: FromRedisValue>(
        &mut self,
        name: &str,
        keys: &[Vec<u8>],
    ) -> Result<Vec<T>, LimiterError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        for key in keys {
            commands.cmd(name).arg(key);
        }
        let sent = commands.query_async(&mut self.connection.multiplexed).await;
        self.connection.bound.note_answer();
        sent.map_err(failure)
    }

    /// The fullest windows, at most `most`, fullest first.
    pub(super) async fn busiest(
        mut self,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let mut busiest: Vec<BusyWindow> = Vec::new();
        while let Some(keys) = self.next().await? {
            // A window may have expired since.
            let values: Vec<Option<Vec<u8>>> = self.send_each("GET", &keys).await?;
            for (key, value) in keys.iter().zip(values) {
                let window = value.and_then(|value| decode(&value));
                if let Some((key, mut window)) = parse_key(key).zip(window) {
                    let usage = window.peek(quota, now);
                    busiest.retain(|busy| busy.key != key);
                    busiest.push(BusyWindow { key, usage });
                }
                // Limits the work of the line above.
                if busiest.len() > 2 * most {
                    BusyWindow::keep_fullest(&mut busiest, most);
                }
            }
        }
        BusyWindow::keep_fullest(&mut busiest, most);
        Ok(busiest)
    }

    /// Removes the windows. Returns their number.
    pub(super) async fn remove(mut self) -> Result<usize, LimiterError> {
        let mut count = 0;
        while let Some(keys) = self.next().await? {
            count += self.send_each("UNLINK", &keys).await?.iter().sum::<usize>();
        }
        Ok(count)
    }
}
