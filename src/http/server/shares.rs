//! Counting semaphores with a maximum share per network: for connections, for bytes of request bodies, for
//! model turns.
//!
//! A network is an IPv4 address or an IPv6 /56. Nothing waits for permits: a holder that waited for more
//! could deadlock.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::domain::Network;

/// A semaphore with a bound per network.
#[derive(Debug)]
pub(crate) struct Shares {
    permits: usize,
    per_network: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    permits: usize,
    /// Networks without permits are absent.
    by_network: HashMap<Network, usize>,
}

// Why a request for permits fails.
const NONE_LEFT: &str = "no permits are free";
const WHOLE_SHARE_HELD: &str = "the network holds its whole share";

impl Shares {
    /// A semaphore with `permits`, of which one network may hold an eighth, but at least one.
    pub(crate) fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            permits,
            per_network: eighth(permits),
            held: Mutex::default(),
        })
    }

    /// An empty share of `network`.
    pub(crate) fn of(self: &Arc<Self>, network: Network) -> Share {
        Share {
            shares: Arc::clone(self),
            network,
            permits: 0,
        }
    }

    /// Takes one permit for `network`.
    ///
    /// # Errors
    /// When none is free.
    pub(crate) fn take(self: &Arc<Self>, network: Network) -> Result<Share, &'static str> {
        let mut share = self.of(network);
        share.grow_to(1)?;
        Ok(share)
    }

    /// Number of permits held.
    pub(crate) fn held(&self) -> usize {
        self.held.lock().permits
    }
}

/// An eighth of `permits`, but at least one.
pub(crate) fn eighth(permits: usize) -> usize {
    (permits / 8).max(1)
}

/// The permits of one holder, released on drop.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    network: Network,
    permits: usize,
}

impl Share {
    /// Takes permits up to a total of `permits`. Never releases any.
    ///
    /// # Errors
    /// When not enough are free. The share is then unchanged.
    pub(crate) fn grow_to(&mut self, permits: usize) -> Result<(), &'static str> {
        let more = permits.saturating_sub(self.permits);
        if more == 0 {
            return Ok(());
        }
        let held = &mut *self.shares.held.lock();
        let entry = held.by_network.entry(self.network);
        let of_network = match &entry {
            Entry::Occupied(of_network) => of_network.get().saturating_add(more),
            Entry::Vacant(_) => more,
        };
        let of_all = held.permits.saturating_add(more);
        if of_network > self.shares.per_network {
            return Err(WHOLE_SHARE_HELD);
        }
        if of_all > self.shares.permits {
            return Err(NONE_LEFT);
        }
        held.permits = of_all;
        entry.insert_entry(of_network);
        self.permits += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.permits == 0 {
            return;
        }
        let mut held = self.shares.held.lock();
        held.permits -= self.permits;
        if let Entry::Occupied(mut of_network) = held.by_network.entry(self.network) {
            *of_network.get_mut() -= self.permits;
            if *of_network.get() == 0 {
                of_network.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn network(host: u8) -> Network {
        Network::V4([192, 0, 2, host])
    }

    #[test]
    fn one_network_holds_an_eighth_and_no_more() {
        let shares = Shares::new(800);
        let (mut one, mut two) = (shares.of(network(1)), shares.of(network(1)));
        assert_eq!(one.grow_to(60), Ok(()));
        assert_eq!(two.grow_to(41), Err(WHOLE_SHARE_HELD));
        assert_eq!(two.grow_to(40), Ok(()));
        assert_eq!(one.grow_to(61), Err(WHOLE_SHARE_HELD));
        assert_eq!(one.grow_to(60), Ok(()), "these are its own already");
        assert_eq!(shares.held(), 100);
        let mut neighbour = shares.of(network(2));
        assert_eq!(neighbour.grow_to(100), Ok(()));
        drop(one);
        assert_eq!(two.grow_to(100), Ok(()));
        assert_eq!(two.grow_to(usize::MAX), Err(WHOLE_SHARE_HELD));
    }

    #[test]
    fn all_together_hold_no_more_than_there_are() {
        let shares = Shares::new(800);
        let mut held: Vec<_> = (0..8).map(|host| shares.of(network(host))).collect();
        for share in &mut held {
            assert_eq!(share.grow_to(99), Ok(()));
        }
        let mut late = shares.of(network(9));
        assert_eq!(late.grow_to(9), Err(NONE_LEFT));
        assert_eq!(late.grow_to(8), Ok(()));
        held.pop();
        assert_eq!(late.grow_to(100), Ok(()));
    }

    #[test]
    fn a_network_is_an_ipv4_address_or_a_56_and_may_always_hold_one_permit() {
        let shares = Shares::new(4);
        let of = |address: &str| Network::from(address.parse::<std::net::IpAddr>().unwrap());
        let home = shares.take(of("2001:db8:0:ff00::1"));
        assert!(home.is_ok());
        let its_other_64 = shares.take(of("2001:db8:0:ffff::1"));
        assert_eq!(its_other_64.unwrap_err(), WHOLE_SHARE_HELD);
        assert!(shares.take(of("2001:db8:0:fe00::1")).is_ok());
        let address = shares.take(of("192.0.2.1"));
        assert!(address.is_ok());
        assert!(shares.take(of("::ffff:192.0.2.1")).is_err());
        assert!(shares.take(of("192.0.2.2")).is_ok());
    }

    proptest! {
        /// However shares grow and go, the sums hold, and nothing is left at the end.
        #[test]
        fn no_network_ever_holds_more_than_its_share(
            steps in prop::collection::vec((0_u8..6, 0_usize..12, 0_usize..30), 1..200),
        ) {
            const PERMITS: usize = 80;
            let shares = Shares::new(PERMITS);
            let mut held: [Vec<Share>; 6] = Default::default();
            for (host, index, permits) in steps {
                let of_host = &mut held[usize::from(host)];
                match of_host.get_mut(index) {
                    Some(_) if permits == 0 => drop(of_host.remove(index)),
                    Some(share) => drop(share.grow_to(permits)),
                    None => of_host.push(shares.of(network(host))),
                }
                let sums = held.iter().map(|shares| shares.iter().map(|share| share.permits).sum());
                let sums: Vec<usize> = sums.collect();
                prop_assert!(sums.iter().all(|&sum| sum <= PERMITS / 8), "{sums:?}");
                prop_assert_eq!(shares.held(), sums.iter().sum::<usize>());
                let networks = sums.iter().filter(|&&sum| sum > 0).count();
                prop_assert_eq!(shares.held.lock().by_network.len(), networks);
            }
            drop(held);
            prop_assert_eq!(shares.held(), 0);
            prop_assert!(shares.held.lock().by_network.is_empty());
        }
    }
}
