//! Slots for connections: a total number, and a share of it per network.
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

use crate::http::log_throttle::LogThrottle;
use crate::http::server::activity::Activity;
use crate::http::server::limits::ServerLimits;
use crate::http::server::shares::{Shares, eighth};
use crate::http::state::ServerState;

/// Wait for a free slot before looking for another idle connection.
const EVICTION_INTERVAL: Duration = Duration::from_secs(1);

/// The slots in use, shared by all listeners.
#[derive(Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    all: usize,
    per_network: usize,
    /// The connections of each network, except those of trusted proxies.
    by_network: Mutex<HashMap<Network, Vec<Arc<Activity>>>>,
    /// The HTTP/2 connections.
    pub(crate) http2: Arc<Shares>,
    /// Connections that were refused.
    refused: LogThrottle,
    /// Connections for which no slot was free.
    delayed: LogThrottle,
}

impl Places {
    pub(crate) fn new(limits: ServerLimits) -> Self {
        let all = limits.connections_max;
        Self {
            free: Arc::new(Semaphore::new(all)),
            all,
            per_network: limits
                .connections_per_network
                .unwrap_or_else(|| eighth(all)),
            by_network: Mutex::default(),
            http2: Shares::new(limits.http2_connections_max),
            refused: LogThrottle::one_a_minute(),
            delayed: LogThrottle::one_a_minute(),
        }
    }

    /// Gives a slot to a connection from `peer`, unless its network has used up its share. If all are taken,
    /// another connection is closed for it. A trusted proxy has no share and none of its connections is
    /// closed, because they serve many clients.
    pub(crate) async fn assign(
        self: &Arc<Self>,
        state: &ServerState,
        peer: IpAddr,
    ) -> Option<Slot> {
        let is_proxy = state.proxies.contains(peer.to_canonical());
        let network = (!is_proxy).then(|| Network::from(peer));
        if network.is_some_and(|network| self.held_by(network) >= self.per_network) {
            self.warn(
                &state.app,
                &self.refused,
                "a network has used up its share of the connections, and further ones are refused: if it \
                 is your proxy, list it in --trusted-proxy; if its clients need more, raise \
                 --max-connections",
            );
            return None;
        }
        let slot = Slot {
            places: Arc::clone(self),
            network,
            activity: Activity::new(is_proxy),
            _permit: self.free(&state.app).await?,
        };
        if let Some(network) = network {
            self.enter(network, &slot.activity);
        }
        Some(slot)
    }

    /// Waits for a free slot. Never returns `None`, because the semaphore is never closed.
    async fn free(&self, app: &App) -> Option<OwnedSemaphorePermit> {
        if let Ok(free) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(free);
        }
        self.warn(
            app,
            &self.delayed,
            "all connections are in use, and each new one closes an idle one of the network that has the \
             most: `ss -tn` shows them; block that network in the firewall, or raise --max-connections",
        );
        loop {
            self.evict();
            let free = Arc::clone(&self.free).acquire_owned();
            if let Ok(free) = timeout(EVICTION_INTERVAL, free).await {
                return free.ok();
            }
        }
    }

    /// Counts a connection. If a line is due, logs `message` with the number of connections since the last one.
    fn warn(&self, app: &App, throttle: &LogThrottle, message: &'static str) {
        let Some(suppressed) = throttle.admit() else {
            return;
        };
        let busiest = self.busiest();
        let now = app.clock.now();
        let name = |network: Network| {
            let hash = network.hashed(&app.secrets.limiter);
            Pseudonym::new(&app.secrets, hash, now).to_string()
        };
        let network = busiest.map(|(network, _)| name(network));
        tracing::warn!(
            count = suppressed + 1,
            connections = self.taken(),
            busiest.network = network,
            busiest.connections = busiest.map(|(_, connections)| connections),
            "{message}"
        );
    }

    fn taken(&self) -> usize {
        self.all.saturating_sub(self.free.available_permits())
    }

    fn held_by(&self, network: Network) -> usize {
        self.by_network.lock().get(&network).map_or(0, Vec::len)
    }

    fn enter(&self, network: Network, activity: &Arc<Activity>) {
        let mut by_network = self.by_network.lock();
        let its = by_network.entry(network).or_default();
        its.push(Arc::clone(activity));
    }

    fn leave(&self, network: Network, activity: &Arc<Activity>) {
        let mut by_network = self.by_network.lock();
        let Some(its) = by_network.get_mut(&network) else {
            return;
        };
        if let Some(index) = its.iter().position(|other| Arc::ptr_eq(other, activity)) {
            its.swap_remove(index);
        }
        if its.is_empty() {
            by_network.remove(&network);
        }
    }

    /// The network with the most connections, and their number. Looks at all networks.
    fn busiest(&self) -> Option<(Network, usize)> {
        let by_network = self.by_network.lock();
        let busiest = by_network.iter().max_by_key(|(_, its)| its.len());
        busiest.map(|(network, its)| (*network, its.len()))
    }

    /// Closes the longest idle connection of the network with the most, if one of them is idle.
    fn evict(&self) {
        let by_network = self.by_network.lock();
        let Some(its) = by_network.values().max_by_key(|its| its.len()) else {
            return;
        };
        let idle = its.iter().filter_map(|one| Some((one.idle_since()?, one)));
        if let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) {
            longest.evict();
        }
    }
}

/// A connection's slot, released on drop.
pub(crate) struct Slot {
    places: Arc<Places>,
    /// `None` for a trusted proxy.
    pub(crate) network: Option<Network>,
    pub(crate) activity: Arc<Activity>,
    // Released after `drop`, so that its next owner finds this connection gone.
    _permit: OwnedSemaphorePermit,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(network) = self.network {
            self.places.leave(network, &self.activity);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::task::{JoinHandle, yield_now};
    use tokio::time::advance;

    use super::*;

    fn network(host: u8) -> Network {
        Network::V4([192, 0, 2, host])
    }

    /// Connections of `network`, one a second, and their tasks.
    async fn open(
        places: &Places,
        network: Network,
        count: usize,
    ) -> Vec<(Arc<Activity>, JoinHandle<()>)> {
        let mut opened = Vec::new();
        for _ in 0..count {
            advance(Duration::from_secs(1)).await;
            let (activity, task) = (Activity::new(false), tokio::spawn(pending()));
            activity.belongs_to(task.abort_handle());
            places.enter(network, &activity);
            opened.push((activity, task));
        }
        opened
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_of_the_largest_network_is_closed() {
        let places = Places::new(ServerLimits::default());
        places.evict();
        let other = open(&places, network(2), 1).await;
        let its = open(&places, network(1), 4).await;
        let answering = its[0].0.begin();
        advance(Duration::from_secs(1)).await;
        drop(its[1].0.begin());
        let mut closed = Vec::new();
        for longest in [2, 3, 1] {
            closed.push(longest);
            // Until it is gone, it may be closed again.
            for _ in 0..2 {
                places.evict();
                yield_now().await;
                for (number, (_, task)) in its.iter().enumerate() {
                    assert_eq!(task.is_finished(), closed.contains(&number), "{number}");
                }
            }
            places.leave(network(1), &its[longest].0);
        }
        assert!(!other[0].1.is_finished());
        places.leave(network(2), &other[0].0);
        places.evict();
        yield_now().await;
        assert!(!its[0].1.is_finished(), "its answer is due");
        drop(answering);
        places.leave(network(1), &its[0].0);
        assert_eq!(places.busiest(), None);
    }
}
