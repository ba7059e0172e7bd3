//! What of deliveries is known beside the ledger: which are being tried, and which channels are held.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::adapters::files::data_dir::held;
use crate::domain::{Channel, DeliveryId, Settled, Timestamp, Turn};

use super::generation::Generation;

/// What the deliveries' workers and the operator need to know of each other. This process alone takes any.
#[derive(Debug)]
pub(super) struct DeliveryState {
    /// Those that somebody tries at the moment.
    in_flight: Mutex<HashMap<DeliveryId, Channel>>,
    /// What became of some and is not kept yet: a disk that fails must not have them sent again and again.
    unsettled: Mutex<Option<Settled>>,
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
        ids.filter(|id| in_flight.contains_key(id)).count() as u64
    }

    /// What is to be kept before more is taken; it is handed out once.
    pub(super) fn take_unsettled(&self) -> Option<Settled> {
        self.unsettled.lock().take()
    }

    /// These could not be kept.
    pub(super) fn add_unsettled(&self, settled: Settled) {
        let mut unsettled = self.unsettled.lock();
        let unsettled = unsettled.get_or_insert_default();
        unsettled.made.extend(settled.made);
        unsettled.failed.extend(settled.failed);
        unsettled.mails.extend(settled.mails);
    }

    /// Takes up to `count` that are due and that nobody has taken.
    pub(super) fn take(
        &self,
        generation: &Generation,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Vec<DeliveryId> {
        let index = generation.table().deliveries();
        let mut in_flight = self.in_flight.lock();
        let is_free = |id: &DeliveryId| !in_flight.contains_key(id);
        let due = index.due(channel, count, turn, now, is_free);
        in_flight.extend(due.iter().map(|id| (*id, channel)));
        due
    }

    /// They are nobody's any more.
    pub(super) fn end(&self, taken: &[DeliveryId]) {
        let mut in_flight = self.in_flight.lock();
        for id in taken {
            in_flight.remove(id);
        }
    }

    /// Nobody tries any of the channel any more. Results that are not stored yet are, before others are taken.
    pub(super) fn release(&self, channel: Channel) {
        self.in_flight.lock().retain(|_, taken| *taken != channel);
    }
}
