//! The port over Redis or Valkey.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use redis::{Cmd, cmd};
use tokio::sync::Semaphore;

use crate::domain::{Decision, PolicyName, Quota, Timestamp};
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::cluster::Cluster;
use super::link::{CallFailure, ServerLink, read};
use super::scan::Scan;
use super::script::{Asked, CHARGE, LOOK, REFUND, WindowAnswer, call, home, key_text};
use super::settings::RedisSettings;
use super::survey::{RedisSurvey, parse_info};

/// How many requests may have charges taken back after their answer at a time; others wait for it.
const TAKING_BACK_MAX: usize = 1024;

/// Counts requests in Redis or Valkey, for several nodes together.
pub struct RedisRateLimiter(Arc<Shared>);

struct Shared {
    servers: Servers,
    /// Of the script.
    hash: Arc<str>,
    /// Whether the caller's time holds, and not the server's: in tests.
    is_time_given: bool,
    taking_back: Arc<Semaphore>,
}

enum Servers {
    Primary(Arc<ServerLink>),
    Cluster(Arc<Cluster>),
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
        let is_cluster = settings.address.is_cluster;
        let mut nodes = settings.address.nodes.clone();
        let access = settings.access()?;
        let hash = Arc::clone(&access.hash);
        let servers = match nodes.pop() {
            Some(node) if !is_cluster => {
                Servers::Primary(ServerLink::open(node, access, "0").await)
            }
            last => {
                nodes.extend(last);
                Servers::Cluster(Cluster::open(nodes, access).await)
            }
        };
        Ok(Self(Arc::new(Shared {
            servers,
            hash,
            is_time_given,
            taking_back: Arc::new(Semaphore::new(TAKING_BACK_MAX)),
        })))
    }

    /// What each primary says of itself.
    pub async fn survey(&self) -> Result<Vec<RedisSurvey>, LimiterError> {
        let mut surveys = Vec::new();
        for link in self.0.primaries()? {
            let info: Vec<u8> = read(link.call(&cmd("INFO")).await?)?;
            surveys.push(parse_info(&info));
        }
        Ok(surveys)
    }
}

impl Shared {
    /// The primaries of all windows.
    fn primaries(&self) -> Result<Vec<Arc<ServerLink>>, LimiterError> {
        match &self.servers {
            Servers::Primary(link) => Ok(vec![Arc::clone(link)]),
            Servers::Cluster(cluster) => cluster.primaries().map_err(LimiterError),
        }
    }

    fn call(&self, verb: &str, windows: &[Asked], now: Timestamp) -> Cmd {
        let now = self.is_time_given.then_some(now);
        call(&self.hash, verb, windows, now)
    }

