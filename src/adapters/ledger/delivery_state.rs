//! What of deliveries is known beside the ledger: which are being tried, and which channels are held.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::adapters::data_dir::held;
use crate::domain::{Channel, Delivery, DeliveryId, Timestamp};

use super::generation::Generation;

/// What became of deliveries that were taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    pub(super) made: Vec<DeliveryId>,
    pub(super) failed: Vec<Delivery>,
}

/// What the deliveries' workers and the operator need to know of each other. This process alone takes any.
#[derive(Debug)]
pub(super) struct DeliveryState {
    /// Those that somebody tries at the moment.
    pub(super) in_flight: Mutex<HashSet<DeliveryId>>,
    /// What became of some and is not kept yet: a disk that fails must not have them sent again and again.
    pub(super) unsettled: Mutex<Settled>,
    /// The channels that are held.
    pub(super) held: Mutex<HashSet<Channel>>,
    /// The data directory.
    pub(super) directory: PathBuf,
}

impl DeliveryState {
    /// As the data directory at `path` says.
    pub(super) fn open(path: &Path) -> Self {
        let channels = Channel::ALL.into_iter();
        Self {
            in_flight: Mutex::default(),
            unsettled: Mutex::default(),
            held: Mutex::new(channels.filter(|it| held(path, *it).exists()).collect()),
            directory: path.to_path_buf(),
        }
    }

    pub(super) fn is_held(&self, channel: Channel) -> bool {
        self.held.lock().contains(&channel)
    }

    /// Takes up to `count` that are due and that nobody has taken.
    pub(super) fn take(
        &self,
        generation: &Generation,
        channel: Channel,
        count: usize,
        now: Timestamp,
    ) -> Vec<DeliveryId> {
        let index = generation.table().deliveries();
        let mut in_flight = self.in_flight.lock();
        let due = index.due(channel, count, now, |id| !in_flight.contains(id));
        in_flight.extend(&due);
        due
    }

    /// They are nobody's any more.
    pub(super) fn end(&self, taken: Vec<DeliveryId>) {
        let mut in_flight = self.in_flight.lock();
        in_flight.retain(|id| !taken.contains(id));
    }
}
