//! How much memory the bodies that are being read may take, all together and those of one network.
//!
//! Room is taken for what has arrived, never for what is announced, and nobody waits for it: were
//! bodies that hold some to wait for more, none might ever be whole.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::client::Network;

/// A room with so many bytes, of which one network may hold an eighth.
#[derive(Debug)]
pub(super) struct Room {
    bytes_max: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Only networks that hold any.
    by_network: HashMap<Network, usize>,
}

/// There is no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRoom {
    #[error("no room for the body")]
    ForAnybody,
    #[error("one network's bodies take all the room that it may have")]
    ForNetwork,
}

impl Room {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            held: Mutex::default(),
        }
    }

    /// What a body from `network` will hold: nothing yet.
    pub(super) fn share(&self, network: Network) -> Share<'_> {
        Share {
            room: self,
            network,
            bytes: 0,
        }
    }

    /// The counts are whole after a panic elsewhere: nothing between two changes can fail.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one body holds, until it is dropped.
#[derive(Debug)]
pub(super) struct Share<'a> {
    room: &'a Room,
    network: Network,
    bytes: usize,
}

impl Share<'_> {
    /// Holds `bytes` in all, which must not be less than before.
    ///
    /// # Errors
    /// [`NoRoom`] when there is not so much; what was held is held still.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let more = bytes.saturating_sub(self.bytes);
        let room = self.room;
        let mut held = room.held();
        let of_network = held.by_network.get(&self.network).copied().unwrap_or(0);
        if of_network + more > room.bytes_max / 8 {
            return Err(NoRoom::ForNetwork);
        }
        if held.bytes + more > room.bytes_max {
            return Err(NoRoom::ForAnybody);
        }
        if more > 0 {
            held.bytes += more;
            held.by_network.insert(self.network, of_network + more);
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.room.held();
        held.bytes -= self.bytes;
        if let Entry::Occupied(mut of_network) = held.by_network.entry(self.network) {
            *of_network.get_mut() -= self.bytes;
            if *of_network.get() == 0 {
                of_network.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(host: u8) -> Network {
        Network::V4([192, 0, 2, host])
    }

    #[test]
    fn one_network_holds_an_eighth_and_no_more() {
        let room = Room::new(800);
        let (mut one, mut two) = (room.share(network(1)), room.share(network(1)));
        assert_eq!(one.grow_to(60), Ok(()));
        assert_eq!(two.grow_to(41), Err(NoRoom::ForNetwork));
        assert_eq!(two.grow_to(40), Ok(()));
        assert_eq!(one.grow_to(61), Err(NoRoom::ForNetwork));
        assert_eq!(one.grow_to(60), Ok(()), "it is held already");
        let mut neighbour = room.share(network(2));
        assert_eq!(neighbour.grow_to(100), Ok(()));
        drop(one);
        assert_eq!(two.grow_to(100), Ok(()));
    }

    #[test]
    fn all_together_hold_no_more_than_there_is() {
        let room = Room::new(800);
        let mut shares: Vec<_> = (0..8).map(|host| room.share(network(host))).collect();
        for share in &mut shares {
            assert_eq!(share.grow_to(99), Ok(()));
        }
        let mut late = room.share(network(9));
        assert_eq!(late.grow_to(9), Err(NoRoom::ForAnybody));
        assert_eq!(late.grow_to(8), Ok(()));
        shares.pop();
        assert_eq!(late.grow_to(100), Ok(()));
    }

    #[test]
    fn nothing_is_left_of_what_is_given_back() {
        let room = Room::new(800);
        for host in 0..8 {
            let (mut one, mut two) = (room.share(network(host)), room.share(network(host)));
            let _empty = room.share(network(host));
            assert_eq!(one.grow_to(0), Ok(()));
            for bytes in [1, 30, 50] {
                assert_eq!(one.grow_to(bytes), Ok(()));
                assert_eq!(two.grow_to(bytes), Ok(()));
            }
            assert_eq!(one.grow_to(usize::MAX / 2), Err(NoRoom::ForNetwork));
        }
        let held = room.held();
        assert_eq!(held.bytes, 0);
        assert!(held.by_network.is_empty());
    }
}
