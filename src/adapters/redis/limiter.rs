//! The port over Redis or Valkey.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use redis::cmd;
use tokio::sync::Semaphore;

use crate::domain::decision::Decision;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::time::Timestamp;
use crate::ports::{Admission, BusyWindow, Charge, LimiterError, RateLimiter, Receipt, WindowSet};

use super::cluster::Cluster;
use super::link::{CallFailure, ServerLink, read};
use super::scan::Scan;
use super::script::{Asked, Home, ScriptVerb, WindowAnswer, WindowScript, home, key_text};
use super::settings::{RedisSettings, RedisSettingsError};
use super::survey::{RedisSurvey, parse_info};

/// How many requests may have charges taken back after their answer at a time; others wait for it.
const TAKING_BACK_MAX: usize = 1024;

/// Counts requests in Redis or Valkey, for several nodes together.
pub struct RedisRateLimiter(Arc<Shared>);

struct Shared {
    servers: Servers,
    script: Arc<WindowScript>,
    /// Whether the caller's time holds, and not the server's: in tests.
    is_time_given: bool,
    taking_back: Arc<Semaphore>,
}

enum Servers {
    Primary(Arc<ServerLink>),
    Cluster(Arc<Cluster>),
}

/// The windows of a request that one script decides about, each with its place in the request.
struct HomeGroup {
    home: Home,
    places: Vec<usize>,
    windows: Vec<Asked>,
}

impl RedisRateLimiter {
    /// Connects, and keeps on trying: an engine that is away is no error.
    pub async fn open(settings: RedisSettings) -> Result<Self, RedisSettingsError> {
        Self::open_with(settings, false).await
    }

    /// The same for tests: the caller's time holds, and not the server's.
    pub async fn with_given_time(settings: RedisSettings) -> Result<Self, RedisSettingsError> {
        Self::open_with(settings, true).await
    }

