//! Notices a proxy that nobody told the service about, and one that does not tell the service whom
//! it asks for: behind either all visitors share one address, and so one window of each limit.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Timestamp;

use super::forwarded::Forwarding;

/// How long requests are looked at together, and how often each warning may come, in milliseconds.
const INTERVAL_MS: u64 = 10 * 60 * 1000;

/// Requests of a kind before it is worth a warning: a lone curious client is no proxy.
const REQUESTS_MIN: u32 = 20;

/// What the operator should do. It names nobody's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Trust the proxy.
    Trust,
    /// Have the proxy, which is trusted, say whom it asks for.
    Configure,
}

impl Advice {
    /// The line for the log.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Trust => {
                "all requests come from one private address, with forwarding headers that are not \
                 trusted: if that is your proxy, name its network with --trusted-proxy, or all \
                 visitors are counted as one"
            }
            Self::Configure => {
                "requests from a trusted proxy have no X-Forwarded-For or Forwarded that can be \
                 used (X-Real-IP is not read, and of two headers neither is if they disagree): have \
                 the proxy send X-Forwarded-For and remove Forwarded, or its visitors are counted \
                 as one"
            }
        }
    }
}

/// Watches the peers of one interval after the other.
///
/// Its two flags are read first, so that the usual request takes no lock.
#[derive(Debug, Default)]
pub(crate) struct ProxyWatch {
    /// Somebody else was seen in this interval: there is no sole peer that could be a proxy.
    is_mixed: AtomicBool,
    sole: Mutex<Sole>,
    /// A trusted proxy has said whom it asks for in this interval.
    has_known: AtomicBool,
    mute: Mutex<Mute>,
}

/// The private peer that sends headers without being trusted.
#[derive(Debug, Default)]
struct Sole {
    peer: Option<IpAddr>,
    tally: Tally,
}

/// The trusted proxies that do not say whom they ask for.
#[derive(Debug, Default)]
struct Mute {
    /// One has said so in the interval before.
    had_known: bool,
    tally: Tally,
}

/// Requests of one interval.
#[derive(Debug, Default)]
struct Tally {
    begun: Option<Timestamp>,
    requests: u32,
}

impl Tally {
    /// Begins a new interval if there is none or it is over, and says whether it did.
    fn begin(&mut self, now: Timestamp) -> bool {
        // The clock may be set back.
        let is_over = self
            .begun
            .is_none_or(|begun| now.as_ms().abs_diff(begun.as_ms()) >= INTERVAL_MS);
        if is_over {
            self.begun = Some(now);
            self.requests = 0;
        }
        is_over
    }

    /// Counts one more, and says whether it is the one to warn at.
    fn count(&mut self) -> bool {
        self.requests = self.requests.saturating_add(1);
        self.requests == REQUESTS_MIN
    }
}

impl ProxyWatch {
    /// Takes note of a request, and says what the operator should be told, if it is time to:
    ///
    /// - all traffic of this interval comes from one private address, with headers that are not
    ///   trusted. Requests from private addresses without such headers, a probe's for example,
    ///   change nothing;
    /// - a trusted proxy sends headers that cannot be used, or none. The latter counts only while no
    ///   trusted proxy has sent one that can, in this interval or the one before, as the request may
    ///   be the proxy's own; one to the probe (`is_probe`) never does.
    pub(crate) fn observe(
        &self,
        now: Timestamp,
        peer: IpAddr,
        forwarding: Forwarding,
        is_probe: bool,
    ) -> Option<Advice> {
        let is_private = is_private(peer);
        if !is_private {
            raise(&self.is_mixed);
        }
        match forwarding {
            Forwarding::Direct => None,
            Forwarding::Untrusted => {
                (is_private && self.is_sole(now, peer)).then_some(Advice::Trust)
            }
            Forwarding::Known => {
                raise(&self.has_known);
                None
            }
            Forwarding::Silent => {
                (!is_probe && self.is_mute(now, true)).then_some(Advice::Configure)
            }
            Forwarding::Unusable => self.is_mute(now, false).then_some(Advice::Configure),
        }
    }

    fn is_sole(&self, now: Timestamp, peer: IpAddr) -> bool {
        let mut sole = self.sole.lock().unwrap_or_else(PoisonError::into_inner);
        if sole.tally.begin(now) {
            sole.peer = Some(peer);
            self.is_mixed.store(false, Ordering::Relaxed);
        }
        if sole.peer != Some(peer) {
            raise(&self.is_mixed);
        }
        sole.tally.count() && !self.is_mixed.load(Ordering::Relaxed)
    }

    fn is_mute(&self, now: Timestamp, is_silent: bool) -> bool {
        let mut mute = self.mute.lock().unwrap_or_else(PoisonError::into_inner);
        if mute.tally.begin(now) {
            mute.had_known = self.has_known.swap(false, Ordering::Relaxed);
        }
        let is_heard = mute.had_known || self.has_known.load(Ordering::Relaxed);
        let may_be_its_own = is_silent && is_heard;
        !may_be_its_own && mute.tally.count()
    }
}

