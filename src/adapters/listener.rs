//! The public listener: a socket bound here, or one that the service manager passed.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

/// Connections in the listener's queue, enough for a burst; the kernel may lower it.
const BACKLOG: i32 = 4096;

/// A socket bound to its address. Nobody can connect before it listens; one that was passed listens already:
/// connections wait in its queue even while no process accepts them.
#[derive(Debug)]
pub struct PublicSocket(Socket);

impl From<std::net::TcpListener> for PublicSocket {
    fn from(passed: std::net::TcpListener) -> Self {
        Self(passed.into())
    }
}

impl PublicSocket {
    /// The `passed` socket, or a new one bound to `address`.
    pub fn open(passed: Option<std::net::TcpListener>, address: SocketAddr) -> io::Result<Self> {
        match passed {
            Some(listener) => Ok(listener.into()),
            None => bind(address)
                .map(Self)
                .map_err(|error| cannot_listen(address, &error)),
        }
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.0.local_addr()?.as_socket();
        address.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Starts listening, if it does not yet.
    pub fn listen(self) -> io::Result<TcpListener> {
        let address = self.local_addr()?;
        let listening = self.0.listen(BACKLOG);
        listening.map_err(|error| cannot_listen(address, &error))?;
        TcpListener::from_std(self.0.into())
    }
}

/// A socket bound to `address` that does not listen yet.
fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        None,
    )?;
    // So that a restart need not wait for the previous process's connections in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
}
