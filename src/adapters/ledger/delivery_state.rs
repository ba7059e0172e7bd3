//! The state of deliveries outside the ledger: those in flight, and held channels.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::adapters::files::data_dir::held;
use crate::domain::{Channel, DeliveryId, Settled, Timestamp, Turn};

use super::generation::Generation;

/// Shared by the deliveries' workers and the operator. Only this process takes deliveries.
#[derive(Debug)]
pub(super) struct DeliveryState {
    /// Deliveries that are being attempted.
    in_flight: Mutex<HashMap<DeliveryId, Channel>>,
    /// Outcomes that are not stored yet: a failing disk must not cause repeated deliveries.
    unsettled: Mutex<Option<Settled>>,
    /// Channels held by the operator.
    held: Mutex<HashSet<Channel>>,
    directory: PathBuf,
}

impl DeliveryState {
    /// The state recorded in the data directory at `path`.
    pub(super) fn open(path: &Path) -> Self {
        let channels = Channel::ALL.into_iter();
        Self {
            in_flight: Mutex::default(),
            unsettled: Mutex::default(),
            held: Mutex::new(channels.filter(|each| held(path, *each).exists()).collect()),
            directory: path.to_path_buf(),
        }
    }

    pub(super) fn is_held(&self, channel: Channel) -> bool {
        self.held.lock().contains(&channel)
    }

    /// The file that holds a channel.
    pub(super) fn held_file(&self, channel: Channel) -> PathBuf {
        held(&self.directory, channel)
    }

    /// Records that this file was created or removed.
    pub(super) fn set_held(&self, channel: Channel, is_held: bool) {
        let mut held = self.held.lock();
        match is_held {
            true => held.insert(channel),
            false => held.remove(&channel),
        };
    }

    /// Number of these deliveries that are being attempted.
    pub(super) fn count_in_flight(&self, ids: impl Iterator<Item = DeliveryId>) -> u64 {
        let in_flight = self.in_flight.lock();
        ids.filter(|id| in_flight.contains_key(id)).count() as u64
    }

    /// Outcomes that must be stored before more is taken; returned only once.
    pub(super) fn take_unsettled(&self) -> Option<Settled> {
        self.unsettled.lock().take()
    }

    /// Adds outcomes that could not be stored.
    pub(super) fn add_unsettled(&self, settled: Settled) {
        let mut unsettled = self.unsettled.lock();
        let unsettled = unsettled.get_or_insert_default();
        unsettled.made.extend(settled.made);
        unsettled.failed.extend(settled.failed);
        unsettled.mails.extend(settled.mails);
    }

    /// Takes up to `count` due deliveries that nobody has taken.
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

    /// Releases deliveries.
    pub(super) fn end(&self, taken: &[DeliveryId]) {
        let mut in_flight = self.in_flight.lock();
        for id in taken {
            in_flight.remove(id);
        }
    }

    /// Releases all deliveries of a channel. Unsettled outcomes are stored before others are taken.
    pub(super) fn release(&self, channel: Channel) {
        self.in_flight.lock().retain(|_, taken| *taken != channel);
    }
}
