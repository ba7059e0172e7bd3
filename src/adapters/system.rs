//! The operating system: clock, randomness, the user, the limits on open files and threads, and work that must not
//! block its caller forever.

use std::io;
use std::num::NonZero;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::domain::Timestamp;
use crate::ports::{Clock, Entropy};

/// Open files besides connections: stores, listener, outgoing connections.
const FILES_RESERVED: u64 = 256;

/// Threads besides those of the runtime, which has one per core: 8 of sled, one each for the log, the
/// ledger and the limiter, two that close the stores, and some for DNS lookups.
const THREADS_RESERVED: usize = 16;

/// Deadline of a write to a pipe.
const PIPE_DEADLINE: Duration = Duration::from_secs(2);

/// The wall clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that reads the clock"
    )]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_ms(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The operating system's random number generator. Without it the standard library's hash maps panic, too.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[allow(clippy::panic, reason = "tokens must never be made of anything else")]
    fn fill(&self, bytes: &mut [u8]) {
        if SystemRandom::new().fill(bytes).is_err() {
            panic!("no random bytes");
        }
    }
}

/// Effective id of the process's user.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Raises the limit on open files to fit `wanted` connections. Returns the number that fits.
pub fn fit_connections(wanted: u64) -> usize {
    let files = wanted + FILES_RESERVED;
    let mut limit = getrlimit(Resource::Nofile);
    // None is unlimited.
    limit.current = limit.current.map(|soft| {
        let hard = limit.maximum.unwrap_or(u64::MAX);
        soft.max(files.min(hard))
    });
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "cannot raise the limit on open files");
        limit = getrlimit(Resource::Nofile);
    }
    let limit = limit.current.unwrap_or(u64::MAX);
    let fitting = limit.saturating_sub(FILES_RESERVED).clamp(1, wanted);
    if fitting < wanted {
        tracing::warn!(
            connections_max = fitting,
            wanted,
            "the limit on open files is too low for --max-connections; further connections wait"
        );
    }
    usize::try_from(fitting).unwrap_or(usize::MAX)
}

/// Runs `write`, which writes to standard output or standard error, and waits at most 2 s for it. A full
/// pipe that nobody reads must not block the start or the end of the process.
pub fn write_to_pipe(write: impl FnOnce() + Send + 'static) {
    let write = Arc::new(Mutex::new(Some(write)));
    let take = {
        let write = Arc::clone(&write);
        move || write.lock().take()
    };
    let written = run_within(PIPE_DEADLINE, move || take().map(|write| write()));
    if written.is_err()
        && let Some(write) = write.lock().take()
    {
        // No thread can be started.
        write();
    }
}

/// Starts as many threads as the service needs and ends them again. Libraries hang or panic when they
/// cannot start a thread, so this is checked first.
pub fn check_threads() -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let count = cores + THREADS_RESERVED;
    let gate = Mutex::new(());
    let wait = || drop(gate.lock());
    let closed = gate.lock();
    let started = thread::scope(|scope| {
        // The threads end when this guard is dropped, also after an error.
        let _closed = closed;
        (0..count).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, wait).map(drop))
    });
    started.map_err(|error| {
        let wanted = "raise the limit on processes (ulimit -u, TasksMax=, pids.max)";
        let text = format!("cannot start {count} threads: {error}; {wanted}");
        io::Error::new(error.kind(), text)
    })
}

/// Runs `job` on its own thread and returns its result, or an error if it panics. Returns `None` if it still runs at
/// the `deadline`; it then continues.
pub fn run_within<T: Send + 'static>(
    deadline: Duration,
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (end, ended) = mpsc::channel();
    // Fails after the deadline.
    thread::Builder::new().spawn(move || drop(end.send(job())))?;
    match ended.recv_timeout(deadline) {
        Ok(result) => Ok(Some(result)),
        Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(io::Error::other("panic")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_does_not_end_is_not_waited_for() {
        let (hold, held) = mpsc::channel::<()>();
        let wait = move || assert!(held.recv().is_err());
        assert_eq!(run_within(Duration::from_millis(50), wait).unwrap(), None);
        drop(hold);
        let panic = || panic!("on purpose");
        let ended: io::Result<Option<()>> = run_within(Duration::from_secs(30), panic);
        assert_eq!(ended.unwrap_err().to_string(), "panic");
        assert_eq!(run_within(Duration::from_secs(30), || 1).unwrap(), Some(1));
    }

    #[test]
    fn there_are_enough_threads_here() {
        check_threads().unwrap();
    }
}
