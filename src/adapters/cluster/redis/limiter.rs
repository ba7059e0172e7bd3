//! The port over Redis or Valkey.

use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{Stream, TryStreamExt as _};
use redis::{AsyncCommands as _, ScanOptions, cmd};

use crate::domain::{Decision, PolicyName, Quota, Timestamp};
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::link::{Answers, Link, RedisConnection, RedisSettings, decide, failure};
use super::script::{CHARGE, LOOK, REFUND, call, key_text, parse_key, pattern};
use super::survey::{RedisSurvey, judge};

/// Keys examined per step of a scan, and most keys of a page.
const KEYS_PER_STEP: usize = 1000;

/// Counts requests in Redis or Valkey, for several nodes together.
pub struct RedisRateLimiter {
    link: Arc<Link>,
    /// True if the caller's time is used instead of the server's: in tests.
    is_time_given: bool,
}

impl RedisRateLimiter {
    /// Connects, and keeps retrying: an unavailable engine is no error.
    pub async fn open(settings: RedisSettings) -> Result<Self, String> {
        Ok(Self {
            link: Link::open(settings).await?,
            is_time_given: false,
        })
    }

    /// The same with the caller's time instead of the server's, for tests.
    #[must_use]
    pub const fn with_given_time(mut self) -> Self {
        self.is_time_given = true;
        self
    }

    /// The server's description of itself.
    pub async fn survey(&self) -> Result<RedisSurvey, LimiterError> {
        let mut connection = self.link.another().await?;
        let info: Vec<u8> = connection.query(&cmd("INFO")).await?;
        Ok(judge(&info))
    }

    /// Lets the script decide. The results are in the order of `windows`; all were charged or none.
    async fn ask(
        &self,
        verb: &str,
        windows: &[(Charge<'_>, Option<u64>)],
        now: Timestamp,
    ) -> Result<Answers, LimiterError> {
        if windows.is_empty() {
            return Ok(Answers::new());
        }
        let call = call(&self.link.script, verb, windows, self.given_time(now));
        self.link.decide(&call, windows.len()).await
    }

    fn given_time(&self, now: Timestamp) -> Option<Timestamp> {
        self.is_time_given.then_some(now)
    }

    /// The standing of the windows after `verb`, which charges nothing.
    async fn standing(
        &self,
        verb: &str,
        windows: &[(Charge<'_>, Option<u64>)],
        now: Timestamp,
    ) -> Result<Decision, LimiterError> {
        let answers = self.ask(verb, windows, now).await?;
        let mut decision = Decision::default();
        for ((charge, _), (usage, _)) in windows.iter().zip(answers) {
            decision.push(charge.standing(usage, false));
        }
        Ok(decision)
    }
}

#[async_trait]
impl RateLimiter for RedisRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let windows: Vec<_> = charges.iter().map(|charge| (*charge, None)).collect();
        let answers = self.ask(CHARGE, &windows, now).await?;
        let mut admission = Admission::default();
        for (charge, (usage, charged)) in charges.iter().zip(answers) {
            let is_full = charged.is_none() && usage.counted >= charge.quota.count();
            admission.decision.push(charge.standing(usage, is_full));
            if let Some(charged) = charged {
                admission.receipt.push(charge, charge.key, charged);
            }
        }
        Ok(admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        let windows: Vec<_> = charges.iter().map(|charge| (*charge, None)).collect();
        self.standing(LOOK, &windows, now).await
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let entries = receipt.entries.iter();
        let windows: Vec<_> = entries
            .map(|entry| (entry.charge, Some(entry.token)))
            .collect();
        self.standing(REFUND, &windows, now).await
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let mut connection = self.link.another().await?;
        let mut busiest: Vec<BusyWindow> = Vec::new();
        let mut scanning = connection.clone();
        let mut pages = pin!(scan(&mut scanning, Some(policy)).await?);
        while let Some(keys) = pages.try_next().await? {
            let charges = keys.iter().filter_map(|key| parse_key(key));
            let charges = charges.map(|key| Charge {
                policy,
                quota,
                key,
                group: None,
            });
            let windows: Vec<_> = charges.map(|charge| (charge, None)).collect();
            let call = call(&self.link.script, LOOK, &windows, self.given_time(now));
            let answers = decide(&mut connection, &call, windows.len()).await?;
            for ((Charge { key, .. }, _), (usage, _)) in windows.into_iter().zip(answers) {
                busiest.retain(|busy| busy.key != key);
                busiest.push(BusyWindow { key, usage });
                // Limits the work of the lines above.
                if busiest.len() > 2 * most {
                    BusyWindow::keep_fullest(&mut busiest, most);
                }
            }
        }
        BusyWindow::keep_fullest(&mut busiest, most);
        Ok(busiest)
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let mut connection = self.link.another().await?;
        let policy = match which {
            WindowSet::All => None,
            WindowSet::Policy(policy) => Some(policy),
            WindowSet::Window(key) => {
                return connection.query(cmd("UNLINK").arg(key_text(&key))).await;
            }
        };
        let (mut scanning, mut count) = (connection.clone(), 0);
        let mut pages = pin!(scan(&mut scanning, policy).await?);
        while let Some(keys) = pages.try_next().await? {
            let unlinked: usize = connection.query(cmd("UNLINK").arg(&keys)).await?;
            count += unlinked;
        }
        Ok(count)
    }

    /// Fails if the server did not respond to the latest probe, which is made every second.
    fn check(&self) -> Result<(), LimiterError> {
        self.link.check()
    }
}

/// The keys of the windows of `policy`, or of all, page by page. Some may occur twice.
async fn scan(
    connection: &mut RedisConnection,
    policy: Option<PolicyName>,
) -> Result<impl Stream<Item = Result<Vec<Vec<u8>>, LimiterError>>, LimiterError> {
    let options = ScanOptions::default().with_pattern(pattern(policy));
    let options = options.with_count(KEYS_PER_STEP);
    let keys = connection.multiplexed.scan_options(options).await;
    let keys = keys.map_err(failure)?;
    let keys = keys.try_filter(|key: &Vec<u8>| ready(parse_key(key).is_some()));
    // After an error, the library would ask for the same page again.
    let pages = keys.try_chunks(KEYS_PER_STEP);
    Ok(pages.map_err(|error| failure(error.1)))
}