    /// Has scripts decide. The answers are in the order of `windows`; all were charged or none.
    async fn ask(
        self: &Arc<Self>,
        verb: &str,
        windows: &[Asked],
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, LimiterError> {
        if windows.is_empty() {
            return Ok(Vec::new());
        }
        let answers = match &self.servers {
            Servers::Primary(link) => {
                let call = self.call(verb, windows, now);
                link.decide(&call, windows.len()).await
            }
            // Boxed, because calls of a single primary would have to make room for it.
            Servers::Cluster(cluster) => {
                Box::pin(self.ask_homes(cluster, verb, windows, now)).await
            }
        };
        Ok(answers?)
    }

    /// Asks about the windows of each home where they are, all homes at once. What one has charged and
    /// another has not is taken back.
    async fn ask_homes(
        self: &Arc<Self>,
        cluster: &Cluster,
        verb: &str,
        windows: &[Asked],
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let mut placed: Vec<_> = windows.iter().copied().enumerate().collect();
        placed.sort_by_key(|(_, window)| home(&window.key));
        let (places, windows): (Vec<_>, Vec<_>) = placed.into_iter().unzip();
        let groups = || windows.chunk_by(|one, next| home(&one.key) == home(&next.key));
        let asking = groups().map(|group| self.ask_home(cluster, verb, group, now));
        let mut answers = join_all(asking).await;
        let is_charged = |answers: &[WindowAnswer]| answers.iter().all(|it| it.charged.is_some());
        let are_all = answers
            .iter()
            .all(|it| it.as_ref().is_ok_and(|it| is_charged(it)));
        for (group, answers) in groups().zip(&mut answers) {
            if !are_all
                && let Ok(answers) = answers
                && is_charged(answers)
            {
                self.take_back(group, answers, now).await;
                for answer in answers {
                    answer.charged = None;
                    answer.usage.counted = answer.usage.counted.saturating_sub(1);
                }
            }
        }
        let answers: Vec<_> = answers.into_iter().collect::<Result<_, _>>()?;
        let mut placed: Vec<_> = places.into_iter().zip(answers.concat()).collect();
        placed.sort_by_key(|(place, _)| *place);
        Ok(placed.into_iter().map(|(_, answer)| answer).collect())
    }

    async fn ask_home(
        &self,
        cluster: &Cluster,
        verb: &str,
        windows: &[Asked],
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let call = self.call(verb, windows, now);
        let home = windows.first().map(|it| home(&it.key)).unwrap_or_default();
        cluster.decide(&home, &call, windows.len()).await
    }

    /// Takes back what was charged, after the answer to the client unless too many do. If the server fails
    /// meanwhile, the charge stays until it leaves the window.
    async fn take_back(
        self: &Arc<Self>,
        windows: &[Asked],
        answers: &[WindowAnswer],
        now: Timestamp,
    ) {
        let charged = windows.iter().zip(answers).map(|(window, answer)| Asked {
            admitted: answer.charged,
            ..*window
        });
        let (shared, charged) = (Arc::clone(self), charged.collect::<Vec<_>>());
        let taking_back = async move {
            if let Servers::Cluster(cluster) = &shared.servers {
                let _ = shared.ask_home(cluster, REFUND, &charged, now).await;
            }
        };
        match Arc::clone(&self.taking_back).try_acquire_owned() {
            Ok(permit) => {
                tokio::spawn(async move {
                    taking_back.await;
                    drop(permit);
                });
            }
            Err(_too_many) => taking_back.await,
        }
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
        let answers = self.0.ask(CHARGE, &windows, now).await?;
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
        let answers = self.0.ask(LOOK, &windows, now).await?;
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
        let answers = self.0.ask(REFUND, &windows, now).await?;
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
        let mut busiest = Vec::new();
        for link in self.0.primaries()? {
            let link = link.another().await;
            let now = if self.0.is_time_given {
                now
            } else {
                link.time().await?
            };
            let scan = Scan::new(&link, Some(policy));
            scan.add_busiest(&mut busiest, quota, most, now).await?;
        }
        Ok(busiest)
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let policy = match which {
            WindowSet::All => None,
            WindowSet::Policy(policy) => Some(policy),
            WindowSet::Window(key) => {
                let mut unlink = cmd("UNLINK");
                unlink.arg(key_text(&key));
                let answer = match &self.0.servers {
                    Servers::Primary(link) => link.call(&unlink).await,
                    Servers::Cluster(cluster) => cluster.call(&home(&key), &unlink).await,
                };
                return read(answer?);
            }
        };
        let mut count = 0;
        for link in self.0.primaries()? {
            let link = link.another().await;
            count += Scan::new(&link, policy).remove().await?;
        }
        Ok(count)
    }

    /// Whether every primary answers. Known at once: each is tried every second.
    fn check(&self) -> Result<(), LimiterError> {
        for link in self.0.primaries()? {
            link.check().map_err(LimiterError)?;
        }
        Ok(())
    }
}

fn asked(charge: &Charge<'_>) -> Asked {
    Asked {
        key: charge.key,
        quota: charge.quota,
        admitted: None,
    }
}
