//! Engines as processes of this test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

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

    /// Sends a signal to it.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Sends a signal, and waits for the end.
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

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until `is_there`.
pub(crate) async fn until(what: &str, mut is_there: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_there().await {
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
