//! How much memory request bodies may take while they are read, in all and per network.
//!
//! Memory is charged for what has arrived, never for what is announced. A body over budget fails at
//! once: bodies that waited for each other's memory could deadlock.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::client::Network;

/// A number of bytes, of which one network may use an eighth.
#[derive(Debug)]
pub(super) struct BodyBudget {
    bytes_max: usize,
    in_use: Mutex<InUse>,
}

#[derive(Debug, Default)]
struct InUse {
    bytes: usize,
    /// Without networks that use none.
    by_network: HashMap<Network, usize>,
}

/// There is no memory for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OverBudget {
    #[error("no memory for the body")]
    ForAnybody,
    #[error("the bodies of one network use its whole share")]
    ForNetwork,
}

impl BodyBudget {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            in_use: Mutex::default(),
        }
    }

    /// The share of a body from `network`, which is empty yet.
    pub(super) fn share(&self, network: Network) -> BudgetShare<'_> {
        BudgetShare {
            budget: self,
            network,
            bytes: 0,
        }
    }

    /// A poisoned lock is fine: no panic can come between two changes.
    fn in_use(&self) -> MutexGuard<'_, InUse> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of one body, until it is dropped.
#[derive(Debug)]
pub(super) struct BudgetShare<'a> {
    budget: &'a BodyBudget,
    network: Network,
    bytes: usize,
}

impl BudgetShare<'_> {
    /// Grows to `bytes`, which must not be less than before.
    ///
    /// # Errors
    /// [`OverBudget`] when there is not that much left; the share stays as it was.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let more = bytes.saturating_sub(self.bytes);
        let budget = self.budget;
        let mut in_use = budget.in_use();
        let of_network = in_use.by_network.get(&self.network).copied().unwrap_or(0);
        if of_network + more > budget.bytes_max / 8 {
            return Err(OverBudget::ForNetwork);
        }
        if in_use.bytes + more > budget.bytes_max {
            return Err(OverBudget::ForAnybody);
        }
        if more > 0 {
            in_use.bytes += more;
            in_use.by_network.insert(self.network, of_network + more);
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for BudgetShare<'_> {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut in_use = self.budget.in_use();
        in_use.bytes -= self.bytes;
        if let Entry::Occupied(mut of_network) = in_use.by_network.entry(self.network) {
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
        let budget = BodyBudget::new(800);
        let (mut one, mut two) = (budget.share(network(1)), budget.share(network(1)));
        assert_eq!(one.grow_to(60), Ok(()));
        assert_eq!(two.grow_to(41), Err(OverBudget::ForNetwork));
        assert_eq!(two.grow_to(40), Ok(()));
        assert_eq!(one.grow_to(61), Err(OverBudget::ForNetwork));
        assert_eq!(one.grow_to(60), Ok(()), "these are its own already");
        let mut neighbour = budget.share(network(2));
        assert_eq!(neighbour.grow_to(100), Ok(()));
        drop(one);
        assert_eq!(two.grow_to(100), Ok(()));
    }

    #[test]
    fn all_together_hold_no_more_than_there_is() {
        let budget = BodyBudget::new(800);
        let mut shares: Vec<_> = (0..8).map(|host| budget.share(network(host))).collect();
        for share in &mut shares {
            assert_eq!(share.grow_to(99), Ok(()));
        }
        let mut late = budget.share(network(9));
        assert_eq!(late.grow_to(9), Err(OverBudget::ForAnybody));
        assert_eq!(late.grow_to(8), Ok(()));
        shares.pop();
        assert_eq!(late.grow_to(100), Ok(()));
    }

    #[test]
    fn nothing_is_left_of_what_is_given_back() {
        let budget = BodyBudget::new(800);
        for host in 0..8 {
            let (mut one, mut two) = (budget.share(network(host)), budget.share(network(host)));
            let _empty = budget.share(network(host));
            assert_eq!(one.grow_to(0), Ok(()));
            for bytes in [1, 30, 50] {
                assert_eq!(one.grow_to(bytes), Ok(()));
                assert_eq!(two.grow_to(bytes), Ok(()));
            }
            assert_eq!(one.grow_to(usize::MAX / 2), Err(OverBudget::ForNetwork));
        }
        let in_use = budget.in_use();
        assert_eq!(in_use.bytes, 0);
        assert!(in_use.by_network.is_empty());
    }
}
