//! The primaries of a cluster, and which of them has a window.
//!
//! Each primary has a link of its own, so that one that hangs or is gone holds up nobody else's windows.
//! Who has which slots is asked of whoever answers: each second, when a server says that it has a window no
//! more, and soon after a call went wrong. The library's cluster connection is not used: it sends a call again
//! after a lost connection, which may charge twice, it does not recover from a primary that hangs, and all
//! others wait while it is replaced.

use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::{Cmd, Value, cmd, from_redis_value_ref};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{sleep, timeout};

use super::address::NodeAddress;
use super::link::{Access, CallFailure, PATIENCE_MIN, ServerLink, call_once};
use super::script::{Home, WindowAnswer, hash_tag};

/// The number of slots that a cluster's keys are spread over.
const SLOTS: u16 = 16_384;
/// How often the map is asked for at most, and at least, unless windows have moved.
const REFRESH_INTERVAL_MIN: Duration = Duration::from_millis(200);
const REFRESH_INTERVAL_MAX: Duration = Duration::from_millis(800);

/// Consecutive slots, the first and the last, and the primary that has them.
type Range<T> = (u16, u16, T);

/// In the order of the slots.
type SlotMap = Arc<Vec<Range<Arc<ServerLink>>>>;

pub(super) struct Cluster {
    /// Servers that are asked for the map when none of the known ones answers.
    seeds: Vec<NodeAddress>,
    access: Access,
    map: Mutex<SlotMap>,
    refreshing: AsyncMutex<()>,
    is_stale: Arc<Notify>,
}

impl Cluster {
    /// Tries to find the servers, and keeps on trying until the value is dropped.
    pub(super) async fn open(seeds: Vec<NodeAddress>, access: Access) -> Arc<Self> {
        let is_stale = Arc::new(Notify::new());
        let cluster = Arc::new(Self {
            seeds,
            access,
            map: Mutex::default(),
            refreshing: AsyncMutex::default(),
            is_stale: Arc::clone(&is_stale),
        });
        cluster.refresh(&cluster.map()).await;
        tokio::spawn(keep(Arc::downgrade(&cluster), is_stale));
        cluster
    }

    /// The primaries of all slots; if some slots have none, why.
    pub(super) fn primaries(&self) -> Result<Vec<Arc<ServerLink>>, String> {
        let map = self.map();
        let covered: u16 = map.iter().map(|(first, last, _)| last - first + 1).sum();
        match covered {
            SLOTS => Ok(links(&map)),
            _ => Err("some slots of the cluster have no primary".to_owned()),
        }
    }

    /// Has the script decide about so many windows where `home` is. Asked again, once, only where the windows
    /// have moved away.
    pub(super) async fn decide(
        &self,
        home: &Home,
        call: &Cmd,
        windows: usize,
    ) -> Result<Vec<WindowAnswer>, CallFailure> {
        let map = self.map();
        let mut answer = link_of(&map, home)?.decide(call, windows).await;
        if let Err(CallFailure::Moved) = answer
            && timeout(PATIENCE_MIN, self.refresh(&map)).await.is_ok()
        {
            answer = link_of(&self.map(), home)?.decide(call, windows).await;
        }
        answer.inspect_err(|_failure| self.is_stale.notify_one())
    }

    /// Sends a command to where `home` is.
    pub(super) async fn call(&self, home: &Home, command: &Cmd) -> Result<Value, CallFailure> {
        link_of(&self.map(), home)?.call(command).await
    }

    fn map(&self) -> SlotMap {
        Arc::clone(&self.map.lock())
    }

    /// Asks who has which slots, unless `seen` is the map no more, and opens and closes links accordingly.
    async fn refresh(&self, seen: &SlotMap) {
        let _alone = self.refreshing.lock().await;
        let mut links = links(seen);
        if !Arc::ptr_eq(seen, &self.map()) {
            return;
        }
        let Some(ranges) = self.ask_for_slots(&links).await else {
            return;
        };
        let mut map = Vec::with_capacity(ranges.len());
        for (first, last, node) in ranges {
            let known = links.iter().find(|link| *link.address() == node).cloned();
            let link = match known {
                Some(link) => link,
                None => ServerLink::open(node, self.access.clone(), &tag_in(first, last)).await,
            };
            links.push(Arc::clone(&link));
            map.push((first, last, link));
        }
        *self.map.lock() = Arc::new(map);
    }