    async fn open_with(
        settings: RedisSettings,
        is_time_given: bool,
    ) -> Result<Self, RedisSettingsError> {
        let script = Arc::new(WindowScript::new());
        let is_cluster = settings.address.is_cluster;
        let mut nodes = settings.address.nodes.clone();
        let access = settings.access(Arc::clone(&script))?;
        let servers = match nodes.pop() {
            Some(node) if !is_cluster => {
                Servers::Primary(ServerLink::open(node, access, "0".to_owned()).await)
            }
            last => {
                nodes.extend(last);
                Servers::Cluster(Cluster::open(nodes, access).await)
            }
        };
        Ok(Self(Arc::new(Shared {
            servers,
            script,
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

    /// One primary decides about all windows in one script; in a cluster the homes may be anywhere.
    fn groups(&self, windows: impl Iterator<Item = Asked>) -> Vec<HomeGroup> {
        let mut groups: Vec<HomeGroup> = Vec::new();
        for (place, window) in windows.enumerate() {
            let home = home(&window.key);
            let shares = |group: &&mut HomeGroup| match self.servers {
                Servers::Primary(_) => true,
                Servers::Cluster(_) => group.home == home,
            };
            match groups.iter_mut().find(shares) {
                Some(group) => {
                    group.places.push(place);
                    group.windows.push(window);
                }
                None => groups.push(HomeGroup {
                    home,
                    places: vec![place],
                    windows: vec![window],
                }),
            }
        }
        groups
    }

    /// Asks all groups at once.
    async fn decide_all(
        &self,
        verb: ScriptVerb,
        groups: &[HomeGroup],
        now: Timestamp,
    ) -> Vec<Result<Vec<WindowAnswer>, CallFailure>> {
        let deciding = groups.iter().map(|group| self.decide(verb, group, now));
        join_all(deciding).await
    }

    async fn decide(
        &self,
        verb: ScriptVerb,
        group: &HomeGroup,
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let now = self.is_time_given.then_some(now);
        let call = self.script.call(verb, &group.windows, now);
        match &self.servers {
            Servers::Primary(link) => link.decide(&call).await,
            Servers::Cluster(cluster) => cluster.decide(&group.home, &call).await,
        }
    }

    async fn ask(
        &self,
        verb: ScriptVerb,
        windows: impl Iterator<Item = Asked>,
        now: Timestamp,
    ) -> Result<Vec<WindowAnswer>, LimiterError> {
        let groups = self.groups(windows);
        let answers = self.decide_all(verb, &groups, now).await;
        let answers: Result<Vec<_>, _> = answers.into_iter().collect();
        Ok(in_order(&groups, answers?))
    }
}

#[async_trait]
impl RateLimiter for RedisRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        if charges.is_empty() {
            return Ok(Admission::default());
        }
        let groups = self.0.groups(charges.iter().map(asked));
        let answers = self.0.decide_all(ScriptVerb::Charge, &groups, now).await;
        let is_charged = |answer: &Result<Vec<WindowAnswer>, CallFailure>| {
            let answers = answer.iter().flatten();
            answers.into_iter().all(|it| it.charged.is_some()) && answer.is_ok()
        };
        let mut admission = Admission::default();
        if answers.iter().all(is_charged) {
            let answers = in_order(&groups, answers.into_iter().flatten().collect());
            for (charge, answer) in charges.iter().zip(answers) {
                admission
                    .decision
                    .push(charge.standing(answer.usage, false));
                let charged = answer.charged.map_or(0, Timestamp::as_ms);
                admission.receipt.push(charge, charge.key, charged);
            }
            return Ok(admission);
        }
        let mut refused = Vec::new();
        let mut failure = None;
        for (group, answer) in groups.iter().zip(answers) {
            match answer {
                Ok(mut answers) => {
                    if answers.iter().all(|it| it.charged.is_some()) {
                        self.take_back(group, &answers, now).await;
                        for answer in &mut answers {
                            answer.usage.counted = answer.usage.counted.saturating_sub(1);
                        }
                    }
                    refused.push(answers);
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        for (charge, answer) in charges.iter().zip(in_order(&groups, refused)) {
            let is_full = answer.charged.is_none() && answer.usage.counted >= charge.quota.count();
            admission
                .decision
                .push(charge.standing(answer.usage, is_full));
        }
        Ok(admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        let windows = charges.iter().map(asked);
        let answers = self.0.ask(ScriptVerb::Look, windows, now).await?;
        let mut decision = Decision::default();
        for (charge, answer) in charges.iter().zip(answers) {
            decision.push(charge.standing(answer.usage, false));
        }
        Ok(decision)
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        let windows = receipt.entries().iter().map(|entry| Asked {
            key: entry.key,
            quota: entry.quota,
            admitted: Timestamp::from_ms(entry.token),
        });
        let answers = self.0.ask(ScriptVerb::Refund, windows, now).await?;
        let mut decision = Decision::default();
        for (entry, answer) in receipt.entries().iter().zip(answers) {
            decision.push(entry.standing(answer.usage));
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

impl RedisRateLimiter {
    /// Takes back what one home admitted and another refused, after the answer to the client unless too
    /// many do. If the server fails meanwhile, the charge stays until it leaves the window.
    async fn take_back(&self, group: &HomeGroup, answers: &[WindowAnswer], now: Timestamp) {
        let windows = group.windows.iter().zip(answers);
        let charged = HomeGroup {
            home: group.home,
            places: Vec::new(),
            windows: windows
                .map(|(window, answer)| Asked {
                    admitted: answer.charged.unwrap_or_default(),
                    ..*window
                })
                .collect(),
        };
        let shared = Arc::clone(&self.0);
        match Arc::clone(&shared.taking_back).try_acquire_owned() {
            Ok(permit) => {
                tokio::spawn(async move {
                    let _ = shared.decide(ScriptVerb::Refund, &charged, now).await;
                    drop(permit);
                });
            }
            Err(_too_many) => {
                let _ = shared.decide(ScriptVerb::Refund, &charged, now).await;
            }
        }
    }
}

fn asked(charge: &Charge<'_>) -> Asked {
    Asked {
        key: charge.key,
        quota: charge.quota,
        admitted: Timestamp::default(),
    }
}

/// The answers to the windows of a request, in its order.
fn in_order(groups: &[HomeGroup], answers: Vec<Vec<WindowAnswer>>) -> Vec<WindowAnswer> {
    let mut placed: Vec<(usize, WindowAnswer)> = groups
        .iter()
        .zip(answers)
        .flat_map(|(group, answers)| group.places.iter().copied().zip(answers))
        .collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, answer)| answer).collect()
}
