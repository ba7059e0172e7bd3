//! The port over Redis or Valkey.

use std::collections::HashMap;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{Stream, TryStreamExt as _};
use redis::{AsyncCommands as _, ScanOptions, cmd};

use crate::domain::{Decision, PolicyName, Quota, Timestamp, quoted};
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::link::{Answers, Link, RedisConnection, RedisSettings, decide, failure};
use super::script::{CHARGE, LOOK, REFUND, call, key_text, parse_key, pattern};

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

    /// Lets the script decide. The results are in the order of `charges`; all were charged or none.
    async fn ask(
        &self,
        verb: &str,
        charges: &[Charge<'_>],
        admitted: &[u64],
        now: Timestamp,
    ) -> Result<Answers, LimiterError> {
        if charges.is_empty() {
            return Ok(Answers::new());
        }
        let now = self.given_time(now);
        let call = call(&self.link.script, verb, charges, admitted, now);
        self.link.decide(&call, charges.len()).await
    }

    fn given_time(&self, now: Timestamp) -> Option<Timestamp> {
        self.is_time_given.then_some(now)
    }

    /// The standing of the windows after `verb`, which charges nothing.
    async fn standing(
        &self,
        verb: &str,
        charges: &[Charge<'_>],
        admitted: &[u64],
        now: Timestamp,
    ) -> Result<Decision, LimiterError> {
        let answers = self.ask(verb, charges, admitted, now).await?;
        let mut decision = Decision::default();
        for (charge, (usage, _)) in charges.iter().zip(answers) {
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
        let answers = self.ask(CHARGE, charges, &[], now).await?;
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
        self.standing(LOOK, charges, &[], now).await
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let entries = receipt.entries.iter();
        let (charges, admitted): (Vec<_>, Vec<_>) =
            entries.map(|entry| (entry.charge, entry.token)).unzip();
        self.standing(REFUND, &charges, &admitted, now).await
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
            let charges: Vec<_> = charges.collect();
            let now = self.given_time(now);
            let call = call(&self.link.script, LOOK, &charges, &[], now);
            let answers = decide(&mut connection, &call, charges.len()).await?;
            for (Charge { key, .. }, (usage, _)) in charges.into_iter().zip(answers) {
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

/// A server, judged by its `INFO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSurvey {
    /// The name and the version, such as `valkey 9.1.2`.
    pub server: String,
    /// A warning if it may forget windows when its memory is full.
    pub eviction: Option<String>,
    /// A warning if a restart loses windows.
    pub risk: Option<String>,
}

/// Reads the response to `INFO`.
fn judge(info: &[u8]) -> RedisSurvey {
    let info = String::from_utf8_lossy(info);
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    let fields: HashMap<&str, &str> = lines.collect();
    let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let (name, version) = match field("valkey_version") {
        "" => ("redis", field("redis_version")),
        version => ("valkey", version),
    };
    let server = format!("{name} {}", quoted(version.as_bytes(), None));
    let policy = quoted(field("maxmemory_policy").as_bytes(), None);
    let eviction = (policy != "noeviction").then(|| {
        format!(
            "{server} has maxmemory-policy {policy}: when memory is full, it drops windows, and clients get more \
             than their limits; set noeviction"
        )
    });
    let is_kept = field("aof_enabled") == "1" || !["", "0"].contains(&field("connected_slaves"));
    let risk = (!is_kept).then(|| {
        format!("{server} has no replica and no append-only file: a restart loses every window")
    });
    RedisSurvey {
        server,
        eviction,
        risk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_malformed_is_left_out() {
        let info = b"# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n\
            maxmemory:-1\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n\xff\r\nx";
        let survey = judge(info);
        assert_eq!(survey.server, "valkey 9.1.2");
        let eviction = survey.eviction.unwrap();
        assert!(eviction.starts_with("valkey 9.1.2 has maxmemory-policy allkeys-lru:"));
        assert_eq!(survey.risk, None);
        let foreign = judge(b"redis_version:7\x1b[31m\r\nmaxmemory_policy:a@b.example\r\n");
        assert_eq!(foreign.server, "redis 7 [31m");
        let eviction = foreign.eviction.unwrap();
        assert!(
            eviction.contains("maxmemory-policy (address):"),
            "{eviction}"
        );
        let nothing = judge(b"");
        assert_eq!(nothing.server, "redis ");
        assert!(nothing.eviction.is_some() && nothing.risk.is_some());
    }

    #[test]
    fn windows_in_memory_alone_are_a_risk() {
        for (info, expected) in [
            ("aof_enabled:1", None),
            ("aof_enabled:0\r\nconnected_slaves:1", None),
            (
                "aof_enabled:0\r\nconnected_slaves:0",
                Some("redis  has no replica"),
            ),
        ] {
            let survey = judge(format!("{info}\r\nmaxmemory_policy:noeviction").as_bytes());
            assert_eq!(survey.eviction, None, "{info}");
            let is_expected = match (&survey.risk, expected) {
                (Some(risk), Some(begin)) => risk.starts_with(begin),
                (risk, begin) => risk.is_none() && begin.is_none(),
            };
            assert!(is_expected, "{info}: {survey:?}");
        }
    }
}
