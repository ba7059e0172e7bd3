//! Slots for connections: a total number, of which a network may have an eighth.
//!
//! When all are taken, the longest idle connection of the heaviest network is closed for the next one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::app::App;
use crate::domain::{Network, Pseudonym};

use crate::http::context::ServerState;
use crate::http::log_throttle::LogThrottle;
use crate::http::server::shares::eighth;
use crate::http::server::socket::Activity;

/// Wait for a free slot before looking for another idle connection.
const EVICTION_INTERVAL: Duration = Duration::from_secs(1);

const SHARE_HELD: &str = "a network has used up its share of the connections, and further ones are refused: \
    if it is your proxy, list it in --trusted-proxy; if its clients need more, raise --max-connections";

const ALL_TAKEN: &str = "all connections are in use, and each new one closes an idle one of the network that \
    has the most: `ss -tn` shows them; block that network in the firewall, or raise --max-connections";

type ByNetwork = HashMap<Network, Vec<Arc<Activity>>>;

/// The slots of all listeners.
#[derive(Debug)]
pub(super) struct Slots {
    all: usize,
    free: Arc<Semaphore>,
    /// The connections of each network, except those of trusted proxies.
    taken: Mutex<ByNetwork>,
    /// Connections that were refused.
    refused: LogThrottle,
    /// Connections for which no slot was free.
    delayed: LogThrottle,
}

impl Slots {
    pub(super) fn new(all: usize) -> Self {
        Self {
            all,
            free: Arc::new(Semaphore::new(all)),
            taken: Mutex::default(),
            refused: LogThrottle::one_a_minute(),
            delayed: LogThrottle::one_a_minute(),
        }
    }

    /// A slot for a connection from `peer`, unless its network has used up its share. If all are taken,
    /// another connection is closed for it. A trusted proxy has no share and none of its connections is
    /// closed, because they serve many clients.
    pub(super) async fn take(self: &Arc<Self>, state: &ServerState, peer: IpAddr) -> Option<Slot> {
        let is_proxy = state.proxies.contains(peer.to_canonical());
        let network = Network::from(peer);
        let held = self.taken.lock().get(&network).map_or(0, Vec::len);
        if !is_proxy && held >= eighth(self.all) {
            self.warn(&state.app, &self.refused, SHARE_HELD);
            return None;
        }
        let free = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(free) => free,
            Err(_none) => {
                self.warn(&state.app, &self.delayed, ALL_TAKEN);
                self.make_room().await?
            }
        };
        let activity = Activity::new(is_proxy);
        if !is_proxy {
            let mut taken = self.taken.lock();
            let its = taken.entry(network).or_default();
            its.push(Arc::clone(&activity));
        }
        Some(Slot {
            network,
            is_proxy,
            activity,
            slots: Arc::clone(self),
            _permit: free,
        })
    }

    /// Closes connections until a slot is free. Never returns `None`, because the semaphore is never closed.
    async fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            self.evict();
            let free = Arc::clone(&self.free).acquire_owned();
            if let Ok(free) = timeout(EVICTION_INTERVAL, free).await {
                return free.ok();
            }
        }
    }

    /// Closes the longest idle connection of the network with the most, if one of them is idle.
    fn evict(&self) {
        let taken = self.taken.lock();
        let heaviest = heaviest(&taken).into_iter().flat_map(|(_, its)| its);
        let idle = heaviest.filter_map(|one| Some((one.idle_since()?, one)));
        if let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) {
            longest.evict();
        }
    }

    /// Counts a connection. If a line is due, logs `message` with the number of connections since the last one.
    fn warn(&self, app: &App, throttle: &LogThrottle, message: &'static str) {
        let Some(suppressed) = throttle.admit() else {
            return;
        };
        let busiest = heaviest(&self.taken.lock()).map(|(network, its)| (*network, its.len()));
        let now = app.clock.now();
        let name = |network: Network| {
            let hash = network.hashed(&app.secrets.limiter);
            Pseudonym::new(&app.secrets, hash, now).to_string()
        };
        tracing::warn!(
            count = suppressed + 1,
            connections = self.all.saturating_sub(self.free.available_permits()),
            busiest.network = busiest.map(|(network, _)| name(network)),
            busiest.connections = busiest.map(|(_, connections)| connections),
            "{message}"
        );
    }
}

/// The network with the most connections. Looks at all networks.
fn heaviest(taken: &ByNetwork) -> Option<(&Network, &Vec<Arc<Activity>>)> {
    taken.iter().max_by_key(|(_, its)| its.len())
}

/// A connection's slot, released on drop.
pub(super) struct Slot {
    pub(super) network: Network,
    pub(super) is_proxy: bool,
    pub(super) activity: Arc<Activity>,
    slots: Arc<Slots>,
    // Released after `drop`, so that its next owner finds this connection gone.
    _permit: OwnedSemaphorePermit,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        if let Some(its) = taken.get_mut(&self.network) {
            its.retain(|one| !Arc::ptr_eq(one, &self.activity));
            if its.is_empty() {
                taken.remove(&self.network);
            }
        }
    }
}
