//! The service manager: the sockets it passes (`sd_listen_fds`), and what it is told (`sd_notify`). Both
//! do nothing without systemd's variables in the environment.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
pub use sd_notify::NotifyState;
use socket2::SockRef;

/// The listening sockets that the service manager passed.
#[derive(Debug, Default)]
pub struct PassedSockets {
    /// That of the service.
    pub web: Option<TcpListener>,
    /// That which sends clients to `https`, by the name `redirect`.
    pub redirect: Option<TcpListener>,
    /// That of the admin page, by the name `admin`.
    pub admin: Option<TcpListener>,
}

/// The sockets that the service manager passed, whose `names` (`LISTEN_FDNAMES`) are those of
/// `FileDescriptorName=` in their units. Called before there is a second thread, because it changes the
/// environment.
///
/// # Errors
/// When one of them is no TCP listener, or two have one purpose.
pub fn passed_sockets(names: &str) -> io::Result<PassedSockets> {
    let mut names = names.split(':');
    let mut passed = ListenFd::from_env();
    let mut sockets = PassedSockets::default();
    for index in 0..passed.len() {
        let listener = passed.take_tcp_listener(index);
        let listener = listener.map_err(|error| refused(&format!("no TCP listener: {error}")))?;
        let (place, purpose) = match names.next() {
            Some("redirect") => (&mut sockets.redirect, "to redirect"),
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

/// Tells what becomes of the service, with a line for `systemctl status`.
pub fn notify(state: Option<NotifyState<'_>>, status: &str) {
    let states: Vec<_> = state
        .into_iter()
        .chain([NotifyState::Status(status)])
        .collect();
    if let Err(error) = sd_notify::notify(&states) {
        tracing::warn!(%error, "cannot tell the service manager ($NOTIFY_SOCKET)");
    }
}
