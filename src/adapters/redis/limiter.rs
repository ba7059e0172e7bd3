//! The port over Redis or Valkey.

use std::sync::Arc;

use async_trait::async_trait;
use redis::cmd;

use crate::domain::{Decision, PolicyName, Quota, Timestamp};
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::link::{ServerLink, read};
use super::scan::Scan;
use super::script::{Asked, CHARGE, LOOK, REFUND, WindowAnswer, call, key_text};
use super::settings::RedisSettings;
use super::survey::{RedisSurvey, parse_info};

/// Counts requests in Redis or Valkey, for several nodes together.
pub struct RedisRateLimiter {
    link: Arc<ServerLink>,
    /// Of the script.
    hash: Arc<str>,
    /// Whether the caller's time holds, and not the server's: in tests.
    is_time_given: bool,
}

impl RedisRateLimiter {
    /// Connects, and keeps on trying: an engine that is away is no error.
    pub async fn open(settings: RedisSettings) -> Result<Self, String> {
        Self::open_with(settings, false).await
    }

    /// The same for tests: the caller's time holds, and not the server's.
    pub async fn with_given_time(settings: RedisSettings) -> Result<Self, String> {
        Self::open_with(settings, true).await
    }

    async fn open_with(settings: RedisSettings, is_time_given: bool) -> Result<Self, String> {
        let (host, port) = (settings.address.host.clone(), settings.address.port);
        let access = settings.access()?;
        let hash = Arc::clone(&access.hash);
        Ok(Self {
            link: ServerLink::open((host, port), access).await,
            hash,
            is_time_given,
        })
    }

    /// What the server says of itself.
    pub async fn survey(&self) -> Result<RedisSurvey, LimiterError> {
        let info: Vec<u8> = read(self.link.call(&cmd("INFO")).await?)?;
        Ok(parse_info(&info))
    }

    /// Has the script decide. The answers are in the order of `windows`; all were charged or none.
    async fn ask(
        &self,
        verb: &str,
        windows: &[Asked],
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, LimiterError> {
        if windows.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.is_time_given.then_some(now);
        let call = call(&self.hash, verb, windows, now);
        Ok(self.link.decide(&call, windows.len()).await?)
    }
}

#[async_trait]
impl RateLimiter for RedisRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let windows: Vec<_> = charges.iter().map(asked).collect();
        let answers = self.ask(CHARGE, &windows, now).await?;
        let mut admission = Admission::default();
        for (charge, answer) in charges.iter().zip(answers) {
            let is_full = answer.charged.is_none() && answer.usage.counted >= charge.quota.count();
            let standing = charge.standing(answer.usage, is_full);
            admission.decision.push(standing);
            if let Some(charged) = answer.charged {
                admission.receipt.push(charge, charge.key, charged.as_ms());
            }
        }
        Ok(admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        let windows: Vec<_> = charges.iter().map(asked).collect();
        let answers = self.ask(LOOK, &windows, now).await?;
        let mut decision = Decision::default();
        for (charge, answer) in charges.iter().zip(answers) {
            decision.push(charge.standing(answer.usage, false));
        }
        Ok(decision)
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let entries = receipt.entries().iter();
        let windows = entries.clone().map(|entry| Asked {
            key: entry.charge.key,
            quota: entry.charge.quota,
            admitted: Some(Timestamp::from_ms(entry.token)),
        });
        let windows: Vec<_> = windows.collect();
        let answers = self.ask(REFUND, &windows, now).await?;
        let mut decision = Decision::default();
        for (entry, answer) in entries.zip(answers) {
            decision.push(entry.charge.standing(answer.usage, false));
        }
        Ok(decision)
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let link = self.link.another().await;
        let now = if self.is_time_given {
            now
        } else {
            link.time().await?
        };
        Scan::new(&link, Some(policy))
            .busiest(quota, most, now)
            .await
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let policy = match which {
            WindowSet::All => None,
            WindowSet::Policy(policy) => Some(policy),
            WindowSet::Window(key) => {
                let mut unlink = cmd("UNLINK");
                unlink.arg(key_text(&key));
                return read(self.link.call(&unlink).await?);
            }
        };
        let link = self.link.another().await;
        Scan::new(&link, policy).remove().await
    }

    /// Whether the server answers. Known at once: it is tried every second.
    fn check(&self) -> Result<(), LimiterError> {
        self.link.check().map_err(LimiterError)
    }
}

fn asked(charge: &Charge<'_>) -> Asked {
    Asked {
        key: charge.key,
        quota: charge.quota,
        admitted: None,
    }
}
