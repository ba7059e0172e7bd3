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
    in_flight: Mutex<HashSet<DeliveryId>>,
    /// What became of some and is not kept yet: a disk that fails must not have them sent again and again.
    unsettled: Mutex<Settled>,
    /// The channels that are held.
    held: Mutex<HashSet<Channel>>,
    /// The data directory.
    directory: PathBuf,
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

    /// The file that says that a channel is held.
    pub(super) fn held_file(&self, channel: Channel) -> PathBuf {
        held(&self.directory, channel)
    }

    /// That file was made or removed.
    pub(super) fn set_held(&self, channel: Channel, is_held: bool) {
        let mut held = self.held.lock();
        match is_held {
            true => held.insert(channel),
            false => held.remove(&channel),
        };
    }

    /// How many of these somebody tries at the moment.
    pub(super) fn count_in_flight(&self, ids: impl Iterator<Item = DeliveryId>) -> u64 {
        let in_flight = self.in_flight.lock();
        ids.filter(|id| in_flight.contains(id)).count() as u64
    }

    /// What is to be kept before more is taken; it is handed out once.
    pub(super) fn take_unsettled(&self) -> Settled {
        std::mem::take(&mut *self.unsettled.lock())
    }

    /// These could not be kept.
    pub(super) fn add_unsettled(&self, settled: Settled) {
        let mut unsettled = self.unsettled.lock();
        unsettled.made.extend(settled.made);
        unsettled.failed.extend(settled.failed);
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
