//! What an engine has counted, read from its windows.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The admissions of a window: how many at which of the engine's milliseconds.
pub(crate) type Instants = BTreeMap<u64, u32>;

/// The most admissions within a trailing window. It is half-open.
pub(crate) fn fullest(instants: &Instants, window_ms: u64) -> u32 {
    let within = |(&newest, _): (&u64, &u32)| {
        let first = newest.saturating_sub(window_ms - 1);
        instants.range(first..=newest).map(|(_, count)| count).sum()
    };
    instants.iter().map(within).max().unwrap_or_default()
}

/// How many admissions there are.
pub(crate) fn total(instants: &Instants) -> u32 {
    instants.values().sum()
}

/// Reads the windows again and again, so that every admission is seen before it leaves its window.
pub(crate) struct Watch {
    stop: oneshot::Sender<()>,
    seen: JoinHandle<HashMap<String, Instants>>,
}

impl Watch {
    pub(crate) async fn begin(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let (stop, mut stopped) = oneshot::channel();
        let seen = tokio::spawn(async move {
            let mut seen = HashMap::new();
            loop {
                let is_last = stopped.try_recv().is_ok();
                read(&mut connection, &mut seen).await;
                if is_last {
                    return seen;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { stop, seen }
    }

    /// Reads them once more. Returns what was seen of each.
    pub(crate) async fn end(self) -> HashMap<String, Instants> {
        self.stop.send(()).unwrap();
        self.seen.await.unwrap()
    }
}

/// Adds what the windows of a server count now.
async fn read(connection: &mut MultiplexedConnection, seen: &mut HashMap<String, Instants>) {
    let keys: Vec<String> = connection.keys("lw1:*").await.unwrap();
    // Nodes have a window of their own, to try whether the server counts.
    for key in keys.into_iter().filter(|key| !key.ends_with("probe")) {
        // It may have expired since.
        let value: Option<Vec<u8>> = connection.get(&key).await.unwrap();
        let instants = seen.entry(key).or_default();
        for (at, count) in value.iter().flat_map(|value| marks(value)) {
            let known = instants.entry(at).or_default();
            *known = count.max(*known);
        }
    }
}

/// The marks of a window: after a byte for the version and four for the sum, ten bytes each.
fn marks(value: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    value[5..].chunks_exact(10).map(|mark| {
        let (at, count) = mark.split_at(6);
        let at = at.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        (at, u32::from_be_bytes(count.try_into().unwrap()))
    })
}
