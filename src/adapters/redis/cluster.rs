//! The servers of a cluster, and which of them has a window.
//!
//! Each primary has a link of its own, so that one that hangs or is gone holds up nobody else's windows.
//! Who has which slots is asked of whoever answers: each second, and soon after a call went wrong. The
//! library's cluster connection is not used: it asks again after a lost connection, which may charge
//! twice, and lets all others wait while it looks for one primary.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value, cmd};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::adapters::mutex::lock;

use super::address::NodeAddress;
use super::link::{Access, CallFailure, ServerLink, call_once};
use super::script::{Answer, Home, ScriptCall, hash_tag};

/// The number of slots that a cluster's keys are spread over.
const SLOTS: u16 = 16_384;
/// How often the map is asked for at most, and at least.
const REFRESH_INTERVAL_MIN: Duration = Duration::from_millis(200);
const REFRESH_INTERVAL_MAX: Duration = Duration::from_millis(800);

/// Consecutive slots and their primary.
type Range = (u16, u16, NodeAddress);

pub(super) struct Cluster {
    /// Servers that are asked for the map when none of the known ones answers.
    seeds: Vec<NodeAddress>,
    access: Access,
    map: Mutex<Arc<SlotMap>>,
    is_stale: Arc<Notify>,
}

/// Which server has which slots, in the order of the slots.
#[derive(Default)]
struct SlotMap(Vec<(u16, u16, Arc<ServerLink>)>);

impl Cluster {
    /// Tries to find the servers, and keeps on trying until the value is dropped.
    pub(super) async fn open(seeds: Vec<NodeAddress>, access: Access) -> Arc<Self> {
        let cluster = Arc::new(Self {
            seeds,
            access,
            map: Mutex::default(),
            is_stale: Arc::new(Notify::new()),
        });
        cluster.refresh().await;
        tokio::spawn(keep(
            Arc::downgrade(&cluster),
            Arc::clone(&cluster.is_stale),
        ));
        cluster
    }

    /// The primaries of all slots; if some slots have none, why.
    pub(super) fn primaries(&self) -> Result<Vec<Arc<ServerLink>>, String> {
        let map = self.map();
        let covered: u16 = map.0.iter().map(|(first, last, _)| last - first + 1).sum();
        if covered < SLOTS {
            return Err("some slots of the cluster have no primary".to_owned());
        }
        let mut links: Vec<Arc<ServerLink>> = Vec::new();
        for (_, _, link) in &map.0 {
            if !links.iter().any(|it| Arc::ptr_eq(it, link)) {
                links.push(Arc::clone(link));
            }
        }
        Ok(links)
    }

    /// Has the script decide where `home` is. Asked again, once, only where the server did nothing.
    pub(super) async fn decide(
        &self,
        home: &Home,
        call: &ScriptCall<'_>,
    ) -> Result<Vec<Answer>, CallFailure> {
        let mut answer = match self.link_of(home) {
            Some(link) => link.decide(call).await,
            None => Err(nobody()),
        };
        answer = match answer {
            Err(CallFailure::Moved(node)) => match self.link_to(&node) {
                Some(link) => link.decide(call).await,
                None => Err(CallFailure::Moved(node)),
            },
            Err(CallFailure::Ask(node)) => match self.link_to(&node) {
                Some(link) => link.decide_asking(call).await,
                None => Err(CallFailure::Ask(node)),
            },
            other => other,
        };
        if answer.is_err() {
            self.is_stale.notify_one();
        }
        answer
    }

    /// Sends a command to where `home` is.
    pub(super) async fn call(&self, home: &Home, command: &Cmd) -> Result<Value, CallFailure> {
        match self.link_of(home) {
            Some(link) => link.call(command).await,
            None => Err(nobody()),
        }
    }

    fn map(&self) -> Arc<SlotMap> {
        Arc::clone(&lock(&self.map))
    }

    fn link_of(&self, home: &Home) -> Option<Arc<ServerLink>> {
        let slot = slot(hash_tag(home).as_bytes());
        let map = self.map();
        let at = map.0.partition_point(|(_, last, _)| *last < slot);
        let (first, _, link) = map.0.get(at)?;
        (*first <= slot).then(|| Arc::clone(link))
    }

    /// The link to the primary at this address. It has one if it has slots.
    fn link_to(&self, node: &NodeAddress) -> Option<Arc<ServerLink>> {
        self.is_stale.notify_one();
        let map = self.map();
        let mut links = map.0.iter().map(|(_, _, link)| link);
        links.find(|link| link.address() == node).cloned()
    }

    /// Asks who has which slots, and opens and closes links accordingly.
    async fn refresh(&self) {
        let Some(ranges) = self.ask_for_slots().await else {
            return;
        };
        let known = self.map();
        let mut links: Vec<Arc<ServerLink>> = Vec::new();
        for (first, last, node) in &ranges {
            if links.iter().any(|link| link.address() == node) {
                continue;
            }
            let known = known.0.iter().find(|(_, _, link)| link.address() == node);
            links.push(match known {
                Some((_, _, link)) => Arc::clone(link),
                None => {
                    ServerLink::open(node.clone(), self.access.clone(), tag_in(*first, *last)).await
                }
            });
        }
        let link_to = |node: &NodeAddress| links.iter().find(|link| link.address() == node);
        let ranges = ranges.iter().filter_map(|(first, last, node)| {
            let link = link_to(node)?;
            Some((*first, *last, Arc::clone(link)))
        });
        *lock(&self.map) = Arc::new(SlotMap(ranges.collect()));
    }

