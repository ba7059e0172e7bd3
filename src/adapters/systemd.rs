//! The service manager: the sockets it passes (`sd_listen_fds`) and its notifications (`sd_notify`). Both do
//! nothing without systemd's variables in the environment.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
pub use sd_notify::NotifyState;
use socket2::SockRef;

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
