//! The public listener: a socket bound here, or one that the service manager passed.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections in the listener's queue, enough for a burst; the kernel may lower it.
const BACKLOG: u32 = 4096;

/// A socket bound to its address.
#[derive(Debug)]
pub enum PublicSocket {
    /// Bound here. Nobody can connect before it listens.
    Bound(TcpSocket),
    /// Passed and already listening: connections wait in its queue even while no process accepts them.
    Passed(std::net::TcpListener),
}

impl PublicSocket {
    /// The `passed` socket, or a new one bound to `address`.
    pub fn open(passed: Option<std::net::TcpListener>, address: SocketAddr) -> io::Result<Self> {
        match passed {
            Some(listener) => Ok(Self::Passed(listener)),
            None => bind(address)
                .map(Self::Bound)
                .map_err(|error| cannot_listen(address, &error)),
        }
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Bound(socket) => socket.local_addr(),
            Self::Passed(listener) => listener.local_addr(),
        }
    }

    /// Starts listening, if it does not yet.
    pub fn listen(self) -> io::Result<TcpListener> {
        match self {
            Self::Bound(socket) => {
                let address = socket.local_addr()?;
                socket
                    .listen(BACKLOG)
                    .map_err(|error| cannot_listen(address, &error))
            }
            Self::Passed(listener) => TcpListener::from_std(listener),
        }
    }
}

/// A socket bound to `address` that does not listen yet.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // So that a restart need not wait for the previous process's connections in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
}
