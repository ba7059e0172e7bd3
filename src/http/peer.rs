//! The other end of a connection: computed once, read by each of its requests.
//!
//! Each connection has its own reference count: cores would contend for a common one.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::HeaderMap;
use parking_lot::Mutex;

use crate::domain::time::DAY_MS;
use crate::domain::{Client, Pseudonym, Timestamp};

use crate::http::request::client_ip::ClientIp;
use crate::http::request::request_id::RequestIds;
use crate::http::state::ServerState;

/// A client, or a proxy in front of many.
#[derive(Debug)]
pub struct Peer {
    pub(super) state: Arc<ServerState>,
    pub(super) address: IpAddr,
    /// The sender of requests without a forwarding header.
    pub(super) ip: ClientIp,
    pub(super) client: Client,
    pub(super) ids: RequestIds,
    /// Today's name in the log, and its day.
    log_name: Mutex<Option<(u64, Pseudonym)>>,
}

impl Peer {
    pub(super) fn new(state: &Arc<ServerState>, address: IpAddr) -> Arc<Self> {
        let ip = state.proxies.client_ip(address, &HeaderMap::new());
        Arc::new(Self {
            address,
            ip,
            client: client_at(state, &ip),
            ids: state.ids.of_connection(),
            log_name: Mutex::default(),
            state: Arc::clone(state),
        })
    }

    /// The sender of a request that a proxy has forwarded, or is said to have.
    pub(super) fn forwarded(&self, headers: &HeaderMap) -> (Client, ClientIp) {
        let ip = self.state.proxies.client_ip(self.address, headers);
        (client_at(&self.state, &ip), ip)
    }

    /// The name of `client` in the log.
    pub(super) fn log_name(&self, client: &Client, now: Timestamp) -> Pseudonym {
        let keys = &self.state.app.secrets;
        let name = || Pseudonym::new(keys, client.network_hash, now);
        if client.network_hash != self.client.network_hash {
            return name();
        }
        let day = now.as_ms() / DAY_MS;
        let mut cached = self.log_name.lock();
        match *cached {
            Some((named_day, name)) if named_day == day => name,
            Some(_) | None => cached.insert((day, name())).1,
        }
    }
}

fn client_at(state: &ServerState, ip: &ClientIp) -> Client {
    let key = &state.app.secrets.limiter;
    Client::new(ip.network(), ip.may_be_proxy(), key)
}
