//! The public listener: a socket bound here, or one that the service manager passed. The service manager's sockets
//! (`sd_listen_fds`) and the notifications to it (`sd_notify`) do nothing without systemd's variables in the environment.

use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
pub use sd_notify::NotifyState;
use socket2::{Domain, SockRef, Socket, Type};

/// Connections in the listener's queue, enough for a burst; the kernel may lower it.
const BACKLOG: i32 = 4096;

/// A socket bound to its address. Nobody can connect before it listens; one that was passed listens already:
/// connections wait in its queue even while no process accepts them.
#[derive(Debug)]
pub struct PublicSocket(Socket);

impl PublicSocket {
    /// The `passed` socket, or a new one bound to `address`.
    pub fn open(passed: Option<TcpListener>, address: SocketAddr) -> io::Result<Self> {
        match passed {
            Some(listener) => Ok(Self(listener.into())),
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
    pub fn listen(self) -> io::Result<tokio::net::TcpListener> {
        let address = self.local_addr()?;
        let listening = self.0.listen(BACKLOG);
        listening.map_err(|error| cannot_listen(address, &error))?;
        tokio::net::TcpListener::from_std(self.0.into())
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

/// The listening sockets that the service manager passed.
#[derive(Debug, Default)]
pub struct PassedSockets {
    /// Named otherwise, or unnamed.
    pub web: Option<TcpListener>,
    /// Redirects to `https`, named `redirect`.
    pub redirect: Option<TcpListener>,
    /// Serves the admin page, named `admin`.
    pub admin: Option<TcpListener>,
}

/// The sockets that the service manager passed. `names` (`LISTEN_FDNAMES`) has the `FileDescriptorName=` of
/// their units. Must be called before a second thread is started, because it changes the environment.
///
/// # Errors
/// When one of them is not a TCP listener, or two have the same purpose.
pub fn passed_sockets(names: &str) -> io::Result<PassedSockets> {
    let mut names = names.split(':');
    let mut passed = ListenFd::from_env();
    let mut sockets = PassedSockets::default();
    for index in 0..passed.len() {
        let listener = passed.take_tcp_listener(index);
        let listener = listener.map_err(|error| refused(&format!("no TCP listener: {error}")))?;
        let (place, purpose) = match names.next() {
            Some("redirect") => (&mut sockets.redirect, "for redirects"),
            Some("admin") => (&mut sockets.admin, "for the admin page"),
            Some(_) | None => (&mut sockets.web, "for the service"),
        };
        if place.is_some() {
            return Err(refused(&format!("2 sockets {purpose}")));
        }
        if let Some(listener) = &listener {
            if !SockRef::from(listener).is_listener()? {
                let connected = "no TCP listener: the socket does not listen (Accept= must be no)";
                return Err(refused(connected));
            }
            listener.set_nonblocking(true)?;
        }
        *place = listener;
    }
    Ok(sockets)
}

fn refused(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the service manager passed {what}; give each .socket unit one ListenStream=, an address and \
             port, and those for redirects and the admin page FileDescriptorName=redirect and =admin"
        ),
    )
}

/// Notifies the service manager of the state, with a line for `systemctl status`.
pub fn notify(state: Option<NotifyState<'_>>, status: &str) {
    let states = state.into_iter().chain([NotifyState::Status(status)]);
    if let Err(error) = sd_notify::notify(&states.collect::<Vec<_>>()) {
        tracing::warn!(%error, "cannot notify the service manager ($NOTIFY_SOCKET)");
    }
}
