//! Clients that ask and sign up all the time, at a steady pace, and write down what they were answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::client::{Answer, Call, Client};

/// The limit on every network: `--limit=ip=60/2s`.
pub(crate) const COUNT: u32 = 60;
pub(crate) const WINDOW: Duration = Duration::from_secs(2);

/// The network that asks for more than its limit.
const BUSY: &str = "192.0.2.99";

#[derive(Clone, Copy)]
pub(crate) struct Asked {
    sent: Instant,
    received: Instant,
    /// None without an answer.
    status: Option<u16>,
    /// Whether it was admitted within the limit of the busy network.
    is_counted: bool,
    /// Whether the answer is what it is when all is well.
    is_normal: bool,
}

#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    acknowledged: Mutex<Vec<String>>,
    number: AtomicU32,
}

/// The clients. They end with this value.
pub(crate) struct Load {
    log: Arc<Log>,
    _clients: JoinSet<()>,
}

impl Load {
    /// Has 64 clients ask `address`, some of them with `key`.
    pub(crate) fn begin(address: &str, key: &str) -> Self {
        let log = Arc::new(Log::default());
        let mut clients = JoinSet::new();
        for number in 0..64 {
            let (log, address, key) = (log.clone(), address.to_owned(), key.to_owned());
            clients.spawn(async move {
                let client = Client::new();
                let mut pace = interval(Duration::from_millis(160));
                pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    pace.tick().await;
                    match number % 4 {
                        0 => {
                            let call = Call::health().from(BUSY);
                            log.ask(&client, &address, &call, true).await;
                        }
                        1 => {
                            let call = Call::get("/api/v1/assistant/chat").bearer(&key);
                            let call = call.from(&log.newcomer());
                            log.ask(&client, &address, &call, false).await;
                        }
                        _ => log.sign_up(&client, &address).await,
                    }
                }
            });
        }
        Self {
            log,
            _clients: clients,
        }
    }

    /// Waits until all was normal for a second, and returns when that began; none if it never does.
    pub(crate) async fn until_normal(&self, since: Instant) -> Option<Instant> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(50)).await;
            let last = self.during(since, Instant::now()).last_fault();
            let last = last.unwrap_or(since);
            if last.elapsed() > Duration::from_secs(1) {
                return Some(last);
            }
        }
        None
    }

    pub(crate) fn during(&self, begin: Instant, end: Instant) -> Period {
        let asked = self.log.asked.lock().unwrap();
        let is_within = |asked: &&Asked| asked.received >= begin && asked.received < end;
        Period(asked.iter().filter(is_within).copied().collect())
    }

    /// The addresses whose sign-up was answered with 200.
    pub(crate) fn acknowledged(&self) -> Vec<String> {
        self.log.acknowledged.lock().unwrap().clone()
    }
}

impl Log {
    fn number(&self) -> u32 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// The address of somebody who was not here before.
    fn newcomer(&self) -> String {
        let [_, high, middle, low] = self.number().to_be_bytes();
        format!("10.{high}.{middle}.{low}")
    }

    async fn sign_up(&self, client: &Client, address: &str) {
        let email = format!("ada{}@example.com", self.number());
        let call = Call::sign_up(&email).from(&self.newcomer());
        if self.ask(client, address, &call, false).await == Some(200) {
            self.acknowledged.lock().unwrap().push(email);
        }
    }

    async fn ask(&self, client: &Client, address: &str, call: &Call, is_busy: bool) -> Option<u16> {
        let sent = Instant::now();
        let answer = client.try_send(address, call).await.ok();
        let status = answer.as_ref().map(|answer| answer.status);
        // While a node decides alone, it shows its share.
        let is_whole = |answer: &Answer| {
            answer.headers.contains_key("ratelimit-policy") && answer.quota("ip") == COUNT
        };
        let is_served = status == Some(200) || (is_busy && status == Some(429));
        self.asked.lock().unwrap().push(Asked {
            sent,
            received: Instant::now(),
            status,
            is_counted: is_busy && status == Some(200),
            is_normal: is_served && answer.as_ref().is_some_and(is_whole),
        });
        status
    }
}

pub(crate) struct Period(Vec<Asked>);

impl Period {
    pub(crate) fn by_status(&self) -> BTreeMap<Option<u16>, usize> {
        let mut statuses = BTreeMap::new();
        for asked in &self.0 {
            *statuses.entry(asked.status).or_default() += 1;
        }
        statuses
    }

    /// The most admissions of the busy network that were surely within one window: asked for and answered
    /// in less than its length.
    pub(crate) fn fullest(&self) -> usize {
        let counted: Vec<_> = self.0.iter().filter(|asked| asked.is_counted).collect();
        let since = |first: Instant| {
            let is_within =
                |asked: &&&Asked| asked.sent >= first && asked.received < first + WINDOW;
            counted.iter().filter(is_within).count()
        };
        let fullest = counted.iter().map(|asked| since(asked.sent)).max();
        fullest.unwrap_or_default()
    }

    fn last_fault(&self) -> Option<Instant> {
        let faults = self.0.iter().filter(|asked| !asked.is_normal);
        faults.map(|asked| asked.received).max()
    }
}
