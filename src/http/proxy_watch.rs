//! Notices a proxy that nobody told the service about: behind it all visitors share one address,
//! and so one window of each limit.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Timestamp;

/// How long requests are looked at together, and how often the warning may come, in milliseconds.
const INTERVAL_MS: u64 = 10 * 60 * 1000;

/// Forwarded requests from one peer before it counts as a proxy: a lone curious client is none.
const REQUESTS_MIN: u32 = 20;

/// Watches the peers of one interval after the other.
#[derive(Debug, Default)]
pub(crate) struct ProxyWatch {
    /// Somebody else was seen in this interval: there is no sole proxy. Read first, so that the
    /// usual request takes no lock.
    is_mixed: AtomicBool,
    interval: Mutex<Interval>,
}

#[derive(Debug, Default)]
struct Interval {
    begun: Timestamp,
    /// The peer that sends forwarding headers.
    peer: Option<IpAddr>,
    requests: u32,
}

impl ProxyWatch {
    /// Takes note of a request, and says whether it is time to warn: all traffic of this interval
    /// comes from one private address, with forwarding headers that are not trusted. Requests from
    /// private addresses without such headers, a probe's for example, change nothing.
    pub(crate) fn observe(&self, now: Timestamp, peer: IpAddr, forwarding_untrusted: bool) -> bool {
        if !is_private(peer) {
            // Only the first stranger of an interval writes.
            if !self.is_mixed.load(Ordering::Relaxed) {
                self.is_mixed.store(true, Ordering::Relaxed);
            }
            return false;
        }
        if !forwarding_untrusted {
            return false;
        }
        let mut interval = self.interval.lock().unwrap_or_else(PoisonError::into_inner);
        // The clock may be set back.
        if interval.peer.is_none() || now.as_ms().abs_diff(interval.begun.as_ms()) >= INTERVAL_MS {
            *interval = Interval {
                begun: now,
                peer: Some(peer),
                requests: 0,
            };
            self.is_mixed.store(false, Ordering::Relaxed);
        }
        if interval.peer != Some(peer) {
            self.is_mixed.store(true, Ordering::Relaxed);
        }
        interval.requests = interval.requests.saturating_add(1);
        interval.requests == REQUESTS_MIN && !self.is_mixed.load(Ordering::Relaxed)
    }
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_ms(1_000_000);

    /// How many warnings come of requests from these peers in turn, each with whether it carries a
    /// header that is not trusted.
    fn warnings(watch: &ProxyWatch, now: Timestamp, peers: &[(&str, bool)]) -> usize {
        (0..100)
            .flat_map(|_| peers)
            .filter(|(peer, untrusted)| watch.observe(now, peer.parse().unwrap(), *untrusted))
            .count()
    }

    #[test]
    fn one_private_peer_with_untrusted_headers_is_warned_of_once_an_interval() {
        for (peers, expected) in [
            (vec![("10.0.0.1", true)], 1),
            (vec![("::ffff:127.0.0.1", true)], 1),
            (vec![("fd00::1", true)], 1),
            (vec![("172.16.0.1", true), ("172.16.0.9", false)], 1),
            (vec![("10.0.0.1", false)], 0),
            (vec![("192.0.2.1", true)], 0),
            (vec![("2001:db8::1", true)], 0),
            (vec![("10.0.0.1", true), ("10.0.0.2", true)], 0),
            (vec![("10.0.0.1", true), ("192.0.2.1", false)], 0),
        ] {
            let watch = ProxyWatch::default();
            assert_eq!(warnings(&watch, START, &peers), expected, "{peers:?}");
            let same = START.plus_ms(INTERVAL_MS - 1);
            assert_eq!(warnings(&watch, same, &peers), 0, "{peers:?}");
            let next = START.plus_ms(INTERVAL_MS);
            assert_eq!(warnings(&watch, next, &peers), expected, "{peers:?}");
        }
    }

    #[test]
    fn a_few_requests_are_no_proxy() {
        let watch = ProxyWatch::default();
        let peer = "127.0.0.1".parse().unwrap();
        for _ in 1..REQUESTS_MIN {
            assert!(!watch.observe(START, peer, true));
        }
        assert!(watch.observe(START, peer, true));
    }
}
