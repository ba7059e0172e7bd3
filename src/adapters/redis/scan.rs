//! The server's windows, looked through for the operator.

use redis::{Value, cmd, pipe};

use crate::domain::{PolicyName, Quota, Timestamp};
use crate::ports::{BusyWindow, LimiterError};

use super::link::{ServerLink, read};
use super::script::{decode, parse_key, pattern};

/// How many keys one step looks through.
const KEYS_PER_STEP: usize = 1000;

/// The keys of a server's windows, some at a time. Some may come twice.
pub(super) struct Scan<'a> {
    link: &'a ServerLink,
    pattern: String,
    /// None at the end.
    cursor: Option<u64>,
}

impl<'a> Scan<'a> {
    /// Those of `policy`, or all.
    pub(super) fn new(link: &'a ServerLink, policy: Option<PolicyName>) -> Self {
        Self {
            link,
            pattern: pattern(policy),
            cursor: Some(0),
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, LimiterError> {
        let Some(cursor) = self.cursor else {
            return Ok(None);
        };
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern);
        scan.arg("COUNT").arg(KEYS_PER_STEP);
        let (next, mut keys): (u64, Vec<Vec<u8>>) = read(self.link.call(&scan).await?)?;
        self.cursor = (next != 0).then_some(next);
        keys.retain(|key| parse_key(key).is_some());
        Ok(Some(keys))
    }

    /// Sends a command with each of `keys`.
    async fn send_each(&self, name: &str, keys: &[Vec<u8>]) -> Result<Vec<Value>, LimiterError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        for key in keys {
            commands.cmd(name).arg(key);
        }
        Ok(self.link.call_all(&commands, keys.len()).await?)
    }

    /// Those that count most, at most `most`, the fullest first.
    pub(super) async fn busiest(
        mut self,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let mut busiest = Vec::new();
        while let Some(keys) = self.next().await? {
            let values = self.send_each("GET", &keys).await?;
            for (key, value) in keys.iter().zip(values) {
                // It may have expired meanwhile.
                let Value::BulkString(value) = value else {
                    continue;
                };
                if let Some((key, mut window)) = parse_key(key).zip(decode(&value)) {
                    let usage = window.peek(quota, now);
                    busiest.retain(|busy: &BusyWindow| busy.key != key);
                    busiest.push(BusyWindow { key, usage });
                }
                // Bounds the work of the line above.
                if busiest.len() > 2 * most {
                    BusyWindow::keep_fullest(&mut busiest, most);
                }
            }
        }
        BusyWindow::keep_fullest(&mut busiest, most);
        Ok(busiest)
    }

    /// Removes them, and returns how many they were.
    pub(super) async fn remove(mut self) -> Result<usize, LimiterError> {
        let mut count = 0;
        while let Some(keys) = self.next().await? {
            for answer in self.send_each("UNLINK", &keys).await? {
                count += read::<usize>(answer)?;
            }
        }
        Ok(count)
    }
}