/// Only the first one of an interval writes.
fn raise(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

/// Whether an address is nobody's on the Internet, so that it is likely a proxy's: private use
/// (RFC 1918, RFC 4193), behind a provider's or a cloud's translation (RFC 6598), link-local, or
/// this machine.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || is_shared(v4)
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

/// 100.64.0.0/10 (RFC 6598).
const fn is_shared(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    a == 100 && b & 0b1100_0000 == 64
}

#[cfg(test)]
mod tests {
    use Forwarding::{Direct, Known, Silent, Untrusted, Unusable};

    use super::*;

    const START: Timestamp = Timestamp::from_ms(1_000_000);

    /// The advice that comes of requests from these peers in turn.
    fn advice(watch: &ProxyWatch, now: Timestamp, peers: &[(&str, Forwarding)]) -> Vec<Advice> {
        (0..100)
            .flat_map(|_| peers)
            .filter_map(|&(peer, forwarding)| {
                watch.observe(now, peer.parse().unwrap(), forwarding, false)
            })
            .collect()
    }

    /// The same advice in each interval, and once.
    fn check(peers: &[(&str, Forwarding)], expected: &[Advice]) {
        let watch = ProxyWatch::default();
        assert_eq!(advice(&watch, START, peers), expected, "{peers:?}");
        let same = START.plus_ms(INTERVAL_MS - 1);
        assert_eq!(advice(&watch, same, peers), [], "{peers:?}");
        let next = START.plus_ms(INTERVAL_MS);
        assert_eq!(advice(&watch, next, peers), expected, "{peers:?}");
        // The clock was set back.
        assert_eq!(advice(&watch, START, peers), expected, "{peers:?}");
    }

    #[test]
    fn one_private_peer_with_untrusted_headers_should_be_trusted() {
        for peer in [
            "10.0.0.1",
            "::ffff:127.0.0.1",
            "192.168.3.4",
            "169.254.1.1",
            "100.64.0.0",
            "100.127.255.255",
            "::ffff:100.100.0.1",
            "::1",
            "fc00::1",
            "fd00::1",
            "fe80::1",
            "febf::1",
        ] {
            check(&[(peer, Untrusted)], &[Advice::Trust]);
            check(&[(peer, Direct)], &[]);
        }
        let probed = [("172.16.0.1", Untrusted), ("172.16.0.9", Direct)];
        check(&probed, &[Advice::Trust]);
    }

    #[test]
    fn strangers_and_crowds_are_no_proxy() {
        for peer in [
            "192.0.2.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "2001:db8::1",
            "fbff::1",
            "fec0::1",
        ] {
            check(&[(peer, Untrusted)], &[]);
        }
        check(&[("10.0.0.1", Untrusted), ("10.0.0.2", Untrusted)], &[]);
        check(&[("10.0.0.1", Untrusted), ("192.0.2.1", Direct)], &[]);
    }

    #[test]
    fn a_trusted_proxy_that_does_not_say_whom_it_asks_for_should_be_configured() {
        for peer in ["10.0.0.1", "192.0.2.1", "2001:db8::1"] {
            check(&[(peer, Unusable)], &[Advice::Configure]);
            check(&[(peer, Silent)], &[Advice::Configure]);
            check(&[(peer, Known)], &[]);
        }
        // Several proxies, several faults: one line.
        let both = [("10.0.0.1", Unusable), ("10.0.0.2", Silent)];
        check(&both, &[Advice::Configure]);
        // Headers that cannot be used are wrong however many can.
        let mixed = [("10.0.0.1", Known), ("10.0.0.2", Unusable)];
        check(&mixed, &[Advice::Configure]);
        // A proxy that is heard may have something to ask for itself.
        let heard = [("10.0.0.1", Known), ("10.0.0.1", Silent)];
        let watch = ProxyWatch::default();
        assert_eq!(watch.observe(START, address(), Silent, false), None);
        assert_eq!(advice(&watch, START, &heard), []);
        // One proxy too few is trusted, and the trusted one is mute.
        let two = [("10.0.0.1", Untrusted), ("10.0.0.2", Unusable)];
        check(&two, &[Advice::Trust, Advice::Configure]);
    }

    #[test]
    fn a_proxy_that_was_heard_before_may_have_something_to_ask_for_itself() {
        let watch = ProxyWatch::default();
        let silent = [("10.0.0.1", Silent)];
        assert_eq!(watch.observe(START, address(), Known, false), None);
        for interval in 0..3 {
            let now = START.plus_ms(interval * INTERVAL_MS);
            // Its own requests come first.
            assert_eq!(advice(&watch, now, &silent), []);
            assert_eq!(watch.observe(now, address(), Known, false), None);
        }
        let quiet = START.plus_ms(3 * INTERVAL_MS);
        assert_eq!(advice(&watch, quiet, &silent), []);
        // By the one after it should have been heard again.
        let late = START.plus_ms(4 * INTERVAL_MS);
        assert_eq!(advice(&watch, late, &silent), [Advice::Configure]);
    }

    #[test]
    fn a_probe_may_be_silent() {
        let watch = ProxyWatch::default();
        for _ in 0..100 {
            assert_eq!(watch.observe(START, address(), Silent, true), None);
        }
    }

    #[test]
    fn a_few_requests_are_no_proxy() {
        for (forwarding, expected) in [
            (Untrusted, Advice::Trust),
            (Unusable, Advice::Configure),
            (Silent, Advice::Configure),
        ] {
            let watch = ProxyWatch::default();
            for _ in 1..REQUESTS_MIN {
                assert_eq!(watch.observe(START, address(), forwarding, false), None);
            }
            let last = watch.observe(START, address(), forwarding, false);
            assert_eq!(last, Some(expected));
        }
    }

    #[test]
    fn advice_names_the_flag_only_to_whom_it_helps() {
        assert!(Advice::Trust.text().contains("--trusted-proxy"));
        assert!(!Advice::Configure.text().contains("--trusted-proxy"));
        assert!(Advice::Configure.text().contains("send X-Forwarded-For"));
    }

    fn address() -> IpAddr {
        "127.0.0.1".parse().unwrap()
    }
}
