//! Engines as processes of this test.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use landing_api::adapters::files::operator_file::PasswordFile;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// How long an engine may take to come to a state.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that ends with this value.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Starts `command` without input and output.
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn end(mut self, signal: Signal) {
        self.signal(signal);
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file in `dir` with this password, in place of an earlier one.
pub(crate) fn password_file(dir: &Path, password: &str) -> PasswordFile {
    let path = dir.join("password");
    fs::write(&path, password).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    PasswordFile::open(&path).unwrap()
}

/// A port that was free a moment ago, and that is named once. It is none of those that the system gives
/// to clients, so that whoever listens on it can be started again.
pub(crate) fn free_port() -> u16 {
    const FIRST: u32 = 10_240;
    const COUNT: u32 = 20_000;
    static NAMED: AtomicU32 = AtomicU32::new(0);
    loop {
        let named = NAMED.fetch_add(1, Ordering::Relaxed);
        // Another run of the tests has another place to begin at.
        let offset = std::process::id().wrapping_mul(97).wrapping_add(named) % COUNT;
        let port = u16::try_from(FIRST + offset).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) async fn until(what: &str, mut is_there: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_there().await {
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        sleep(Duration::from_millis(10)).await;
    }
}
