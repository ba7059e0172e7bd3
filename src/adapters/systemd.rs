//! The service manager: the socket it passes (`sd_listen_fds`), and what it is told (`sd_notify`). Both
//! do nothing without systemd's variables in the environment.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
pub use sd_notify::NotifyState;
use socket2::SockRef;

/// The listening socket that the service manager passed, if it passed one. Called before there is a
/// second thread, because it changes the environment.
pub fn passed_listener() -> io::Result<Option<TcpListener>> {
    let mut passed = ListenFd::from_env();
    let refused = |what: &dyn std::fmt::Display| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the service manager passed {what}; give the .socket unit one ListenStream=, an \
                 address and port"
            ),
        )
    };
    if passed.len() > 1 {
        return Err(refused(&format_args!("{} sockets", passed.len())));
    }
    let Some(listener) = passed
        .take_tcp_listener(0)
        .map_err(|error| refused(&format_args!("no TCP listener: {error}")))?
    else {
        return Ok(None);
    };
    if !SockRef::from(&listener).is_listener()? {
        return Err(refused(
            &"no TCP listener: the socket does not listen (Accept= must be no)",
        ));
    }
    listener.set_nonblocking(true)?;
    Ok(Some(listener))
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
