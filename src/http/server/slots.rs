//! Slots for connections: a number of them in all, of which one network may hold a share.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::domain::{Network, Pseudonym};

use crate::http::server::shares::{Share, Shares, eighth};
use crate::http::service::LandingService;

/// The shortest time between two log lines about connections that wait or are refused.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The slots, for the accept loop.
pub(crate) struct Slots {
    service: Arc<LandingService>,
    gauge: Gauge,
    shares: Arc<Shares>,
    /// Connections refused since the last warning.
    refused: u64,
    warned_at: Option<Instant>,
}

/// The slot of a connection, released on drop.
pub(crate) struct Slot {
    // Released in this order: whoever gets the permit finds the share released.
    share: Option<Share>,
    _permit: OwnedSemaphorePermit,
    /// The connections of its network, including this one. `None` for a trusted proxy.
    pub(crate) of_network: Option<usize>,
}

impl Slots {
    /// `connections_max` slots, of which one network may hold `per_network`; by default an eighth.
    pub(crate) fn new(
        service: &Arc<LandingService>,
        connections_max: usize,
        per_network: Option<usize>,
    ) -> Self {
        let per_network = per_network.unwrap_or_else(|| eighth(connections_max));
        Self {
            service: Arc::clone(service),
            gauge: Gauge {
                free: Arc::new(Semaphore::new(connections_max)),
                connections_max,
            },
            shares: Shares::with_share(connections_max, per_network),
            refused: 0,
            warned_at: None,
        }
    }

    pub(crate) fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Waits for a free slot. Never returns `None`, because the semaphore is never closed.
    pub(crate) async fn free(&mut self) -> Option<OwnedSemaphorePermit> {
        if self.gauge.free.available_permits() == 0 {
            self.warn(
                "all connections are taken and further ones wait: `ss -tn` shows whose they are; \
                 stop that network before it reaches the service, or raise --max-connections",
            );
        }
        let free = Arc::clone(&self.gauge.free).acquire_owned();
        free.await.ok()
    }

    /// Gives `free` to a connection from `peer`, unless the network of `peer` holds its whole share. A
    /// trusted proxy has no share, because its connections are those of many clients.
    pub(crate) fn assign(&mut self, free: OwnedSemaphorePermit, peer: IpAddr) -> Option<Slot> {
        let mut slot = Slot {
            share: None,
            _permit: free,
            of_network: None,
        };
        if self.service.proxies.contains(peer.to_canonical()) {
            return Some(slot);
        }
        let network = Network::from(peer);
        if let Ok(share) = self.shares.take(network) {
            slot.of_network = Some(self.shares.held_by(network));
            slot.share = Some(share);
            return Some(slot);
        }
        drop(slot);
        self.refused += 1;
        self.warn(
            "a network holds its share of the connections and further ones of it are refused: if it \
             is your proxy, name it with --trusted-proxy, else raise --max-connections-per-network \
             if its clients need more",
        );
        None
    }

    /// Logs `message`, unless a line was logged within the interval.
    fn warn(&mut self, message: &'static str) {
        let is_recent = |at: Instant| at.elapsed() < WARNING_INTERVAL;
        if self.warned_at.is_some_and(is_recent) {
            return;
        }
        self.warned_at = Some(Instant::now());
        let busiest = self.shares.busiest();
        let app = &self.service.state.app;
        let now = app.clock.now();
        let name = |network| Pseudonym::new(&app.secrets, network, now).to_string();
        let network = busiest.map(|(network, _)| name(network));
        tracing::warn!(
            connections = self.gauge.taken(),
            refused = std::mem::take(&mut self.refused),
            busiest.network = network,
            busiest.connections = busiest.map(|(_, permits)| permits),
            "{message}"
        );
    }
}

/// How many slots are taken, for the connections.
#[derive(Clone)]
pub(crate) struct Gauge {
    free: Arc<Semaphore>,
    connections_max: usize,
}

impl Gauge {
    fn taken(&self) -> usize {
        self.connections_max
            .saturating_sub(self.free.available_permits())
    }

    /// Whether more than three quarters are taken, including the one that the accept loop holds for the next
    /// connection.
    pub(crate) fn is_crowded(&self) -> bool {
        self.taken() * 4 > self.connections_max * 3
    }
}
