//! TCP connections to a host by name: an address that drops packets does not keep the others from being tried.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::select_ok;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{sleep, timeout};

/// Deadline of the DNS lookup and the connection, by whichever address.
const DEADLINE: Duration = Duration::from_secs(5);

/// Delay before the next address is tried in parallel (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Idle time before a connection is probed: shorter than a NAT keeps its entry.
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);

/// Connects to the first address of `host` that responds.
///
/// # Errors
/// The name is unknown, or no address responds within 5 s.
pub(crate) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let connecting = async { connect_to_first(lookup_host((host, port)).await?).await };
    let late = |_elapsed| io::Error::other("no connection within 5 seconds");
    timeout(DEADLINE, connecting).await.map_err(late)?
}

/// Connects to the first of `addresses` that responds.
async fn connect_to_first(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let trials = addresses.zip(0..).map(|(address, nth)| {
        Box::pin(async move {
            sleep(HEAD_START * nth).await;
            connect_to(address).await
        })
    });
    let trials: Vec<_> = trials.collect();
    if trials.is_empty() {
        return Err(io::Error::other("the name has no address"));
    }
    let (connected, _others) = select_ok(trials).await?;
    Ok(connected)
}

/// Connects to one address, without a deadline.
pub(crate) async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_TIME);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use socket2::{Domain, Socket, Type};

    use super::*;

    #[tokio::test]
    async fn an_address_that_drops_packets_does_not_keep_the_other_from_being_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let responding = listener.local_addr().unwrap();
        let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let dropping = SocketAddr::from(([127, 0, 0, 2], responding.port()));
        full.bind(&dropping.into()).unwrap();
        // A listener whose queue is full drops what comes.
        full.listen(0).unwrap();
        let mut queued = Vec::new();
        while let Ok(Ok(stream)) = timeout(HEAD_START, TcpStream::connect(dropping)).await {
            queued.push(stream);
        }
        let addresses = [dropping, responding].into_iter();
        let connected = connect_to_first(addresses).await.unwrap();
        assert_eq!(connected.peer_addr().unwrap(), responding);
    }
}
