//! A request as it stands at the door, and whoever it comes from.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{ALLOW, HeaderValue};
use hyper::http::request::Parts;

use crate::domain::client::{Client, HashedNetwork, Network};
use crate::domain::credential::Fingerprint;
use crate::domain::time::Timestamp;

use super::client_ip::ClientIp;
use super::handlers::HeldContext;
use super::problem::{Code, Problem};
use super::request_id::RequestId;
use super::route::{Area, Endpoint};
use super::routes::Route;
use super::version::Wanted;

/// The other end of a connection.
#[derive(Debug)]
pub struct Peer {
    pub(super) address: IpAddr,
    pub(super) network: HashedNetwork,
    pub(super) context: Arc<HeldContext>,
}

/// One request: all of it but its body.
pub(super) struct Visit {
    pub(super) id: RequestId,
    /// When it came.
    pub(super) now: Timestamp,
    /// Where the connection comes from: from the client, or from a proxy.
    pub(super) peer_address: IpAddr,
    pub(super) peer_network: HashedNetwork,
    pub(super) client_ip: ClientIp,
    pub(super) area: Area,
    pub(super) route: Route,
    pub(super) wanted: Wanted,
    pub(super) is_head: bool,
    /// The allowed origin whose page sent it.
    pub(super) origin: Option<HeaderValue>,
    pub(super) parts: Parts,
}

impl Visit {
    /// Whether programs call what is there, and it is no document, which any page may read.
    pub(super) fn is_for_programs(&self) -> bool {
        self.area.is_for_programs() && !self.route.is_document()
    }

    /// Who asks, given the credential that was found to be good.
    pub(super) fn client(&self, credential: Option<Fingerprint>) -> Client {
        Client {
            network: Network::from(self.client_ip.address),
            credential,
            forwarding_untrusted: self.client_ip.may_be_proxy(),
        }
    }

    /// What is asked for.
    ///
    /// # Errors
    /// A problem when there is nothing.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Problem> {
        match self.route {
            Route::Found(operation) => Ok(operation.endpoint),
            Route::WrongMethod { allow, .. } => {
                let allow = HeaderValue::from_static(allow);
                Err(Problem::of(Code::MethodNotAllowed).with_header(ALLOW, allow))
            }
            Route::Unknown => Err(Problem::of(Code::NotFound)),
        }
    }
}
