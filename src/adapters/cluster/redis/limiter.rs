//! The port over Redis or Valkey.

use std::sync::Arc;

use async_trait::async_trait;
use redis::cmd;

use crate::domain::{Decision, PolicyName, Quota, Timestamp};
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::link::{Link, query};
use super::scan::Scan;
use super::script::{Asked, CHARGE, LOOK, REFUND, WindowAnswer, call, hash, key_text};
use super::settings::RedisSettings;
use super::survey::{RedisSurvey, judge};

/// Counts requests in Redis or Valkey, for several nodes together.
pub struct RedisRateLimiter {
    link: Arc<Link>,
    /// Hash of the script.
    hash: String,
    /// True if the caller's time is used instead of the server's: in tests.
    is_time_given: bool,
}

impl RedisRateLimiter {
    /// Connects, and keeps retrying: an unavailable engine is no error.
    pub async fn open(settings: RedisSettings) -> Result<Self, String> {
        let hash = hash();
        Ok(Self {
            link: Link::open(settings, &hash).await?,
            hash,
            is_time_given: false,
        })
    }

    /// The same for tests: with the caller's time instead of the server's.
    pub async fn with_given_time(settings: RedisSettings) -> Result<Self, String> {
        let limiter = Self::open(settings).await?;
        Ok(Self {
            is_time_given: true,
            ..limiter
        })
    }

    /// The server's description of itself.
    pub async fn survey(&self) -> Result<RedisSurvey, LimiterError> {
        let mut connection = self.link.another().await?;
        let info: Vec<u8> = query(&mut connection, &cmd("INFO")).await?;
        Ok(judge(&info))
    }

    /// Lets the script decide. The results are in the order of `windows`; all were charged or none.
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
        self.link.decide(&call, windows.len()).await
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
        let entries = receipt.entries.iter();
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
        let mut scan = Scan::new(self.link.another().await?, Some(policy));
        let now = if self.is_time_given {
            now
        } else {
            scan.time().await?
        };
        scan.busiest(quota, most, now).await
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let mut connection = self.link.another().await?;
        let policy = match which {
            WindowSet::All => None,
            WindowSet::Policy(policy) => Some(policy),
            WindowSet::Window(key) => {
                let mut unlink = cmd("UNLINK");
                unlink.arg(key_text(&key));
                return query(&mut connection, &unlink).await;
            }
        };
        Scan::new(connection, policy).remove().await
    }

    /// Fails if the server did not respond to the latest probe, which is made every second.
    fn check(&self) -> Result<(), LimiterError> {
        self.link.check()
    }
}

fn asked(charge: &Charge<'_>) -> Asked {
    Asked {
        key: charge.key,
        quota: charge.quota,
        admitted: None,
    }
}