    async fn ask_for_slots(&self, links: &[Arc<ServerLink>]) -> Option<Vec<Range<NodeAddress>>> {
        let mut slots = cmd("CLUSTER");
        slots.arg("SLOTS");
        for link in links {
            let answer = link.call(&slots).await.ok();
            if let Some(ranges) = answer.and_then(|it| parse_slots(&it, link.address())) {
                return Some(ranges);
            }
        }
        for seed in &self.seeds {
            let answer = call_once(seed, &self.access, &slots).await;
            if let Some(ranges) = answer.and_then(|it| parse_slots(&it, seed)) {
                return Some(ranges);
            }
        }
        None
    }
}

/// Keeps the map up to date.
async fn keep(cluster: Weak<Cluster>, is_stale: Arc<Notify>) {
    loop {
        sleep(REFRESH_INTERVAL_MIN).await;
        let _ = timeout(REFRESH_INTERVAL_MAX, is_stale.notified()).await;
        match cluster.upgrade() {
            Some(cluster) => cluster.refresh(&cluster.map()).await,
            None => return,
        }
    }
}

fn link_of(map: &SlotMap, home: &Home) -> Result<Arc<ServerLink>, CallFailure> {
    let slot = slot(hash_tag(home).as_bytes());
    let mut ranges = map.iter();
    let range = ranges.find(|(first, last, _)| (first..=last).contains(&&slot));
    let nobody = || CallFailure::Away("no server of the cluster has the slot".to_owned());
    range
        .map(|(_, _, link)| Arc::clone(link))
        .ok_or_else(nobody)
}

/// Every link of the map once, those that are up first.
fn links(map: &SlotMap) -> Vec<Arc<ServerLink>> {
    let mut links: Vec<_> = map.iter().map(|(_, _, link)| Arc::clone(link)).collect();
    links.sort_by_key(|link| (link.check().is_err(), Arc::as_ptr(link)));
    links.dedup_by_key(|link| Arc::as_ptr(link));
    links
}

/// Reads the answer of `asked` to `CLUSTER SLOTS`: of each range its first and last slot, then its servers, the
/// primary first.
fn parse_slots(answer: &Value, asked: &NodeAddress) -> Option<Vec<Range<NodeAddress>>> {
    let ranges: Vec<Vec<Value>> = from_redis_value_ref(answer).ok()?;
    // To a narrower type the library would cut the number off.
    let number = |value: &Value| u16::try_from(from_redis_value_ref::<i64>(value).ok()?).ok();
    let ranges = ranges.iter().map(|range| {
        let [first, last, primary, ..] = range.as_slice() else {
            return None;
        };
        let (first, last) = (number(first)?, number(last)?);
        let primary: Vec<Value> = from_redis_value_ref(primary).ok()?;
        let [host, port, ..] = primary.as_slice() else {
            return None;
        };
        let host: Option<String> = from_redis_value_ref(host).ok()?;
        // A server that does not know its own name is where it was asked.
        let host = host.filter(|host| !host.is_empty() && host != "?");
        let host = host.unwrap_or_else(|| asked.host.clone());
        let port = number(port)?;
        (first <= last && last < SLOTS).then_some((first, last, NodeAddress { host, port }))
    });
    let mut ranges: Vec<Range<_>> = ranges.collect::<Option<_>>()?;
    ranges.sort_by_key(|(first, _, _)| *first);
    let is_sound = ranges.is_sorted_by(|(_, last, _), (first, _, _)| last < first);
    (is_sound && !ranges.is_empty()).then_some(ranges)
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
            vec![range(0, 5, Value::Array(vec![text("a"), text("b")]), 1)],
            vec![range(0, 5, text("a"), 1), range(5, 9, text("b"), 1)],
            vec![Value::Array(vec![Value::Int(0), Value::Int(1)])],
        ] {
            assert!(read(bad.clone()).is_none(), "{bad:?}");
        }
        assert!(parse_slots(&Value::Okay, &asked).is_none());
    }
}
