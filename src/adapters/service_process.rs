//! The process of a running service: its flags and variables, with which a command begins again.

use std::convert::Infallible;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::system::user_id;

/// The variable that tells a command that it has begun again.
const AGAIN: &str = "LANDING_DOCTOR_AGAIN";

/// Whether this process has begun again.
pub fn has_begun_again() -> bool {
    env::var_os(AGAIN).is_some()
}

/// Replaces this process by the command of `words`, followed by the flags of the service behind `stream`, under
/// its variables and in its working directory, where relative paths among them begin. Returns only why it could
/// not.
pub fn begin_again(stream: &UnixStream, words: &[&str]) -> io::Error {
    let Err(error) = replace(stream, words);
    error
}

fn replace(stream: &UnixStream, words: &[&str]) -> io::Result<Infallible> {
    let stream = tokio::net::UnixStream::from_std(stream.try_clone()?)?;
    let peer = stream.peer_cred()?;
    if peer.uid() != user_id() {
        // Files that the flags name would be read, and keys sent, with rights that the service does not have.
        let owner = peer.uid();
        return Err(io::Error::other(format!(
            "it runs as user {owner}; run this as that one, for example with `sudo -u '#{owner}'`"
        )));
    }
    let id = peer.pid().unwrap_or_default();
    let read = |what| fs::read(format!("/proc/{id}/{what}"));
    let (flags, variables) = (read("cmdline")?, read("environ")?);
    let is_end = |byte: &u8| *byte == 0;
    let mut flags: Vec<_> = flags.split(is_end).map(OsStr::from_bytes).collect();
    // What follows the last end.
    flags.pop();
    let variables = variables.split(is_end).map(OsStr::from_bytes);
    let variables = variables.filter_map(|it| it.to_str()?.split_once('='));
    let of_service = |name: &str| name.starts_with("LANDING_") || name.starts_with("SSL_CERT_");
    let mut command = Command::new("/proc/self/exe");
    command.args(words).args(flags.iter().skip(1));
    command.envs(variables.filter(|(name, _)| of_service(name)));
    command.current_dir(format!("/proc/{id}/cwd"));
    Err(command.env(AGAIN, "1").exec())
}