    async fn ask_for_slots(&self) -> Option<Vec<Range>> {
        let mut slots = cmd("CLUSTER");
        slots.arg("SLOTS");
        for link in self.primaries_known() {
            if let Ok(answer) = link.call(&slots).await
                && let Some(ranges) = parse_slots(&answer, link.address())
            {
                return Some(ranges);
            }
        }
        for seed in &self.seeds {
            if let Some(answer) = call_once(seed, &self.access, &slots).await
                && let Some(ranges) = parse_slots(&answer, seed)
            {
                return Some(ranges);
            }
        }
        None
    }
}

impl Cluster {
    /// The links in the map, those that are up first.
    fn primaries_known(&self) -> Vec<Arc<ServerLink>> {
        let map = self.map();
        let mut links: Vec<_> = map.0.iter().map(|(_, _, link)| Arc::clone(link)).collect();
        links.sort_by_key(|link| (link.check().is_err(), Arc::as_ptr(link)));
        links.dedup_by_key(|link| Arc::as_ptr(link));
        links
    }
}

/// Keeps the map up to date.
async fn keep(cluster: Weak<Cluster>, is_stale: Arc<Notify>) {
    loop {
        sleep(REFRESH_INTERVAL_MIN).await;
        let _ = timeout(REFRESH_INTERVAL_MAX, is_stale.notified()).await;
        match cluster.upgrade() {
            Some(cluster) => cluster.refresh().await,
            None => return,
        }
    }
}

fn nobody() -> CallFailure {
    CallFailure::Away("no server of the cluster has the slot".to_owned())
}

/// Reads the answer of `asked` to `CLUSTER SLOTS`: of each range its first and last slot, then its servers, the
/// primary first.
fn parse_slots(answer: &Value, asked: &NodeAddress) -> Option<Vec<Range>> {
    let Value::Array(ranges) = answer else {
        return None;
    };
    let mut ranges: Vec<Range> = ranges
        .iter()
        .map(|range| parse_range(range, asked))
        .collect::<Option<_>>()?;
    ranges.sort_by_key(|(first, _, _)| *first);
    let is_sorted = ranges.is_sorted_by(|(_, last, _), (first, _, _)| last < first);
    (is_sorted && !ranges.is_empty()).then_some(ranges)
}

fn parse_range(range: &Value, asked: &NodeAddress) -> Option<Range> {
    let Value::Array(range) = range else {
        return None;
    };
    let [
        Value::Int(first),
        Value::Int(last),
        Value::Array(primary),
        ..,
    ] = range.as_slice()
    else {
        return None;
    };
    let [host, Value::Int(port), ..] = primary.as_slice() else {
        return None;
    };
    let host: Option<String> = redis::from_redis_value_ref(host).ok()?;
    let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
    let node = NodeAddress {
        // A server that does not know its own name is where it was asked.
        host: host
            .filter(|host| !host.is_empty() && host != "?")
            .unwrap_or_else(|| asked.host.clone()),
        port: u16::try_from(*port).ok()?,
    };
    (first <= last && last < SLOTS).then_some((first, last, node))
}

/// A hash tag whose slot is among these.
fn tag_in(first: u16, last: u16) -> String {
    let tags = (0_u32..).map(|number| number.to_string());
    let mut tags = tags.filter(|tag| (first..=last).contains(&slot(tag.as_bytes())));
    tags.next().unwrap_or_default()
}

/// The slot of a hash tag: CRC-16 (XMODEM) modulo the number of slots.
fn slot(tag: &[u8]) -> u16 {
    const POLYNOMIAL: u16 = 0x1021;
    let crc = tag.iter().fold(0_u16, |crc, byte| {
        (0..u8::BITS).fold(crc ^ u16::from(*byte) << 8, |crc, _| match crc >> 15 {
            0 => crc << 1,
            _ => crc << 1 ^ POLYNOMIAL,
        })
    });
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        for (tag, expected) in [
            ("123456789", 12_739),
            ("", 0),
            ("foo", 12_182),
            ("user1000", 3443),
        ] {
            assert_eq!(slot(tag.as_bytes()), expected, "{tag}");
        }
        for (first, last) in [(0, 0), (5461, 10_922), (16_383, 16_383)] {
            let found = slot(tag_in(first, last).as_bytes());
            assert!((first..=last).contains(&found));
        }
    }

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let node = Value::Array(vec![host, Value::Int(port)]);
        Value::Array(vec![Value::Int(first), Value::Int(last), node])
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn maps_are_read_and_nonsense_is_refused() {
        let asked = NodeAddress {
            host: "asked".to_owned(),
            port: 1,
        };
        let read = |ranges: Vec<Value>| parse_slots(&Value::Array(ranges), &asked);
        let map = read(vec![
            range(100, 200, text("a"), 2),
            range(0, 99, Value::Nil, 3),
            range(201, 16_383, text("?"), 4),
        ]);
        let map: Vec<_> = map
            .unwrap()
            .into_iter()
            .map(|(first, last, node)| (first, last, node.host, node.port))
            .collect();
        let own = |host: &str| host.to_owned();
        let expected = [
            (0, 99, own("asked"), 3),
            (100, 200, own("a"), 2),
            (201, 16_383, own("asked"), 4),
        ];
        assert_eq!(map, expected);
        for bad in [
            vec![],
            vec![Value::Nil],
            vec![range(0, 16_384, text("a"), 1)],
            vec![range(-1, 5, text("a"), 1)],
            vec![range(7, 5, text("a"), 1)],
            vec![range(0, 5, text("a"), 65_536)],
            vec![range(0, 5, Value::Array(vec![]), 1)],
            vec![range(0, 5, text("a"), 1), range(5, 9, text("b"), 1)],
            vec![Value::Array(vec![Value::Int(0), Value::Int(1)])],
        ] {
            assert!(read(bad).is_none());
        }
        assert!(parse_slots(&Value::Okay, &asked).is_none());
    }
}
